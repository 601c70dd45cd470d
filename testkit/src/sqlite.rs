//! A SQLite file as anyone with the file can see and change it.

use std::path::Path;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

/// Runs statements on the file.
///
/// # Panics
/// If one fails.
#[track_caller]
pub fn execute(file: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(file).expect("a SQLite file");
    connection.execute_batch(sql).expect("the statements run");
}

/// The rows of a query, each by the names of its columns.
///
/// # Panics
/// If it cannot be read.
#[track_caller]
pub fn rows(file: &Path, query: &str) -> Vec<Value> {
    let connection = rusqlite::Connection::open(file).expect("a SQLite file");
    connection.busy_timeout(crate::wait::LONG).expect("a SQLite file");
    let mut statement = connection.prepare(query).expect("a query");
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let read = |row: &rusqlite::Row<'_>| {
        let mut members = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
            };
            members.insert(name.clone(), value);
        }
        Ok(Value::Object(members))
    };
    let rows = statement.query_map((), read).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
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
