//! The audit log: rows are chained and written before what they record takes effect.
//!
//! In files there is no writer thread on the path of a call: whoever comes first writes for all who wait (`combine`). A
//! second thread makes what was written durable and signs checkpoints (`sync`). In a database one task commits for all
//! who wait ([`sink`] is what it needs of one). Reading never asks the writer ([`read`], [`reading`]).

mod checkpoints;
mod claim;
mod combine;
mod database;
mod files;
mod lines;
mod log;
mod prune;
mod queue;
pub mod read;
pub mod reading;
mod recover;
mod replay;
mod segment;
pub mod sink;
mod sync;
mod writer;

pub use log::{AuditLog, Durability, Options};
pub use recover::{OpenError, Opened};

#[cfg(test)]
mod tests;
