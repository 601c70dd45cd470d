//! One external server, spoken to: the handshake of its era, its tools, calls with their progress and cancellation.
//!
//! A link is written once for both eras and every wire. What a server says passes as it wrote it.

mod call;
mod ear;
mod handshake;
mod letters;
mod lists;
mod subscription;

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::context::Context;
use covenant_gate::registry::HeaderArgument;
use covenant_model::server::EraChoice;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;

#[cfg(test)]
pub(in crate::upstream) use self::call::checked;
pub use self::ear::LinkEar;
use self::handshake::Agreed;
use self::subscription::Subscription;
use super::wire::{Answer, Letter, RpcFailure, Wire, WireError};
use crate::era::Era;

/// A server that answered the handshake.
pub struct Link {
    wire: Arc<dyn Wire>,
    ear: Arc<LinkEar>,
    agreed: Agreed,
    /// Kept while the link is: in the modern era changes are told only to who listens.
    subscription: Option<Subscription>,
}

/// A call of a tool.
#[derive(Clone, Copy)]
pub struct ToolCall<'a> {
    /// The tool, as the server calls it.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Map<String, Value>,
    /// Which of them stand in headers too.
    pub headers: &'a [HeaderArgument],
    /// Whose call it is: hears progress, cancels, has a trace.
    pub context: &'a Context,
    /// How long the server may be silent.
    pub idle: Duration,
    /// How long it may take in all.
    pub total: Duration,
}

/// Why a server could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotOpened {
    /// A clause that can follow the server's name.
    pub reason: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// What kind of failure it was.
    pub kind: Failure,
}

/// How a server failed to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It answered, with something else.
    Refused,
    /// It did not answer that question in time.
    Late(&'static str),
    /// Nobody was there to be asked.
    Unreached,
    /// The wire was lost.
    Lost {
        /// By the question which era it speaks: a new one, in the legacy era, may do.
        probing: bool,
    },
}

/// Why there is no result. Each is a clause that can follow the server's name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// There is no answer.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It answered with an error of the protocol.
    #[error("{0}")]
    Rpc(RpcFailure),
    /// It was silent for that long.
    #[error("said nothing for {}", shown(*.0))]
    Idle(Duration),
    /// It took longer than that.
    #[error("did not finish within {}", shown(*.0))]
    Total(Duration),
    /// The call was taken back.
    #[error("was told that the call is cancelled")]
    Cancelled,
    /// It answered with something that is no result of what was asked.
    #[error("{0}")]
    NotAResult(String),
}

impl Link {
    /// Asks a server which era it speaks, or takes the one that is given, and does what that era begins with.
    pub async fn open(
        wire: Arc<dyn Wire>,
        ear: Arc<LinkEar>,
        era: EraChoice,
        within: Duration,
    ) -> Result<Self, NotOpened> {
        let agreed = handshake::agree(wire.as_ref(), &ear, era, within).await?;
        let listens = agreed.era == Era::Modern && agreed.announces;
        let subscription = listens.then(|| Subscription::start(Arc::clone(&wire), Arc::clone(&ear)));
        Ok(Self { wire, ear, agreed, subscription })
    }

    /// Which era it speaks: legacy or modern.
    pub fn era(&self) -> EraChoice {
        match self.agreed.era {
            Era::Legacy => EraChoice::Legacy,
            Era::Modern => EraChoice::Modern,
        }
    }

    /// Which revision of the protocol.
    pub fn revision(&self) -> &str {
        &self.agreed.revision
    }

    /// All its tools, each as it wrote it, in one line.
    pub async fn tools(&self, within: Duration) -> Result<Vec<Box<RawValue>>, LinkError> {
        tokio::time::timeout(within, self.list()).await.unwrap_or(Err(LinkError::Total(within)))
    }

    /// Calls a tool: the result as the server wrote it, in one line.
    pub async fn call(&self, call: ToolCall<'_>) -> Result<Box<RawValue>, LinkError> {
        self.run(call).await
    }

    /// Grows each time the server says that its tools changed.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.ear.changed()
    }

    /// Comes back when nothing can be asked any more, with the clause that says why.
    pub async fn lost(&self) -> Arc<str> {
        self.wire.lost().await
    }

    /// Comes back when it has said that it does not know our session any more.
    pub async fn forgotten(&self) {
        self.wire.forgotten().await;
    }

    /// `stdio`, `http` or `sse`.
    pub fn transport(&self) -> &'static str {
        self.wire.transport()
    }

    /// Ends it in order.
    pub async fn close(&self) {
        if let Some(subscription) = &self.subscription {
            subscription.stop();
        }
        self.wire.close().await;
    }

    /// The result of a letter.
    async fn result(&self, letter: &Letter) -> Result<Box<RawValue>, LinkError> {
        match self.wire.ask(letter).await? {
            Answer::Result(raw) => Ok(raw),
            Answer::Error(failure) => Err(LinkError::Rpc(failure)),
        }
    }
}

/// A time as people say it.
fn shown(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

/// The same JSON in one line: what a server spreads over several must not become several messages further on. Line
/// feeds stand between values only.
fn in_one_line(raw: Box<RawValue>) -> Box<RawValue> {
    if memchr::memchr2(b'\n', b'\r', raw.get().as_bytes()).is_none() {
        return raw;
    }
    let text = raw.get().replace(['\n', '\r'], " ");
    RawValue::from_string(text).unwrap_or(raw)
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;
