//! A look at a database without changing it: whether this program could open it, and at which schema it stands.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::migrate::newest;
use crate::open::OpenError;

/// What a look from outside found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspection {
    /// There is none yet.
    Absent,
    /// It is there, at that schema, which this program can use.
    Schema(u32),
}

/// Looks at a `SQLite` file. Servers are not asked: a daemon that runs knows better.
pub fn inspect(file: &Path) -> Result<Inspection, OpenError> {
    let damaged =
        |error: rusqlite::Error| OpenError::Damaged { path: file.to_owned(), reason: error.to_string() };
    if !file.exists() {
        return Ok(Inspection::Absent);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(damaged)?;
    let count =
        |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).map_err(damaged);
    if count("SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'")? == Some(0) {
        return match count("SELECT count(*) FROM sqlite_master")? {
            Some(0) => Ok(Inspection::Schema(0)),
            _ => Err(OpenError::Foreign { path: file.to_owned() }),
        };
    }
    let found = count("SELECT max(version) FROM schema_migrations")?.unwrap_or(0);
    match u32::try_from(found) {
        Ok(schema) if schema <= newest() => Ok(Inspection::Schema(schema)),
        _ => {
            let found = u64::try_from(found).unwrap_or(u64::MAX);
            Err(OpenError::Newer { place: format!("sqlite:{}", file.display()), found, known: newest() })
        }
    }
}
