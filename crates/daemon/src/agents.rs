//! Agents: what their manifests say, which of them there are, and whether the program of each can be run.

mod base58;
pub mod catalogue;
pub mod entry;
pub mod manifest;
mod order;
mod quarters;
pub(crate) mod roster;
