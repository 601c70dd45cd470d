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
