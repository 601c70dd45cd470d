//! What carries messages to a server and back. It knows ids and nothing of what is asked.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::ports::Later;
use super::scrub::Scrub;
use crate::message::Id;

/// One message to a server, written once.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Its id, where an answer is wanted. Ids of one wire are never used twice.
    pub id: Option<u64>,
    /// What it asks for or says.
    pub method: &'static str,
    /// What it is about: `Mcp-Name` over HTTP.
    pub name: Option<String>,
    /// Arguments that stand in headers too, by the end of the header's name: `Mcp-Param-*` over HTTP, already encoded.
    pub arguments: Vec<(String, String)>,
    /// The whole JSON, in one line.
    pub body: Vec<u8>,
}

/// What a server answered.
#[derive(Debug)]
pub enum Answer {
    /// A result, as it wrote it.
    Result(Box<RawValue>),
    /// An error of the protocol.
    Error(RpcFailure),
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcFailure {
    /// Its code.
    pub code: i64,
    /// Its sentence.
    pub message: String,
    /// What it says beside.
    pub data: Option<Value>,
}

impl std::fmt::Display for RpcFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "answered with error {}: {}", self.code, self.message)
    }
}

/// Why there is no answer. Each is a clause that can follow the server's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The wire is gone, and every later letter with it.
    #[error("{0}")]
    Lost(Arc<str>),
    /// The server does not know this session any more. Nothing of the letter was done.
    #[error("no longer knows our session")]
    SessionLost,
    /// The answer was longer than may be read.
    #[error("answered with more than {0} bytes")]
    TooLarge(usize),
    /// This one letter failed: a status, a body that is no message, a stream that ended without the answer.
    #[error("{reason}")]
    Failed {
        /// The HTTP status, where there was one.
        status: Option<u16>,
        /// The clause.
        reason: String,
    },
}

/// Hears what a server says of itself.
pub trait Ear: Send + Sync {
    /// A notification. `about` is the id of the letter on whose stream it came, where the wire knows.
    fn notification(&self, method: &str, params: Option<&RawValue>, about: Option<u64>);
    /// A request of the server: the bytes of the answer, which the wire sends back.
    fn request(&self, id: &Id, method: &str, params: Option<&RawValue>) -> Vec<u8>;
    /// What makes the server's words such that they can be repeated.
    fn scrub(&self) -> &Scrub;
}

/// Carries messages.
pub trait Wire: Send + Sync + 'static {
    /// Sends a letter that has an id, and waits for its answer. To drop the future gives up waiting: what comes later is
    /// thrown away, and over HTTP the stream is closed.
    fn ask<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<Answer, WireError>>;

    /// Sends a letter that wants no answer.
    fn tell<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<(), WireError>>;

    /// From now on headers say that revision, but for an `initialize`, which says none. `modern` wires have no session.
    /// Called before a `server/discover` and after an `initialize`, before anything else is sent.
    fn agreed(&self, revision: &str, modern: bool);

    /// Opens what brings messages of the server that belong to no request, where the wire needs that (the `GET` of
    /// Streamable HTTP). It must not fail where a server has no such thing.
    fn listen(&self) {}

    /// Comes back when nothing can be asked any more, with the clause that says why.
    fn lost(&self) -> Later<'_, Arc<str>>;

    /// Comes back when the server has said that it does not know our session any more: every later letter would hear the
    /// same. A wire without sessions never does.
    fn forgotten(&self) -> Later<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// `stdio`, `http` or `sse`.
    fn transport(&self) -> &'static str;

    /// Ends it in order: the session, the stream, the program.
    fn close(&self) -> Later<'_, ()>;
}
