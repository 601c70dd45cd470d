//! The other direction: one external server, spoken to by our own JSON-RPC over raw JSON, whatever carries it.
//!
//! A [`wire::Wire`] carries messages: lines of a program, POSTs, or a stream of events. A link speaks the protocol on it,
//! in either era: the handshake, lists, calls with their progress and cancellation.

pub mod ports;
pub mod wire;
