//! HTTP on the socket and on loopback: who may ask, what they may ask, and how every answer leaves.

pub(crate) mod api;
pub(crate) mod auth;
pub(crate) mod document;
pub(crate) mod guard;
pub(crate) mod mcp;
pub(crate) mod patient;
pub(crate) mod reply;
pub(crate) mod router;
pub(crate) mod serve;
pub(crate) mod upgrade;
