//! The one thread that writes: single statements one after another, and transactions that hold it until they end.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::Connection;

use super::super::{DbError, Purpose, Sql, Value};
use super::Reply;
use super::lane::Jobs;
use super::statement::{Ran, run};

/// How long an open transaction may stand still before it is rolled back: everyone else waits for it.
const STILL: Duration = Duration::from_secs(10);

/// The same where the other end of a copy may be slow, and nobody waits but who copies.
const STILL_COPYING: Duration = Duration::from_mins(10);

/// What the writer is asked to do.
pub(super) enum Job {
    /// One statement, atomic by itself.
    One {
        /// What.
        sql: Sql,
        /// With which parameters.
        values: Vec<Value>,
        /// Who waits.
        reply: Reply<Ran>,
    },
    /// A transaction, whose steps follow.
    Begin {
        /// What for.
        purpose: Purpose,
        /// Where they come from.
        steps: Receiver<Step>,
        /// Who waits for it to be open.
        reply: Reply<()>,
    },
}

/// One step of a transaction. When no more can come, and none was a commit, it is rolled back.
pub(super) enum Step {
    /// One statement.
    Run {
        /// What.
        sql: Sql,
        /// With which parameters.
        values: Vec<Value>,
        /// Who waits.
        reply: Reply<Ran>,
    },
    /// One statement, once for each row.
    Load {
        /// What.
        sql: Sql,
        /// The parameters of each.
        rows: Vec<Vec<Value>>,
        /// Who waits.
        reply: Reply<()>,
    },
    /// Several statements.
    Batch {
        /// What.
        sql: &'static str,
        /// Who waits.
        reply: Reply<()>,
    },
    /// The end.
    Commit {
        /// Who waits.
        reply: Reply<()>,
    },
}

/// Serves the queue until it ends, then leaves a tidy file.
pub(super) fn serve(connection: Connection, jobs: &Jobs<Job>) {
    while let Some(job) = jobs.next() {
        match job {
            // Here and below: a caller that no longer waits for the answer is no error.
            Job::One { sql, values, reply } => _ = reply.send(run(&connection, &sql, &values)),
            Job::Begin { purpose, steps, reply } => transaction(&connection, purpose, &steps, reply),
        }
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(cause = %error, "the database file was not closed cleanly; nothing is lost");
    }
}

fn transaction(connection: &Connection, purpose: Purpose, steps: &Receiver<Step>, reply: Reply<()>) {
    // IMMEDIATE: the lock is taken now, so that no later statement finds it taken.
    let begin = if purpose == Purpose::Snapshot { "BEGIN" } else { "BEGIN IMMEDIATE" };
    let still = if matches!(purpose, Purpose::Snapshot | Purpose::Load) { STILL_COPYING } else { STILL };
    if let Err(error) = connection.execute_batch(begin) {
        _ = reply.send(Err(error.into()));
        return;
    }
    // If the caller is gone already, `steps` is closed too and the loop ends at once.
    _ = reply.send(Ok(()));
    while let Ok(step) = steps.recv_timeout(still) {
        match step {
            Step::Run { sql, values, reply } => _ = reply.send(run(connection, &sql, &values)),
            Step::Load { sql, rows, reply } => {
                let loaded = rows.iter().try_for_each(|row| run(connection, &sql, row).map(drop));
                _ = reply.send(loaded);
            }
            Step::Batch { sql, reply } => {
                _ = reply.send(connection.execute_batch(sql).map_err(DbError::from));
            }
            Step::Commit { reply } => {
                let committed = connection.execute_batch("COMMIT");
                if committed.is_err() {
                    roll_back(connection);
                }
                _ = reply.send(committed.map_err(DbError::from));
                return;
            }
        }
    }
    roll_back(connection);
}

fn roll_back(connection: &Connection) {
    // Some errors, such as a full disk, have rolled it back already.
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(cause = %error, "a transaction could not be rolled back");
    }
}
