//! `PostgreSQL`: a small pool of connections, values bound with their types, errors sorted by their SQLSTATE.
//!
//! Single statements run at READ COMMITTED, where one UPDATE is atomic; so do transactions that only add
//! rows of their own, and those that wait for their turn; all others are SERIALIZABLE.

mod load;

use std::sync::Arc;
use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow, PgTypeInfo,
};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Row as _, TypeInfo as _, ValueRef as _,
};

use super::{DbError, Purpose, Row, Sql, Value};

/// Asks whether there is a table of that name.
pub(crate) const HAS_TABLE: &str = "SELECT 1 WHERE to_regclass($1) IS NOT NULL";

/// Asks for the tables and their columns. Generated columns are not among them.
pub(crate) const SHAPES: &str = "SELECT t.relname::text AS table_name, a.attname::text AS column_name, format_type(a.atttypid, a.atttypmod) AS kind, \
            COALESCE((SELECT k.place FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k (number, place) \
                      WHERE i.indrelid = t.oid AND i.indisprimary AND k.number = a.attnum), 0) AS place \
     FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid \
     WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND a.attnum > 0 \
           AND NOT a.attisdropped AND a.attgenerated = '' AND t.relname <> 'schema_migrations' \
     ORDER BY t.relname, a.attnum";

/// How long to wait for a connection before giving up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many connections one daemon holds at most.
const CONNECTIONS: u32 = 8;

/// Nobody waits longer than this for us, nor we for anybody.
const SESSION: &str = "SET statement_timeout = '60s'; SET lock_timeout = '10s'; \
                       SET idle_in_transaction_session_timeout = '10s'";

/// Daemons take turns at changing tables, by a number that is ours, and may take their time over it.
const MIGRATION: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '2min'; \
                         SELECT pg_advisory_xact_lock(7233191804628113)";

/// A copy takes as long as it takes; only one that stands still is ended.
const COPYING: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// A database on a server.
pub(crate) struct Postgres {
    pool: PgPool,
}

impl Postgres {
    /// Connects once, to fail early and with the reason, and lets further connections come as they are needed.
    pub(crate) async fn open(options: PgConnectOptions) -> Result<Self, DbError> {
        let options = options.application_name("covenant").disable_statement_logging();
        let first = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options)).await;
        let first = first.map_err(|_| DbError::Unreachable("no answer within 5 s".into()))?;
        let closed = first.map_err(|error| DbError::Unreachable(spoken(&error)))?.close().await;
        closed?;
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
        let pool = pool.after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(SESSION).execute(connection).await.map(drop) })
        });
        Ok(Self { pool: pool.connect_lazy_with(options) })
    }

    pub(super) async fn query(&self, sql: Sql, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        let mut connection = self.pool.acquire().await?;
        query(&mut connection, sql, values).await
    }

    pub(super) async fn execute(&self, sql: Sql, values: Vec<Value>) -> Result<u64, DbError> {
        let mut connection = self.pool.acquire().await?;
        execute(&mut connection, sql, values).await
    }

    pub(super) async fn begin(&self, purpose: Purpose) -> Result<Transaction, DbError> {
        match purpose {
            Purpose::Work => {
                Ok(Transaction(self.pool.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE").await?))
            }
            Purpose::Append | Purpose::InTurn => {
                Ok(Transaction(self.pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?))
            }
            Purpose::Migration => {
                let mut tx = self.pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
                sqlx::raw_sql(MIGRATION).execute(&mut *tx).await?;
                Ok(Transaction(tx))
            }
            Purpose::Snapshot => self.begin_copying("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await,
            Purpose::Load => self.begin_copying("BEGIN ISOLATION LEVEL READ COMMITTED").await,
        }
    }

    async fn begin_copying(&self, begin: &'static str) -> Result<Transaction, DbError> {
        let mut tx = self.pool.begin_with(begin).await?;
        sqlx::raw_sql(COPYING).execute(&mut *tx).await?;
        Ok(Transaction(tx))
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A transaction on a connection of the pool.
pub(crate) struct Transaction(sqlx::Transaction<'static, sqlx::Postgres>);

impl Transaction {
    pub(super) async fn query(&mut self, sql: Sql, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        query(&mut self.0, sql, values).await
    }

    pub(super) async fn execute(&mut self, sql: Sql, values: Vec<Value>) -> Result<u64, DbError> {
        execute(&mut self.0, sql, values).await
    }

    pub(super) async fn batch(&mut self, sql: &'static str) -> Result<(), DbError> {
        sqlx::raw_sql(sql).execute(&mut *self.0).await?;
        Ok(())
    }

    pub(super) async fn commit(self) -> Result<(), DbError> {
        Ok(self.0.commit().await?)
    }
}

async fn query(connection: &mut PgConnection, sql: Sql, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
    let rows = bound(sql, values).fetch_all(connection).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let columns: Arc<[Box<str>]> = first.columns().iter().map(|column| Box::from(column.name())).collect();
    rows.iter()
        .map(|row| {
            let values = (0..row.len()).map(|index| read(row, index)).collect::<Result<_, _>>()?;
            Ok(Row { columns: Arc::clone(&columns), values })
        })
        .collect()
}

async fn execute(connection: &mut PgConnection, sql: Sql, values: Vec<Value>) -> Result<u64, DbError> {
    Ok(bound(sql, values).execute(connection).await?.rows_affected())
}

fn bound(sql: Sql, values: Vec<Value>) -> Query<'static, sqlx::Postgres, PgArguments> {
    // Texts of statements are ours; what comes from outside is only ever bound.
    values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, value| match value {
        Value::Null => query.bind(Untyped),
        Value::Int(number) => query.bind(number),
        Value::Real(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
        Value::Blob(bytes) => query.bind(bytes),
    })
}

/// A null whose type the server finds out from where it stands.
struct Untyped;

impl sqlx::Type<sqlx::Postgres> for Untyped {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for Untyped {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, sqlx::error::BoxDynError> {
        Ok(IsNull::Yes)
    }
}

fn read(row: &PgRow, index: usize) -> Result<Value, DbError> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    Ok(match raw.type_info().name() {
        "INT8" => Value::Int(row.try_get(index)?),
        "INT4" => Value::Int(row.try_get::<i32, _>(index)?.into()),
        "FLOAT8" => Value::Real(row.try_get(index)?),
        "TEXT" | "VARCHAR" | "NAME" => Value::Text(row.try_get(index)?),
        "BYTEA" => Value::Blob(row.try_get(index)?),
        other => {
            return Err(DbError::Failed(format!("a column has the type {other}, which is none of ours")));
        }
    })
}

/// What went wrong, in the server's words where it spoke; not where in its own source it says so.
fn spoken(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) if said.code().as_deref() == Some("42501") => format!(
            "{}; the role must be able to create tables there: make it the owner of the database (ALTER DATABASE … OWNER TO …)",
            said.message()
        ),
        sqlx::Error::Database(said) => said.message().to_owned(),
        other => other.to_string(),
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        let text = spoken(&error);
        match &error {
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => Self::Unreachable(text),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                Some("40001" | "40P01") => Self::Conflict(text),
                Some("23505") => Self::Duplicate(text),
                Some("55P03" | "57014") => Self::Busy(text),
                Some("53100") => Self::Full(text),
                Some("XX001" | "XX002") => Self::Damaged(text),
                Some(code) if ["08", "28", "3D", "53", "57"].iter().any(|class| code.starts_with(class)) => {
                    Self::Unreachable(text)
                }
                _ => Self::Failed(text),
            },
            _ => Self::Failed(text),
        }
    }
}
