//! What can go wrong with a database, sorted by what a person can do about it.

use covenant_gate::refusal::Fault;
use covenant_model::id::WorkspaceId;
use covenant_model::time::Timestamp;

/// A failed statement. The texts inside are for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DbError {
    /// Another transaction came between; the same again may succeed.
    #[error("another transaction came between: {0}")]
    Conflict(String),
    /// `PostgreSQL` found such a key in another row.
    #[error("there is such a row already: {0}")]
    Duplicate(String),
    /// Another program holds the file.
    #[error("the database is locked: {0}")]
    Busy(String),
    /// There is no room.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The file is no database, or no longer a sound one.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// It cannot be reached, or does not let us in.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// We closed it.
    #[error("the database is closed")]
    Closed,
    /// That team's work is not in memory, which nobody should wait for in a transaction; ended work since then is wanted too.
    #[error("the work of {workspace} is not read yet")]
    Unread {
        /// Whose.
        workspace: WorkspaceId,
        /// From when on what is over matters, if it does.
        since: Option<Timestamp>,
    },
    /// A row holds what we never write.
    #[error("row `{id}` of table `{table}`: column `{column}` {why}")]
    BadRow {
        /// Which table.
        table: &'static str,
        /// Which row.
        id: String,
        /// Which column.
        column: String,
        /// What is wrong with it.
        why: String,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl DbError {
    /// Whether the whole transaction may succeed if it is tried again.
    pub(crate) fn is_worth_retrying(&self) -> bool {
        // Under SERIALIZABLE, PostgreSQL may report a lost race for a key as a duplicate.
        matches!(self, Self::Conflict(_) | Self::Duplicate(_))
    }
}

impl From<DbError> for Fault {
    fn from(error: DbError) -> Self {
        let outside = match &error {
            DbError::Conflict(_) | DbError::Busy(_) => {
                "the database is busy with other work: try again in a moment".to_owned()
            }
            DbError::Full(_) => "the disk of the database is full: make room and try again".to_owned(),
            DbError::Damaged(_) => {
                "the database is damaged: stop the daemon and restore a backup; `covenant logs` has the details"
                    .to_owned()
            }
            DbError::Unreachable(_) => {
                "the database cannot be reached: see that it runs and lets Covenant in; `covenant logs` has the details"
                    .to_owned()
            }
            DbError::Closed => "the daemon is stopping: try again when it runs".to_owned(),
            DbError::BadRow { table, id, .. } => format!(
                "the database has a damaged row: `{id}` in table `{table}`; correct or delete that row, or restore a backup"
            ),
            DbError::Duplicate(_) | DbError::Unread { .. } | DbError::Failed(_) => {
                "the database could not do that: `covenant logs` has the details".to_owned()
            }
        };
        Self::new(outside, error)
    }
}
