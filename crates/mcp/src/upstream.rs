//! The other direction: one external server, spoken to by our own JSON-RPC over raw JSON, whatever carries it.
//!
//! A [`wire::Wire`] carries messages: lines of a program, POSTs, or a stream of events. A link speaks the protocol on it,
//! in either era: the handshake, lists, calls with their progress and cancellation.

pub mod dial;
pub(crate) mod events;
mod flood;
pub(crate) mod heard;
pub mod http;
pub mod inbound;
pub mod link;
mod pending;
pub mod ports;
pub mod scrub;
pub mod sse;
#[cfg(test)]
pub(crate) mod stage;
pub mod stdio;
pub mod wire;

#[cfg(target_os = "linux")]
#[cfg(test)]
pub(crate) mod tests;
