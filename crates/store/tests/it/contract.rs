//! What a contract is given, how it is run on both databases, and the things that several of them need.

mod approvals;
mod audit;
mod audit_chain;
mod audit_outage;
mod copy;
mod file;
mod grants;
mod intents;
mod intents_listed;
mod migrations;
mod people;
mod server;
mod sessions;
mod signin;
mod snapshot;
mod survival;
mod team;
mod team_calls;
mod team_claims;
mod team_contexts;
mod team_coordination;
mod team_decisions;
mod team_departed;
mod team_events;
mod team_law_looks;
mod team_laws;
mod team_messages;
mod team_names;
mod team_orphans;
mod team_property;
mod team_races;
mod team_seen;
mod team_sessions;
mod team_state;
mod team_windows;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covenant_model::id::RANDOM_BYTES;
use covenant_model::time::Timestamp;
use covenant_store::{OpenError, Store};
use sqlx::{Connection as _, Row as _};
use tempfile::TempDir;

use crate::postgres;

/// Runs each of these functions as a test on either database.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(crate::contract::Bench::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if let Some(bench) = crate::contract::Bench::postgres() {
                    super::$name(bench).await;
                }
            })+
        }
    };
}
pub(crate) use on_both;

/// An empty database, and a way to see and change it behind the store's back.
pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) home: TempDir,
}

impl Bench {
    pub(crate) fn sqlite() -> Self {
        Self { url: "sqlite:covenant.db".into(), home: tempfile::tempdir().unwrap() }
    }

    /// `None` where there is no server and that is no error.
    pub(crate) fn postgres() -> Option<Self> {
        let url = postgres::database().unwrap()?;
        Some(Self { url, home: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.url.starts_with("sqlite:")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.home.path().join("covenant.db")
    }

    pub(crate) async fn open(&self) -> Arc<Store> {
        self.try_open().await.unwrap()
    }

    pub(crate) async fn try_open(&self) -> Result<Arc<Store>, OpenError> {
        Store::open(&self.url, self.home.path()).await
    }

    /// Runs statements on a connection of its own.
    pub(crate) async fn raw(&self, sql: &str) {
        if self.is_sqlite() {
            rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap();
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
        }
    }

    /// The texts of one column, read on a connection of its own.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        if self.is_sqlite() {
            let connection = rusqlite::Connection::open(self.file()).unwrap();
            let mut statement = connection.prepare(sql).unwrap();
            let texts = statement.query_map([], |row| row.get(0)).unwrap();
            texts.map(Result::unwrap).collect()
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()));
            query.fetch_all(&mut connection).await.unwrap().iter().map(|row| row.get(0)).collect()
        }
    }

    /// One number, read on a connection of its own.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        if self.is_sqlite() {
            let connection = rusqlite::Connection::open(self.file()).unwrap();
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        } else {
            let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
            let query = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()));
            query.fetch_one(&mut connection).await.unwrap().get(0)
        }
    }
}

/// A moment of a day in 2026.
pub(crate) fn at(millis: u64) -> Timestamp {
    "2026-11-16".parse::<Timestamp>().unwrap().plus(Duration::from_millis(millis))
}

/// Bytes for an id: different for each number.
pub(crate) fn seed(number: u64) -> [u8; RANDOM_BYTES] {
    let mut bytes = [0; RANDOM_BYTES];
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Starts them all at once and gathers what they return.
pub(crate) async fn together<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    work: impl IntoIterator<Item = F>,
) -> Vec<T> {
    let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}
