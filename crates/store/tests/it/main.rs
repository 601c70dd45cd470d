//! One contract suite, two databases: every contract runs on an `SQLite` file and on a private `PostgreSQL`.

#[cfg(test)]
mod contract;
#[path = "../../../../testkit/src/postgres.rs"]
pub mod postgres;
