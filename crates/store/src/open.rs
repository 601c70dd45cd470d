//! From a URL to an open store, and every reason why that cannot be, each with what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use covenant_gate::refusal::Fault;
use sqlx::postgres::PgConnectOptions;

use crate::db::postgres::Postgres;
use crate::db::sqlite::{Found, Sqlite};
use crate::db::{Db, DbError};
use crate::file::{self, Was};
use crate::migrate;
use crate::team::Likeness;

/// Why a database cannot be opened. None of these texts holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL names no database we know.
    #[error(
        "`[database] url` names no database that Covenant knows: write `sqlite:covenant.db` for a file in the home, or `postgres://user@host/name` for a server"
    )]
    UnknownScheme,
    /// The URL is for a database, and broken.
    #[error("`[database] url` cannot be read: {0}")]
    BadUrl(String),
    /// A database that would forget.
    #[error(
        "a database in memory forgets every grant and token when the daemon stops: name a file in `[database] url`, such as `sqlite:covenant.db`"
    )]
    Memory,
    /// The file cannot be made, read or written.
    #[error("the database file {} cannot be used: {reason}; see that its directory exists and that you may read and write it", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is someone else's.
    #[error("the database file {} belongs to user {owner}, and this is user {us}: start Covenant as its owner, or hand the file over with chown", path.display())]
    OtherOwner {
        /// Which file.
        path: PathBuf,
        /// Whose.
        owner: u32,
        /// Who we are.
        us: u32,
    },
    /// The file is no database.
    #[error("{} is not a sound SQLite database ({reason}): move it away and restore a backup in its place, such as the newest {}.backup-*", path.display(), path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What `SQLite` says.
        reason: String,
    },
    /// Someone else holds it.
    #[error(
        "the database {place} is held by another program ({reason}): stop that program, or wait for it, and try again"
    )]
    Busy {
        /// Which database.
        place: String,
        /// What the database says.
        reason: String,
    },
    /// The file is another program's database.
    #[error("{} holds tables of another program: name another file in `[database] url`", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// The server cannot be reached, or does not let us in.
    #[error(
        "the database {place} cannot be reached: {reason}; see that the server runs and that user, password and database name are right"
    )]
    Unreachable {
        /// Which database.
        place: String,
        /// Why.
        reason: String,
    },
    /// The tables are from a newer Covenant.
    #[error(
        "the database {place} has schema {found}, and this Covenant knows schemas up to {known}: use the newer Covenant that wrote it, or restore the backup made before it was upgraded"
    )]
    Newer {
        /// Which database.
        place: String,
        /// Its version.
        found: u64,
        /// Ours.
        known: u32,
    },
    /// The tables are from an older Covenant, and nobody asked to change them.
    #[error(
        "the database {place} has schema {found}, and this Covenant works with schema {known}: start its daemon with this version once, which brings it up to date, or use the version that it runs with"
    )]
    Older {
        /// Which database.
        place: String,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A migration was applied that differs from ours.
    #[error(
        "the database {place} was brought to schema {version} ({name}) by a different text than this Covenant's: use the Covenant that made it, or restore a backup"
    )]
    Changed {
        /// Which database.
        place: String,
        /// Which migration.
        version: u32,
        /// Its name.
        name: &'static str,
    },
    /// A migration failed; the database is as it was before it.
    #[error(
        "the database {place} cannot be brought to schema {version} ({name}): {reason}; it is as it was before"
    )]
    Migration {
        /// Which database.
        place: String,
        /// Which migration.
        version: u32,
        /// Its name.
        name: &'static str,
        /// Why.
        reason: String,
    },
    /// No backup, so no change.
    #[error("no backup of {} could be made, so it was not upgraded: {reason}; make room or correct the permissions of its directory", path.display())]
    Backup {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Anything else.
    #[error("the database {place} cannot be opened: {reason}")]
    Failed {
        /// Which database.
        place: String,
        /// Why.
        reason: String,
    },
}

impl OpenError {
    pub(crate) fn failed(place: &str, error: &DbError) -> Self {
        let file = place.strip_prefix("sqlite:").map(PathBuf::from);
        let place = place.to_owned();
        match (error, file) {
            (DbError::Damaged(reason), Some(path)) => Self::Damaged { path, reason: reason.clone() },
            (DbError::Unreachable(reason), Some(path)) => Self::Unusable { path, reason: reason.clone() },
            (DbError::Unreachable(reason), None) => Self::Unreachable { place, reason: reason.clone() },
            (DbError::Busy(reason), _) => Self::Busy { place, reason: reason.clone() },
            _ => Self::Failed { place, reason: error.to_string() },
        }
    }
}

/// What a URL names.
enum Target {
    File(PathBuf),
    Server(Box<PgConnectOptions>),
}

/// An open database with the tables it should have.
pub struct Store {
    pub(crate) db: Db,
    place: String,
    /// The work of teams, ready to be searched.
    pub(crate) likeness: Arc<Likeness>,
}

impl Store {
    /// Opens what the URL names, and brings its tables up to date. Relative paths are those of the home.
    pub async fn open(url: &str, home: &Path) -> Result<Arc<Self>, OpenError> {
        let (db, place) = connect(target(url, home)?).await?;
        if let Err(error) = migrate::migrate(&db, &place).await {
            db.close().await;
            return Err(error);
        }
        Ok(Arc::new(Self { db, place, likeness: Arc::default() }))
    }

    /// Opens what the URL names, if its tables are up to date, and changes none of them.
    pub(crate) async fn open_as_it_is(url: &str, home: &Path) -> Result<Arc<Self>, OpenError> {
        let (db, place) = connect(target(url, home)?).await?;
        if let Err(error) = migrate::check(&db, &place).await {
            db.close().await;
            return Err(error);
        }
        Ok(Arc::new(Self { db, place, likeness: Arc::default() }))
    }

    /// The version of its tables.
    pub fn schema_version(&self) -> u32 {
        migrate::newest()
    }

    /// Where it is, as a URL without credentials.
    pub fn place(&self) -> String {
        self.place.clone()
    }

    /// Whether it answers.
    pub async fn health(&self) -> Result<(), Fault> {
        self.db.query("SELECT 1", Vec::new()).await?;
        Ok(())
    }

    /// Finishes what was begun, and closes it. Everything asked later is refused.
    pub async fn close(&self) {
        self.db.close().await;
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.place).finish()
    }
}

async fn connect(target: Target) -> Result<(Db, String), OpenError> {
    match target {
        Target::File(path) => {
            let place = file_place(&path);
            let opened = tokio::task::spawn_blocking(move || open_file(&path)).await;
            let stopped = |_| OpenError::Failed { place: place.clone(), reason: "we are stopping".into() };
            Ok((Db::Sqlite(opened.map_err(stopped)??), place))
        }
        Target::Server(options) => {
            let place = server_place(&options);
            let opened = Postgres::open(*options).await;
            Ok((Db::Postgres(opened.map_err(|error| OpenError::failed(&place, &error))?), place))
        }
    }
}

/// The file that a URL names, where it names one.
pub(crate) fn file_of(url: &str, home: &Path) -> Result<Option<PathBuf>, OpenError> {
    Ok(match target(url, home)? {
        Target::File(path) => Some(path),
        Target::Server(_) => None,
    })
}

fn target(url: &str, home: &Path) -> Result<Target, OpenError> {
    let url = url.trim();
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        // The driver's reason may quote the URL, and with it the password.
        let shape =
            "a server is written `postgres://user:password@host:port/name`, with odd characters as %XX";
        let options = PgConnectOptions::from_str(url).map_err(|_| OpenError::BadUrl(shape.to_owned()))?;
        return Ok(Target::Server(Box::new(options)));
    }
    let path = url.strip_prefix("sqlite:").ok_or(OpenError::UnknownScheme)?;
    if path.contains(":memory:") || path.contains("mode=memory") {
        return Err(OpenError::Memory);
    }
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.ends_with('/') || path.contains(['?', '\0']) {
        let shape = "a file is written `sqlite:covenant.db` or `sqlite:/path/to/file.db`, without parameters";
        return Err(OpenError::BadUrl(shape.to_owned()));
    }
    Ok(Target::File(home.join(path)))
}

pub(crate) fn file_place(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn server_place(options: &PgConnectOptions) -> String {
    let user = options.get_username();
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    format!("postgres://{user}@{host}/{}", options.get_database().unwrap_or(user))
}

fn open_file(path: &Path) -> Result<Sqlite, OpenError> {
    let was = file::prepare(path)?;
    let wrong = |error: DbError| OpenError::failed(&file_place(path), &error);
    if was == Was::There && Sqlite::look(path).map_err(wrong)? == Found::Foreign {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    Sqlite::open(path).map_err(wrong)
}
