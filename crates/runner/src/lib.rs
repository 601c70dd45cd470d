//! Start child processes safely. Nothing else in the product calls `Command::new`.
//!
//! An [`order::Order`] says what to start. A [`report::Report`] says what held, an [`ending::Ending`] how it ended.

mod channel;
mod control;
pub mod daemon;
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
pub mod ending;
pub mod environment;
pub mod launcher;
#[cfg(target_os = "linux")]
mod linux;
pub mod order;
pub mod report;
mod spawn;
