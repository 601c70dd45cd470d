//! A whole database in one `SQLite` file, as it is at one moment, beside whatever daemon works with it: for backups.
//!
//! A file is copied by `SQLite` itself, at the schema it has. A server's tables are copied row by row into a new file, and
//! held against each other, so that a backup of either can be restored without a server.

use std::path::{Path, PathBuf};

use crate::copy::{self, CopyError, Told};
use crate::db::DbError;
use crate::db::sqlite::Sqlite;
use crate::file;
use crate::inspect::{Inspection, inspect};
use crate::open::{self, OpenError, Store};

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Which database, as a URL without credentials.
    pub place: String,
    /// The version of its tables.
    pub schema: u32,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It was opened, and not copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The copy's file cannot be made.
    #[error("{} cannot be written: {error}; name a place that has room and that you may write to", path.display())]
    Unwritten {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Copies what the URL names into a new file; `None` if there is nothing yet.
pub async fn snapshot(
    url: &str,
    home: &Path,
    into: &Path,
    told: Told<'_>,
) -> Result<Option<Snapshot>, SnapshotError> {
    match open::file_of(url, home)? {
        Some(file) if !file.exists() => Ok(None),
        Some(file) => {
            let into = into.to_owned();
            let copied = tokio::task::spawn_blocking(move || copy_file(&file, &into)).await;
            let stopped = |_| OpenError::Failed { place: url.to_owned(), reason: "we are stopping".into() };
            copied.map_err(stopped)?.map(Some)
        }
        None => copy_server(url, home, into, told).await.map(Some),
    }
}

/// Whether a file is a sound database that this program can use.
pub fn check_file(path: &Path) -> Result<u32, OpenError> {
    let schema = match inspect(path)? {
        Inspection::Schema(schema) => schema,
        Inspection::Absent => 0,
    };
    Sqlite::is_sound(path).map_err(|error| OpenError::failed(&open::file_place(path), &error))?;
    Ok(schema)
}

fn copy_file(from: &Path, into: &Path) -> Result<Snapshot, SnapshotError> {
    let place = open::file_place(from);
    let failed = |error: DbError| OpenError::failed(&place, &error);
    // A newer schema or another program's tables are found before anything is made.
    inspect(from)?;
    file::create(into).map_err(|error| SnapshotError::Unwritten { path: into.to_owned(), error })?;
    Sqlite::copy_file(from, into).map_err(failed)?;
    let schema = check_file(into)?;
    Ok(Snapshot { place, schema })
}

async fn copy_server(url: &str, home: &Path, into: &Path, told: Told<'_>) -> Result<Snapshot, SnapshotError> {
    let from = Store::open_as_it_is(url, home).await?;
    let into_url = into.to_str().map(|path| format!("sqlite:{path}"));
    let into_url = into_url.ok_or_else(|| OpenError::BadUrl("the path is not UTF-8".to_owned()))?;
    let opened = Store::open(&into_url, home).await;
    let copied = match &opened {
        Ok(to) => {
            let copied = copy::copy(&from, to, told).await;
            to.close().await;
            copied.map_err(SnapshotError::from)
        }
        Err(error) => Err(error.clone().into()),
    };
    let snapshot = Snapshot { place: from.place(), schema: from.schema_version() };
    from.close().await;
    copied.map(|_| snapshot)
}
