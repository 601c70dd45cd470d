//! HTTP on the socket and on the ports: who may ask, what they may ask, and how every answer leaves.

pub(crate) mod api;
pub(crate) mod approval;
pub(crate) mod auth;
mod connection;
mod cookie;
pub(crate) mod document;
mod eager;
pub(crate) mod guard;
mod line;
pub(crate) mod mcp;
pub(crate) mod openapi;
pub(crate) mod patient;
pub(crate) mod reply;
pub(crate) mod router;
mod seats;
pub(crate) mod serve;
pub(crate) mod signin;
pub(crate) mod upgrade;
pub(crate) mod via;
