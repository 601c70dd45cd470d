//! `SQLite`: one thread that writes, two that read, each with a connection of its own, reached by channels.
//!
//! Every change goes through the one writer, so transactions of this process never wait for each other's locks;
//! those of another process are waited for. Decides nothing about tables.

mod lane;
mod statement;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::{DbError, Purpose, Row, Sql, Value};
use lane::{Jobs, Lane};
use statement::{Ran, run};
use writer::{Job, Step};

/// Asks whether there is a table of that name.
pub(crate) const HAS_TABLE: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1";

/// Asks for the tables and their columns. Generated columns are not among them.
pub(crate) const SHAPES: &str = "SELECT t.name AS table_name, c.name AS column_name, lower(c.type) AS kind, c.pk AS place \
    FROM pragma_table_list AS t, pragma_table_info(t.name) AS c \
    WHERE t.schema = 'main' AND t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_' AND t.name <> 'schema_migrations' \
    ORDER BY t.name, c.cid";

/// How long another process may hold the file before we give up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many statements each connection keeps prepared.
const STATEMENTS: usize = 64;

const READERS: usize = 2;

type Reply<T> = oneshot::Sender<Result<T, DbError>>;

struct Read {
    sql: Sql,
    values: Vec<Value>,
    reply: Reply<Ran>,
}

/// A database file.
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: Lane<Job>,
    readers: Lane<Read>,
}

/// The file as it was found, before anything in it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Empty, or with the table that says which migrations ran.
    Ours,
    /// Full of somebody else's tables.
    Foreign,
}

impl Sqlite {
    /// Looks into an existing file without changing it. Blocks.
    pub(crate) fn look(path: &Path) -> Result<Found, DbError> {
        let connection = connect(path)?;
        let count = |condition: &str| {
            let sql = format!("SELECT count(*) FROM sqlite_master WHERE type = 'table' {condition}");
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        let foreign = count("")? > 0 && count("AND name = 'schema_migrations'")? == 0;
        Ok(if foreign { Found::Foreign } else { Found::Ours })
    }

    /// Opens the file, which must exist, and starts its threads. Blocks.
    pub(crate) fn open(path: &Path) -> Result<Self, DbError> {
        let connection = connect(path)?;
        // Survives the death of the process at any moment; the death of the machine may cost the last commits,
        // never the file.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // In KiB and in pages: room enough that filling the audit index does not read and write the same pages
        // over and over.
        connection.pragma_update(None, "cache_size", -1024)?;
        connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
        connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
        let writer = Lane::start("store-write", vec![connection], writer::serve)?;
        let connections = (0..READERS).map(|_| reader(path)).collect::<Result<_, _>>()?;
        let readers = Lane::start("store-read", connections, serve_reads)?;
        Ok(Self { path: path.to_owned(), writer, readers })
    }

    /// A database that is nowhere, for what can be found out by making one. It has a writer and no readers.
    pub(crate) fn nowhere() -> Result<Self, DbError> {
        let writer = Lane::start("store-write", vec![Connection::open_in_memory()?], writer::serve)?;
        let readers = Lane::start("store-read", Vec::new(), serve_reads)?;
        Ok(Self { path: PathBuf::new(), writer, readers })
    }

    /// Copies a file that another process may be writing, as it is at one moment, into another file, which must be empty.
    /// Blocks.
    pub(crate) fn copy_file(from: &Path, into: &Path) -> Result<(), DbError> {
        let into = into.to_str().ok_or_else(|| DbError::Failed("the copy's path is not UTF-8".into()))?;
        connect(from)?.execute("VACUUM INTO ?1", [into])?;
        Ok(())
    }

    /// Whether every page and index of a file is as it should be, and what is wrong where it is not. Blocks.
    pub(crate) fn is_sound(path: &Path) -> Result<(), DbError> {
        let told: String = connect(path)?.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if told == "ok" { Ok(()) } else { Err(DbError::Damaged(told)) }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) async fn query(&self, sql: Sql, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        let (reply, answer) = oneshot::channel();
        self.readers.send(Read { sql, values, reply })?;
        Ok(answer.await.map_err(|_| DbError::Closed)??.rows)
    }

    pub(super) async fn change(&self, sql: Sql, values: Vec<Value>) -> Result<Ran, DbError> {
        let (reply, answer) = oneshot::channel();
        self.writer.send(Job::One { sql, values, reply })?;
        answer.await.map_err(|_| DbError::Closed)?
    }

    pub(super) async fn begin(&self, purpose: Purpose) -> Result<Transaction, DbError> {
        let (steps, receiver) = mpsc::channel();
        let (reply, answer) = oneshot::channel();
        self.writer.send(Job::Begin { purpose, steps: receiver, reply })?;
        answer.await.map_err(|_| DbError::Closed)??;
        Ok(Transaction { steps })
    }

    /// Copies the whole database, as it is now, into that file, which must be empty.
    pub(crate) async fn copy_into(&self, target: &Path) -> Result<(), DbError> {
        let target =
            target.to_str().ok_or_else(|| DbError::Failed("the backup's path is not UTF-8".into()))?;
        self.change("VACUUM INTO $1".into(), vec![target.into()]).await.map(drop)
    }

    pub(super) async fn close(&self) {
        // The writer last: whoever closes the last connection tidies up the write-ahead log.
        self.readers.stop().await;
        self.writer.stop().await;
    }
}

/// The file's writer, held until commit or drop.
pub(crate) struct Transaction {
    steps: mpsc::Sender<Step>,
}

impl Transaction {
    pub(super) async fn run(&mut self, sql: Sql, values: Vec<Value>) -> Result<Ran, DbError> {
        self.step(|reply| Step::Run { sql, values, reply }).await
    }

    pub(super) async fn load(&mut self, sql: Sql, rows: Vec<Vec<Value>>) -> Result<(), DbError> {
        self.step(|reply| Step::Load { sql, rows, reply }).await
    }

    pub(super) async fn batch(&mut self, sql: &'static str) -> Result<(), DbError> {
        self.step(|reply| Step::Batch { sql, reply }).await
    }

    pub(super) async fn commit(self) -> Result<(), DbError> {
        self.step(|reply| Step::Commit { reply }).await
    }

    async fn step<T>(&self, step: impl FnOnce(Reply<T>) -> Step) -> Result<T, DbError> {
        let gone = || DbError::Failed("the transaction stood still for too long and was rolled back".into());
        let (reply, answer) = oneshot::channel();
        self.steps.send(step(reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn serve_reads(connection: Connection, reads: &Jobs<Read>) {
    while let Some(Read { sql, values, reply }) = reads.next() {
        // A caller that no longer waits is no error.
        _ = reply.send(run(&connection, &sql, &values));
    }
    drop(connection);
}

fn connect(path: &Path) -> Result<Connection, DbError> {
    // Without SQLITE_OPEN_CREATE: the file is made before, with the mode it needs. Without SQLITE_OPEN_URI: a
    // path is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn reader(path: &Path) -> Result<Connection, DbError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}
