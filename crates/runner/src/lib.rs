//! Start child processes safely. Nothing else in the product calls `Command::new`.
//!
//! An [`order::Order`] says what to start. A [`report::Report`] says what held, an [`ending::Ending`] how it ended.

mod control;
pub mod daemon;
pub mod ending;
pub mod environment;
pub mod interpreter;
pub mod order;
pub mod report;
mod spawn;
