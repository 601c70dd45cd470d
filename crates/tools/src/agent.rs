//! Agents: each is a tool of its own, behind the same gate as any other. Read `dispatch.rs` first: it is the way of an intent.

pub mod account;
mod case;
mod contract;
pub mod desk;
pub mod dispatch;
pub mod ports;
mod queue;
pub mod remember;
pub mod route;
mod voice;
