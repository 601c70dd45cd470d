//! The search index of one directory of notes: a `SQLite` file of its own, whatever the main database is, since it only repeats
//! what local files say. One that is damaged, of another version or of another directory is removed and begins anew.

mod change;
mod file;
mod plan;
mod search;
mod substring;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use covenant_model::note::{Entry, Found, Hit, Index, IndexError, Query, Stamp};
use rusqlite::{Connection, Row};

use crate::db::DbError;

/// The most paths or links that one question is answered with.
const MOST: i64 = 2000;

/// An open index: one connection that writes, and one that reads beside it.
pub struct NoteIndex {
    path: PathBuf,
    of: String,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl NoteIndex {
    /// The index in that file, which is made where it is missing, of the notes in that directory. Blocks.
    pub fn open(path: &Path, of: &Path) -> Result<Self, IndexError> {
        let of = of.display().to_string();
        let opened = match file::open(path, &of) {
            Err(error) if is_damage(&error) => file::renew(path, &of),
            other => other,
        };
        let (writer, reader) = opened.map_err(|error| failed(&error))?;
        Ok(Self { path: path.to_owned(), of, writer: Mutex::new(writer), reader: Mutex::new(reader) })
    }

    /// Reads something. Damage that shows begins the index anew.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, DbError>) -> Result<T, IndexError> {
        let done = read(&self.reader.lock().unwrap_or_else(PoisonError::into_inner));
        self.judged(done)
    }

    fn judged<T>(&self, done: Result<T, DbError>) -> Result<T, IndexError> {
        match done {
            Err(error) if is_damage(&error) => {
                tracing::warn!(target: "covenant", "the search index {} is damaged and begins anew: {error}", self.path.display());
                self.renew().map_err(|error| failed(&error))?;
                Err(IndexError::Lost)
            }
            other => other.map_err(|error| failed(&error)),
        }
    }

    /// Begins anew: nobody reads or writes meanwhile.
    fn renew(&self) -> Result<(), DbError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // What is closed lets go of the old file.
        *writer = Connection::open_in_memory()?;
        *reader = Connection::open_in_memory()?;
        (*writer, *reader) = file::renew(&self.path, &self.of)?;
        Ok(())
    }
}

impl Index for NoteIndex {
    fn known(&self) -> Result<HashMap<String, Stamp>, IndexError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT path, inode, size, modified FROM note")?;
            let stamp = |row: &Row<'_>| {
                let stamp = Stamp {
                    inode: row.get::<_, i64>(1)?.cast_unsigned(),
                    size: row.get::<_, i64>(2)?.cast_unsigned(),
                    modified: row.get(3)?,
                };
                Ok((row.get(0)?, stamp))
            };
            Ok(statement.query_map([], stamp)?.collect::<Result<_, _>>()?)
        })
    }

    fn change(&self, put: &[Entry], gone: &[String]) -> Result<(), IndexError> {
        let done = change::change(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner), put, gone);
        self.judged(done)
    }

    fn search(&self, query: &Query) -> Result<Found, IndexError> {
        self.read(|connection| search::search(connection, query))
    }

    fn recent(&self, limit: usize) -> Result<Vec<Hit>, IndexError> {
        self.read(|connection| {
            let limit = i64::try_from(limit).unwrap_or(MOST).min(MOST);
            let sql = search::newest("FROM note", limit);
            Ok(connection.prepare_cached(&sql)?.query_map([], hit)?.collect::<Result<_, _>>()?)
        })
    }

    fn named(&self, key: &str) -> Result<Vec<String>, IndexError> {
        self.read(|connection| {
            let sql = "SELECT path FROM note WHERE key = ?1 ORDER BY path LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_map((key, MOST), |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
    }

    fn leading_to(&self, key: &str) -> Result<Vec<(String, String)>, IndexError> {
        self.read(|connection| {
            let sql = "SELECT note.path, link.target FROM link JOIN note ON note.id = link.note
                WHERE link.key = ?1 ORDER BY note.path LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            Ok(statement.query_map((key, MOST), pair)?.collect::<Result<_, _>>()?)
        })
    }
}

/// A row of a path, a title and a moment.
fn hit(row: &Row<'_>) -> rusqlite::Result<Hit> {
    Ok(Hit { path: row.get(0)?, title: row.get(1)?, modified: row.get(2)? })
}

fn is_damage(error: &DbError) -> bool {
    matches!(error, DbError::Damaged(_))
}

fn failed(error: &DbError) -> IndexError {
    IndexError::Failed(format!("the search index cannot be used: {error}"))
}

#[cfg(test)]
mod tests;
