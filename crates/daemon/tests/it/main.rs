//! The daemon from outside: started on a real home with real sockets, and asked over HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

mod admin;
mod anchor;
mod audit;
mod drain;
mod face;
mod follower;
mod house;
mod http;
mod keeper;
mod launcher;
mod lifecycle;
mod mcp;
#[path = "../../../../testkit/src/mcp.rs"]
pub mod mcp_client;
#[path = "../../../../testkit/src/postgres.rs"]
pub mod postgres;
mod runs;
mod servers;
mod sink;
mod telemetry;
#[path = "../../../../testkit/src/wait.rs"]
pub mod wait;
#[path = "../../../../testkit/src/wire.rs"]
pub mod wire;
