//! Start child processes safely. Nothing else in the product calls `Command::new`.
//!
//! An [`order::Order`] says what to start. A [`nursery::Nursery`] starts it; a [`child::Child`] runs. A
//! [`report::Report`] says what held, an [`ending::Ending`] how it ended.

mod channel;
pub mod child;
mod control;
pub mod daemon;
mod drain;
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
pub mod ending;
pub mod environment;
mod fit;
pub mod interpreter;
mod keeper;
pub mod launch;
pub mod launcher;
pub mod ledger;
pub mod lines;
#[cfg(target_os = "linux")]
mod linux;
pub mod nursery;
pub mod order;
pub mod pipes;
pub mod report;
mod spawn;
mod sweep;
mod tail;
mod talk;
pub mod thrift;
mod trace;
mod wire;
