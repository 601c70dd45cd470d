//! A session of the older MCP over HTTP, as it is kept beyond the life of a daemon, and how many of them may be kept.

use crate::principal::Principal;
use crate::time::Timestamp;

/// How long the state of a session may be, in bytes.
pub const STATE_BYTES: usize = 64 * 1024;

/// A session as it is kept: everything but the id that its client shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// The SHA-256 of that id.
    pub id: [u8; 32],
    /// Whose it is.
    pub principal: Principal,
    /// JSON that only the face which speaks the protocol understands: at most [`STATE_BYTES`].
    pub state: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was last used.
    pub used_at: Timestamp,
}

/// How many sessions there may be when one more is opened, itself included. One always fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBounds {
    /// Of everybody.
    pub in_all: usize,
    /// Of the principal who opens it.
    pub per_principal: usize,
    /// One last used before this is over.
    pub idle_since: Timestamp,
}
