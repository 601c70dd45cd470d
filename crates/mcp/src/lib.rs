//! MCP in both directions: JSON-RPC over raw JSON, in both eras of the protocol, on any byte stream.
//!
//! [`server::Session`] knows the protocol and no transport; [`serve`] carries it over lines; [`bridge`] is the other
//! end of that, between a client's standard streams and the daemon. Every decision is the gate's.
//! The other direction, to external servers, is [`upstream`] for one of them and [`fleet`] for all.

pub mod bridge;
pub mod connection;
pub mod era;
pub mod fleet;
pub mod framing;
pub mod headers;
pub mod http;
mod members;
pub mod message;
pub mod outlet;
pub mod params;
pub mod reply;
pub mod server;
mod trace;
pub mod upstream;

pub use connection::{Ended, Options, serve};
