//! Everything callable that runs in our own process, or in a child of it. What a call may do is decided in `gate`, never
//! here.

pub mod agent;
mod apart;
pub mod calendar;
mod chat;
pub mod covibe;
pub mod files;
pub mod git;
mod github;
pub mod library;
pub mod memory;
pub mod native;
pub mod note;
pub mod page;
pub mod ports;
pub mod recall;
pub mod script;
mod service;
pub mod settings;
mod unfit;
pub mod vault;
mod workspace;

pub use native::{Absent, Parts, native, plain};
pub use unfit::unfit;
