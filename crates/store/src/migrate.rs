//! Brings the tables up to date, or refuses: a schema from a newer Covenant, or a migration that was changed.
//!
//! Each migration is one transaction together with its row in `schema_migrations`. Before an existing `SQLite` file
//! is changed, a backup is made beside it. A server's database is not ours to copy: its operator does that, with
//! `pg_dump`, before a new version is started.

use std::path::{Path, PathBuf};

use covenant_gate::clock::{Clock as _, SystemClock};
use sha2::{Digest as _, Sha256};

use crate::db::sqlite::Sqlite;
use crate::db::{Db, DbError, Purpose, Record, Row, Tx};
use crate::file;
use crate::open::OpenError;

/// One step from a schema to the next. A change in a shipped text is refused: write a new migration instead.
struct Migration {
    version: u32,
    name: &'static str,
    /// The text for `SQLite` and the one for `PostgreSQL`.
    texts: [&'static str; 2],
}

/// A migration whose text both databases understand.
macro_rules! shared {
    ($version:literal, $name:literal, $file:literal) => {{
        const TEXT: &str = include_str!(concat!("../migrations/", $file));
        Migration { version: $version, name: $name, texts: [TEXT, TEXT] }
    }};
}

/// All of them, in order.
static MIGRATIONS: [Migration; 16] = [
    shared!(1, "tokens", "001_tokens.sql"),
    shared!(2, "grants", "002_grants.sql"),
    shared!(3, "approvals", "003_approvals.sql"),
    shared!(4, "audit_index", "004_audit_index.sql"),
    shared!(5, "audit_log", "005_audit_log.sql"),
    shared!(6, "revision", "006_revision.sql"),
    shared!(7, "sessions", "007_sessions.sql"),
    shared!(8, "decisions", "008_decisions.sql"),
    shared!(9, "intents", "009_intents.sql"),
    shared!(10, "identity", "010_identity.sql"),
    shared!(11, "work", "011_work.sql"),
    shared!(12, "people", "012_people.sql"),
    shared!(13, "overlap", "013_overlap.sql"),
    shared!(14, "state", "014_state.sql"),
    shared!(15, "coordination", "015_coordination.sql"),
    shared!(16, "verdicts", "016_verdicts.sql"),
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version     BIGINT PRIMARY KEY,
    name        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    applied_at  BIGINT NOT NULL
)";

const APPLIED: &str = "SELECT version, name, checksum FROM schema_migrations ORDER BY version";

impl Migration {
    fn text(&self, db: &Db) -> &'static str {
        let [sqlite, postgres] = self.texts;
        match db {
            Db::Sqlite(_) => sqlite,
            Db::Postgres(_) => postgres,
        }
    }

    fn checksum(&self, db: &Db) -> String {
        let digest: [u8; 32] = Sha256::digest(self.text(db).as_bytes()).into();
        digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }
}

/// The version that this program brings a database to.
pub fn newest() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Brings the database to [`newest`].
pub(crate) async fn migrate(db: &Db, place: &str) -> Result<(), OpenError> {
    let failed = |error: DbError| OpenError::failed(place, &error);
    let fresh = !db.has_table("schema_migrations").await.map_err(failed)?;
    let rows = if fresh { Vec::new() } else { db.query(APPLIED, Vec::new()).await.map_err(failed)? };
    let Some(first) = next(db, &rows, place)? else { return Ok(()) };
    if let Some(version) = last(&rows).map_err(failed)? {
        back_up(db, version, place).await?;
    }
    tracing::info!(from = first.version - 1, to = newest(), "bringing the database {place} up to date");
    if fresh {
        let mut tx = db.begin(Purpose::Migration).await.map_err(failed)?;
        tx.batch(TABLE).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
    }
    while step(db, place).await? {}
    Ok(())
}

/// That the database is at [`newest`], without changing it.
pub(crate) async fn check(db: &Db, place: &str) -> Result<(), OpenError> {
    let failed = |error: DbError| OpenError::failed(place, &error);
    let fresh = !db.has_table("schema_migrations").await.map_err(failed)?;
    let rows = if fresh { Vec::new() } else { db.query(APPLIED, Vec::new()).await.map_err(failed)? };
    if next(db, &rows, place)?.is_none() {
        return Ok(());
    }
    let found = last(&rows).map_err(failed)?.unwrap_or(0);
    Err(OpenError::Older { place: place.to_owned(), found, known: newest() })
}

/// Makes every table in a transaction that will not be committed.
pub(crate) async fn rehearse(tx: &mut Tx) -> Result<(), DbError> {
    for migration in &MIGRATIONS {
        let [sqlite, _] = migration.texts;
        tx.batch(sqlite).await?;
    }
    Ok(())
}

/// Applies the first migration that is missing; `false` if none is. Another daemon may have been faster.
async fn step(db: &Db, place: &str) -> Result<bool, OpenError> {
    let failed = |error: DbError| OpenError::failed(place, &error);
    let mut tx = db.begin(Purpose::Migration).await.map_err(failed)?;
    let rows = tx.query(APPLIED, Vec::new()).await.map_err(failed)?;
    let Some(migration) = next(db, &rows, place)? else { return Ok(false) };
    let broken = |error: DbError| OpenError::Migration {
        place: place.to_owned(),
        version: migration.version,
        name: migration.name,
        reason: error.to_string(),
    };
    tx.batch(migration.text(db)).await.map_err(broken)?;
    let values = vec![
        u64::from(migration.version).into(),
        migration.name.into(),
        migration.checksum(db).into(),
        SystemClock.now().into(),
    ];
    let sql = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";
    tx.execute(sql, values).await.map_err(broken)?;
    tx.commit().await.map_err(broken)?;
    Ok(true)
}

/// The first migration that is missing, once those that were applied are found to be the ones we know.
fn next(db: &Db, applied: &[Row], place: &str) -> Result<Option<&'static Migration>, OpenError> {
    let failed = |error: DbError| OpenError::failed(place, &error);
    let mut missing: Vec<&Migration> = MIGRATIONS.iter().collect();
    for row in applied {
        let record = Record::of("schema_migrations", row);
        let version = record.count("version").map_err(failed)?;
        let Some(known) = MIGRATIONS.iter().find(|migration| u64::from(migration.version) == version) else {
            let found = version.max(last(applied).map_err(failed)?.map_or(0, u64::from));
            return Err(OpenError::Newer { place: place.to_owned(), found, known: newest() });
        };
        if record.text("checksum").map_err(failed)? != known.checksum(db) {
            let (version, name) = (known.version, known.name);
            return Err(OpenError::Changed { place: place.to_owned(), version, name });
        }
        missing.retain(|migration| migration.version != known.version);
    }
    Ok(missing.first().copied())
}

fn last(applied: &[Row]) -> Result<Option<u32>, DbError> {
    let Some(row) = applied.last() else { return Ok(None) };
    let record = Record::of("schema_migrations", row);
    u32::try_from(record.int("version")?).map(Some).map_err(|_| record.bad("version", "is no version"))
}

async fn back_up(db: &Db, version: u32, place: &str) -> Result<(), OpenError> {
    match db {
        Db::Sqlite(sqlite) => {
            let copy = copy(sqlite, version).await;
            let copy = copy.map_err(|reason| OpenError::Backup { path: sqlite.path().to_owned(), reason })?;
            tracing::info!(path = %copy.display(), "made a backup of the database: {}", copy.display());
        }
        Db::Postgres(_) => {
            tracing::warn!(
                "changing the tables of {place} without a backup: Covenant makes none of a server's database, use pg_dump"
            );
        }
    }
    Ok(())
}

async fn copy(sqlite: &Sqlite, version: u32) -> Result<PathBuf, String> {
    let target =
        file::create_backup(sqlite.path(), version, SystemClock.now()).map_err(|error| error.to_string())?;
    let finish = |target: &Path| file::sync(target).map_err(|error| error.to_string());
    match sqlite.copy_into(&target).await.map_err(|error| error.to_string()).and_then(|()| finish(&target)) {
        Ok(()) => Ok(target),
        Err(reason) => {
            // Half a backup is worse than none; if it cannot be removed either, the reason below still stands.
            _ = std::fs::remove_file(&target);
            Err(reason)
        }
    }
}
