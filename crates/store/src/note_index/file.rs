//! The file of an index: its tables, and whether it is one of ours.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::db::DbError;
use crate::file::create;

/// The version of the tables and of what is put into them. A change of either makes every index begin anew.
const VERSION: i64 = 1;

/// A whole batch of notes is sorted in memory before it is written: merging what was written in parts is most of the work.
const TABLES: &str = "
    CREATE TABLE origin (directory TEXT NOT NULL);
    CREATE TABLE note (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        folded TEXT NOT NULL,
        key TEXT NOT NULL,
        title TEXT NOT NULL,
        inode INTEGER NOT NULL,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL
    );
    CREATE INDEX note_key ON note (key);
    CREATE INDEX note_modified ON note (modified);
    CREATE TABLE link (note INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL);
    CREATE INDEX link_key ON link (key);
    CREATE INDEX link_note ON link (note);
    CREATE TABLE tag (note INTEGER NOT NULL, tag TEXT NOT NULL);
    CREATE INDEX tag_tag ON tag (tag);
    CREATE INDEX tag_note ON tag (note);
    CREATE VIRTUAL TABLE words USING fts5(
        title, headings, tags, path, body,
        tokenize = 'unicode61 remove_diacritics 2'
    );
    INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
";

/// Opens it, or makes it where it is missing or not ours.
pub(super) fn open(path: &Path, of: &str) -> Result<(Connection, Connection), DbError> {
    if !path.exists() {
        return renew(path, of);
    }
    let writer = connect(path)?;
    if !is_ours(&writer, of)? {
        drop(writer);
        return renew(path, of);
    }
    Ok((writer, connect(path)?))
}

/// Removes what is there, and makes it anew.
pub(super) fn renew(path: &Path, of: &str) -> Result<(Connection, Connection), DbError> {
    let unusable = |error: io::Error| DbError::Unreachable(format!("{}: {error}", path.display()));
    for file in ["", "-wal", "-shm", "-journal"].map(|suffix| beside(path, suffix)) {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
            _ => {}
        }
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(unusable)?;
    }
    create(path).map_err(unusable)?;
    let writer = connect(path)?;
    writer.execute_batch("BEGIN IMMEDIATE")?;
    writer.execute_batch(TABLES)?;
    writer.execute("INSERT INTO origin (directory) VALUES (?1)", [of])?;
    writer.pragma_update(None, "user_version", VERSION)?;
    writer.execute_batch("COMMIT")?;
    Ok((writer, connect(path)?))
}

fn is_ours(connection: &Connection, of: &str) -> Result<bool, DbError> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        return Ok(false);
    }
    let directory: String = connection.query_row("SELECT directory FROM origin", [], |row| row.get(0))?;
    Ok(directory == of)
}

fn connect(path: &Path) -> Result<Connection, DbError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    // In KiB.
    connection.pragma_update(None, "cache_size", -8192)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
