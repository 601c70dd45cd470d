//! A SQLite file as anyone with the file can see and change it.

use std::path::Path;

/// Runs statements on the file.
///
/// # Panics
/// If one fails.
#[track_caller]
pub fn execute(file: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(file).expect("a SQLite file");
    connection.execute_batch(sql).expect("the statements run");
}

/// Keeps everyone else from writing to a file as long as it is there.
pub struct Locked(#[expect(dead_code, reason = "held, and dropped")] rusqlite::Connection);

impl Locked {
    /// Takes the file for itself.
    ///
    /// # Panics
    /// If it cannot.
    #[track_caller]
    pub fn take(file: &Path) -> Self {
        let connection = rusqlite::Connection::open(file).expect("a SQLite file");
        connection.busy_timeout(crate::wait::LONG).expect("a SQLite file");
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes for ever");
        Self(connection)
    }
}
