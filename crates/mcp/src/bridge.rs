//! `covenant --mcp`: a client's standard streams on one side, the daemon on the other, lines passed between them.
//!
//! Close to a pump. It knows only which requests are unanswered, so that it can answer for a daemon that dies,
//! hangs or cannot be reached, and what the client said when it opened, so that a new daemon hears it too.

mod handshake;
mod pump;
pub mod remote;
mod scan;
mod stdio;
mod told;
mod waiting;

use std::future::Future;
use std::io;
use std::time::Duration;

use covenant_model::envelope::{Envelope, sentence};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::message::Id;
use crate::reply::{INTERNAL_ERROR, RpcError, UNAUTHENTICATED, encode_error};
use pump::Pump;
pub use stdio::{Input, Output, stdio};
use waiting::Want;

/// The limits of a bridge.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long a request may stay unanswered; longer than the gate lets any call run.
    pub deadline: Duration,
    /// How long answers are waited for once the client has closed its side.
    pub farewell: Duration,
    /// After a failed connection, how long requests are refused without another try.
    pub pause: Duration,
    /// The most bytes of one line, either way; the daemon's own limit is lower.
    pub line_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(11),
            farewell: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            line_bytes: 64 * 1024 * 1024,
        }
    }
}

/// Why a bridge ended.
#[derive(Debug)]
pub enum ExitReason {
    /// The client closed its side and has its answers.
    InputClosed,
    /// The client closed its side; some answers did not come in time.
    Abandoned,
    /// The client reads no more.
    OutputClosed,
    /// The client's side broke.
    Failed(io::Error),
}

/// Why there is no daemon to speak to, and what to do: two clauses, the second of which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreached {
    code: i32,
    reason: String,
    action: String,
}

impl Unreached {
    /// There is no daemon, or it does not answer.
    pub fn silent(reason: impl Into<String>, action: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, reason: reason.into(), action: action.into() }
    }

    /// There is one, and it does not know the token.
    pub fn stranger(reason: impl Into<String>, action: impl Into<String>) -> Self {
        Self { code: UNAUTHENTICATED, reason: reason.into(), action: action.into() }
    }

    /// What is said of it to whoever waits. A call is answered as by its tool; that a token is not known, by nobody but us.
    fn answer(&self, id: &Id, want: Want) -> Vec<u8> {
        match want {
            Want::Call(era) if self.code == INTERNAL_ERROR => {
                let action = if self.action.is_empty() { "see `covenant doctor`" } else { &self.action };
                let envelope = Envelope::error(sentence(&self.reason), sentence(action));
                told::failed(id, era, &envelope).into_bytes()
            }
            _ => {
                let action =
                    if self.action.is_empty() { String::new() } else { format!("; {}", self.action) };
                let error = RpcError::new(self.code, format!("{}{action}", self.reason));
                let mut line = Vec::new();
                encode_error(Some(id), &error, &mut line);
                line
            }
        }
    }
}

/// Passes lines between a client and the daemon until the client goes.
///
/// `connect` reaches the daemon, starting it if it must.
pub async fn run<R, W, C, F, S>(input: R, output: W, connect: C, options: Options) -> ExitReason
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    C: FnMut() -> F,
    F: Future<Output = Result<S, Unreached>>,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut pump = Pump::new(input, output, connect, options);
    std::future::poll_fn(|cx| pump.poll(cx)).await
}

#[cfg(test)]
mod tests;
