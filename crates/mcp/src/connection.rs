//! MCP over a stream of bytes, one message per line, all of it in one task: no hop between threads.
//!
//! What is here is only when to read, when to stop reading, what is under way, and when to end.

mod desk;
mod mailbox;
pub(crate) mod output;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use covenant_gate::{Credential, Gate};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::framing::{Filled, Line, Lines};
use desk::Desk;
use output::Broken;

/// The limits of one connection.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most bytes of one message.
    pub request_bytes: usize,
    /// How many requests may be under way; as many again may wait.
    pub in_flight: usize,
    /// With more than that waiting to be sent, nothing more is read.
    pub unsent_bytes: usize,
    /// How long a client may leave everything unread, or a message unfinished.
    pub patience: Duration,
    /// Ends the connection, once what is under way is answered.
    pub stop: CancellationToken,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            request_bytes: 4 * 1024 * 1024,
            in_flight: 64,
            unsent_bytes: 256 * 1024,
            patience: Duration::from_secs(30),
            stop: CancellationToken::new(),
        }
    }
}

/// Why a connection ended.
#[derive(Debug)]
pub enum Ended {
    /// The client closed it.
    Closed,
    /// We were told to stop.
    Stopped,
    /// The client read nothing for too long, or stopped in the middle of a message.
    Stalled,
    /// The stream broke.
    Failed(io::Error),
}

/// Serves one client until it goes, stops reading, or we stop.
pub async fn serve<Io>(io: Io, gate: Arc<Gate>, credential: Credential, options: Options) -> Ended
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = Connection {
        io,
        lines: Lines::new(options.request_bytes),
        // A token of its own: connections do not meet at the lock of the shared one.
        stop: Box::pin(options.stop.child_token().cancelled_owned()),
        desk: Desk::new(gate, credential, options),
        ending: None,
        reachable: true,
        unfinished: None,
    };
    std::future::poll_fn(|cx| connection.poll(cx)).await
}

struct Connection<Io> {
    io: Io,
    lines: Lines,
    desk: Desk,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Nothing more is read; what is under way is seen to its end.
    ending: Option<Ended>,
    /// The client can still be written to.
    reachable: bool,
    /// Runs while a message is unfinished and nothing more of it comes.
    unfinished: Option<Pin<Box<Sleep>>>,
}

impl<Io: AsyncRead + AsyncWrite + Unpin> Connection<Io> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        self.desk.wake_by(cx.waker());
        if self.ending.is_none() && self.stop.as_mut().poll(cx).is_ready() {
            self.desk.end_subscriptions();
            self.ending = Some(Ended::Stopped);
        }
        loop {
            self.desk.poll_calls(cx);
            self.poll_read(cx);
            self.desk.poll_changes(cx);
            let held_back = self.desk.must_wait();
            self.poll_write(cx);
            if !held_back || self.desk.must_wait() {
                break;
            }
        }
        if !self.desk.is_idle() || (self.reachable && !self.desk.output.is_empty()) {
            return Poll::Pending;
        }
        self.ending.take().map_or(Poll::Pending, Poll::Ready)
    }

    /// Reads and serves lines while there is room for what they cause.
    fn poll_read(&mut self, cx: &mut Context<'_>) {
        while self.ending.is_none() && !self.desk.must_wait() {
            match self.lines.take() {
                Some(Line::Whole(line)) => {
                    self.desk.line(line, cx);
                    continue;
                }
                Some(Line::TooLong) => {
                    self.desk.too_long();
                    continue;
                }
                None => {}
            }
            match self.lines.poll_fill(cx, Pin::new(&mut self.io)) {
                Poll::Pending => return self.poll_unfinished(cx),
                Poll::Ready(Ok(Filled::More)) => self.unfinished = None,
                Poll::Ready(Ok(Filled::Finished)) => {
                    if let Some(Line::Whole(line)) = self.lines.rest() {
                        self.desk.line(line, cx);
                    }
                    self.close(Ended::Closed);
                }
                Poll::Ready(Err(error)) => self.close(Ended::Failed(error)),
            }
        }
    }

    /// Half a message and then silence: not waited for, and not held, for ever.
    fn poll_unfinished(&mut self, cx: &mut Context<'_>) {
        if !self.lines.is_unfinished() {
            self.unfinished = None;
            return;
        }
        let patience = self.desk.patience();
        let waiting = self.unfinished.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if waiting.as_mut().poll(cx).is_ready() {
            tracing::warn!(target: "mcp", "closed a connection whose client stopped in the middle of a message");
            self.close(Ended::Stalled);
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) {
        self.desk.deliver();
        if !self.reachable {
            return;
        }
        let broken = match self.desk.output.poll_send(cx, Pin::new(&mut self.io)) {
            Poll::Pending | Poll::Ready(Ok(())) => return,
            Poll::Ready(Err(broken)) => broken,
        };
        self.reachable = false;
        self.close(match broken {
            Broken::Stalled => {
                tracing::warn!(target: "mcp", "closed a connection whose client reads nothing");
                Ended::Stalled
            }
            Broken::Failed(error) => Ended::Failed(error),
        });
    }

    /// The client is gone: what it asked for is taken back, and ends with its rows written.
    fn close(&mut self, why: Ended) {
        self.desk.abandon();
        self.ending.get_or_insert(why);
    }
}
