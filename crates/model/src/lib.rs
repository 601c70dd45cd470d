//! The words two or more crates share, and pure functions on them: no I/O, no clock, no randomness, no async.

pub mod action;
pub mod address;
pub mod api;
pub mod approval;
pub mod audit;
pub mod constraint;
pub mod envelope;
pub mod grant;
pub mod id;
pub mod intent;
pub mod json;
pub mod manifest;
pub mod note;
pub mod principal;
pub mod redact;
pub mod secret;
pub mod server;
pub mod session;
pub mod spelling;
pub mod team;
pub mod time;
pub mod token;
pub mod tool;
pub mod visible;

/// The version every surface reports: the crate's own.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
