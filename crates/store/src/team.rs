//! The doors to teams' records: a call is performed in one transaction, and whatever comes of it, one usage event is kept.

mod audits;
mod checks;
mod claims;
mod contexts;
mod coordination;
mod departed;
mod events;
mod likeness;
mod listing;
mod members;
mod messages;
mod orphans;
mod sessions;
mod sheaf;
mod shelves;
mod span;
mod survey;
mod transaction;
mod warnings;
mod work;
mod worktrees;

use std::sync::Arc;

use covenant_gate::refusal::Fault;
use covenant_model::envelope::Status;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_team::event::Unserved;
use covenant_team::{Outcome, Request};
use serde_json::{Map, Value as Json};

pub(crate) use self::events::add_changes;
pub(crate) use self::likeness::Likeness;
use self::likeness::Reach;
pub use self::listing::{EventsWanted, TeamEvent};
pub use self::transaction::TeamTransaction;

use crate::db::{DbError, Purpose, Record, Value, retried};
use crate::open::Store;

/// How often a team's work is read for one call, before that is done in its transaction, where nobody takes it away.
const READINGS: usize = 2;

impl Store {
    /// Opens a transaction on the records of teams. Dropped without a commit, it never happened.
    pub async fn begin_team(&self) -> Result<TeamTransaction, Fault> {
        Ok(self.begin_in_turn(Reach::All).await?)
    }

    async fn begin_in_turn(&self, reach: Reach) -> Result<TeamTransaction, DbError> {
        let tx = self.db.begin(Purpose::InTurn).await?;
        Ok(TeamTransaction::on(tx, Arc::clone(&self.likeness), reach))
    }

    /// Performs a call: what it changes is kept with everything that is written down of it, or nothing of it is but that it
    /// was made. Of one that breaks nothing is: what broke may be the database.
    pub async fn perform(&self, request: Request) -> Result<Outcome, Fault> {
        let outcome = retried(|| self.attempt(&request)).await?;
        if !outcome.is_kept() {
            let unserved = Unserved {
                call: request.call.name(),
                status: Status::Error,
                code: outcome.code.unwrap_or("error"),
                session: request.call.session().cloned(),
                details: Map::new(),
            };
            self.note_unserved(Some(request.principal), unserved, request.now).await?;
        }
        Ok(outcome)
    }

    async fn attempt(&self, request: &Request) -> Result<Outcome, DbError> {
        for _ in 0..READINGS {
            match self.attempt_within(request, Reach::Changes).await {
                Err(DbError::Unread { workspace, since }) => {
                    self.likeness.read(&self.db, &workspace, since).await?;
                }
                settled => return settled,
            }
        }
        self.attempt_within(request, Reach::All).await
    }

    async fn attempt_within(&self, request: &Request, reach: Reach) -> Result<Outcome, DbError> {
        let mut tx = self.begin_in_turn(reach).await?;
        match covenant_team::perform(&mut tx, request).await {
            Ok(outcome) if outcome.is_kept() => tx.end().await.map(|()| outcome),
            Ok(outcome) => Ok(outcome),
            Err(broken) => Err(tx.why(broken)),
        }
    }

    /// Writes down that somebody made a call which was not performed.
    pub async fn note_unserved(
        &self,
        principal: Option<Principal>,
        unserved: Unserved,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let attempt = async || {
            let mut tx = self.begin_in_turn(Reach::Changes).await?;
            match covenant_team::unserved(&mut tx, principal.as_ref(), &unserved, now).await {
                Ok(()) => tx.end().await,
                Err(broken) => Err(tx.why(broken)),
            }
        };
        Ok(retried(attempt).await?)
    }
}

/// A list of texts, as it is kept.
fn list(texts: &[String]) -> Result<Value, DbError> {
    json(serde_json::to_string(texts))
}

/// JSON, as it is kept.
fn json(written: serde_json::Result<String>) -> Result<Value, DbError> {
    written
        .map(Value::from)
        .map_err(|error| DbError::Failed(format!("it cannot be written as JSON: {error}")))
}

/// A list of texts that was kept.
fn texts(record: &Record<'_>, column: &str) -> Result<Vec<String>, DbError> {
    serde_json::from_str(record.text(column)?).map_err(|error| record.bad(column, error))
}

/// Details that were kept.
fn details(record: &Record<'_>, column: &str) -> Result<Map<String, Json>, DbError> {
    serde_json::from_str(record.text(column)?).map_err(|error| record.bad(column, error))
}

/// An id that was kept; an empty text is none.
fn or_none<T: std::str::FromStr<Err: std::fmt::Display>>(
    record: &Record<'_>,
    column: &str,
) -> Result<Option<T>, DbError> {
    if record.text(column)?.is_empty() { Ok(None) } else { record.parse(column).map(Some) }
}

/// One that has to be there, because it was read before.
fn one(changed: u64, what: impl FnOnce() -> String) -> Result<(), DbError> {
    if changed == 1 { Ok(()) } else { Err(DbError::Failed(format!("{} is not there", what()))) }
}

#[cfg(test)]
mod tests;
