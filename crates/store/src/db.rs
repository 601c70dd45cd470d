//! One small way to speak SQL to both databases: single statements, and transactions of several.
//!
//! Decides what is retried and how often. Which driver answers is known here and below, nowhere else.

mod error;
pub(crate) mod postgres;
mod shape;
pub(crate) mod sqlite;
mod value;

use std::borrow::Cow;
use std::pin::Pin;
use std::time::Duration;

pub(crate) use error::DbError;
pub(crate) use shape::{From as PageFrom, Kind, Shape, quoted};
pub(crate) use value::{Record, Row, Value};

/// SQL in the dialect both databases share. `$` stands for nothing but parameters in it.
pub(crate) type Sql = Cow<'static, str>;

/// What one attempt at a transaction comes to.
pub(crate) type Work<'t, T> = Pin<Box<dyn Future<Output = Result<T, DbError>> + Send + 't>>;

/// How often a transaction that lost against another one is tried in all.
const ATTEMPTS: u32 = 14;

/// An open database.
pub(crate) enum Db {
    /// A file of ours.
    Sqlite(sqlite::Sqlite),
    /// A server.
    Postgres(postgres::Postgres),
}

/// An open transaction. Dropped without a commit, it never happened.
pub(crate) enum Tx {
    /// Holds the file's one writer.
    Sqlite(sqlite::Transaction),
    /// Holds a connection.
    Postgres(postgres::Transaction),
}

/// Tables that are held, and what is to be taken back about them.
#[derive(Debug, Default)]
pub(crate) struct Held {
    undo: Vec<String>,
}

/// What a transaction is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Ordinary work: as if no other transaction ran at the same time.
    Work,
    /// Adding rows that no other transaction reads or adds: a taken key is an error, never a reason to try again.
    Append,
    /// Work that waits for its turn: it first changes the one row that all of its kind change, and what it then reads is what
    /// the one before it left.
    InTurn,
    /// Changing tables: alone among all daemons, and sees what the one before it did.
    Migration,
    /// Reading all of it, as it is at one moment, for as long as that takes. Nobody waits for it.
    Snapshot,
    /// Filling tables, for as long as that takes.
    Load,
}

impl Db {
    /// Rows of one statement that changes nothing.
    pub(crate) async fn query(&self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        let (sql, values) = (sql.into(), sound(values)?);
        match self {
            Self::Sqlite(sqlite) => sqlite.query(sql, values).await,
            Self::Postgres(postgres) => postgres.query(sql, values).await,
        }
    }

    /// Rows that one changing statement returns. Atomic by itself.
    pub(crate) async fn change(&self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        let values = sound(values)?;
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.change(sql.into(), values).await?.rows),
            Self::Postgres(postgres) => postgres.query(sql.into(), values).await,
        }
    }

    /// How many rows one changing statement changed. Atomic by itself.
    pub(crate) async fn execute(&self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<u64, DbError> {
        let (sql, values) = (sql.into(), sound(values)?);
        match self {
            Self::Sqlite(sqlite) => Ok(sqlite.change(sql, values).await?.changed),
            Self::Postgres(postgres) => postgres.execute(sql, values).await,
        }
    }

    /// Opens a transaction that the caller commits.
    pub(crate) async fn begin(&self, purpose: Purpose) -> Result<Tx, DbError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.begin(purpose).await.map(Tx::Sqlite),
            Self::Postgres(postgres) => postgres.begin(purpose).await.map(Tx::Postgres),
        }
    }

    /// Runs the work in a transaction and commits it. The work may run more than once: each time but the last is
    /// rolled back, because another transaction came between.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, DbError>
    where
        T: Send,
        F: for<'t> Fn(&'t mut Tx) -> Work<'t, T> + Send + Sync,
    {
        retried(|| self.attempt(&work)).await
    }

    async fn attempt<T, F>(&self, work: &F) -> Result<T, DbError>
    where
        T: Send,
        F: for<'t> Fn(&'t mut Tx) -> Work<'t, T> + Send + Sync,
    {
        let mut tx = self.begin(Purpose::Work).await?;
        let done = work(&mut tx).await?;
        tx.commit().await?;
        Ok(done)
    }

    /// From now on what is committed is on disk, which a server sees to anyway.
    pub(crate) async fn sync_commits(&self) -> Result<(), DbError> {
        match self {
            Self::Sqlite(sqlite) => {
                sqlite.change("PRAGMA synchronous = FULL".into(), Vec::new()).await.map(drop)
            }
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Whether there is a table of that name.
    pub(crate) async fn has_table(&self, name: &str) -> Result<bool, DbError> {
        let sql = match self {
            Self::Sqlite(_) => sqlite::HAS_TABLE,
            Self::Postgres(_) => postgres::HAS_TABLE,
        };
        Ok(!self.query(sql, vec![name.into()]).await?.is_empty())
    }

    /// Ends it: what was begun is finished, everything later is refused.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
        }
    }
}

/// Whatever answers a statement that changes nothing: a transaction, or the database as it is at that moment.
pub(crate) trait Rows: Send {
    /// Its rows.
    fn rows(
        &mut self,
        sql: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<Row>, DbError>> + Send;
}

impl Rows for Tx {
    async fn rows(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        self.query(sql, values).await
    }
}

impl Rows for &Db {
    async fn rows(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        self.query(sql, values).await
    }
}

impl Tx {
    /// Rows of one statement.
    pub(crate) async fn query(
        &mut self,
        sql: impl Into<Sql>,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, DbError> {
        let (sql, values) = (sql.into(), sound(values)?);
        match self {
            Self::Sqlite(tx) => Ok(tx.run(sql, values).await?.rows),
            Self::Postgres(tx) => tx.query(sql, values).await,
        }
    }

    /// How many rows one statement changed.
    pub(crate) async fn execute(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<u64, DbError> {
        let (sql, values) = (sql.into(), sound(values)?);
        match self {
            Self::Sqlite(tx) => Ok(tx.run(sql, values).await?.changed),
            Self::Postgres(tx) => tx.execute(sql, values).await,
        }
    }

    /// The tables there are, with their columns.
    pub(crate) async fn shapes(&mut self) -> Result<Vec<Shape>, DbError> {
        let sql = match self {
            Self::Sqlite(_) => sqlite::SHAPES,
            Self::Postgres(_) => postgres::SHAPES,
        };
        shape::of(&self.query(sql, Vec::new()).await?)
    }

    /// Adds rows to a table, each with a value for every column.
    pub(crate) async fn load(&mut self, shape: &Shape, rows: Vec<Vec<Value>>) -> Result<(), DbError> {
        let rows = rows.into_iter().map(sound).collect::<Result<_, _>>()?;
        match self {
            Self::Sqlite(tx) => tx.load(shape.insertion().into(), rows).await,
            Self::Postgres(tx) => tx.load(shape, &rows).await,
        }
    }

    /// Keeps everybody else from writing these tables, and lets rows come in any order: what refers to another row is
    /// judged by [`Tx::settle`], or at the commit.
    pub(crate) async fn hold(&mut self, shapes: &[Shape]) -> Result<Held, DbError> {
        match self {
            // A transaction that writes is the only one that does.
            Self::Sqlite(tx) => tx.batch("PRAGMA defer_foreign_keys = ON").await.map(|()| Held::default()),
            Self::Postgres(tx) => tx.hold(shapes).await,
        }
    }

    /// Judges what refers to what, and leaves the tables as they were before they were held.
    pub(crate) async fn settle(&mut self, held: Held) -> Result<(), DbError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => tx.settle(held).await,
        }
    }

    /// Runs several statements without parameters, such as a migration.
    pub(crate) async fn batch(&mut self, sql: &'static str) -> Result<(), DbError> {
        match self {
            Self::Sqlite(tx) => tx.batch(sql).await,
            Self::Postgres(tx) => tx.batch(sql).await,
        }
    }

    /// Makes it happen.
    pub(crate) async fn commit(self) -> Result<(), DbError> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        }
    }
}

/// Does it until it is settled: again, after a pause, as often as it lost against another transaction, up to a bound.
pub(crate) async fn retried<T, F>(attempt: impl Fn() -> F) -> Result<T, DbError>
where
    F: Future<Output = Result<T, DbError>>,
{
    for number in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_worth_retrying() => tokio::time::sleep(pause(number)).await,
            settled => return settled,
        }
    }
    attempt().await
}

/// `PostgreSQL` has no text with NUL; to behave alike, neither has `SQLite`.
fn sound(values: Vec<Value>) -> Result<Vec<Value>, DbError> {
    if values.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0'))) {
        return Err(DbError::Failed("a text with a NUL character cannot be kept".into()));
    }
    Ok(values)
}

/// A random pause that may grow with each attempt, so that those who collided do not collide again.
fn pause(attempt: u32) -> Duration {
    let most = 2_u64.saturating_pow(attempt).min(100);
    let [random] = covenant_gate::random::bytes::<1>().unwrap_or([128]);
    Duration::from_micros(most * 1000 * u64::from(random) / 255)
}

#[cfg(test)]
mod tests;
