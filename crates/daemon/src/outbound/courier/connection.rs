//! One connection: a request on it, and its answer piece by piece.
//!
//! It is driven by whoever waits for the answer, and by no task of its own: a task would cost a wake-up on each way.
//! While it is kept for the next request nobody looks at it, so it is looked at before that.

use std::future::poll_fn;
use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::outbound::KEPT;

/// The most bytes of an answer's head, and of what is read at once.
const BUFFER: usize = 256 * 1024;

/// How long a connection is kept where the server does not say: the shortest time that is usual is 5 s.
const UNSAID: Duration = Duration::from_secs(4);

/// How much earlier than the server we let go of one.
const EARLIER: Duration = Duration::from_secs(1);

/// A connection on which one request at a time is under way.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    inner: http1::Connection<TokioIo<TcpStream>, Full<Bytes>>,
    ended: bool,
    /// How long it may be kept after the last answer; none if not at all.
    keep: Option<Duration>,
    /// Until when it may be used again.
    until: Option<Instant>,
}

/// Why a request has no answer.
pub(super) enum Failed {
    /// Nothing of it was sent.
    Unsent,
    /// The connection closed before a byte of the answer came.
    Unanswered,
    /// Something else, as a clause.
    Other(String),
}

impl Connection {
    pub(super) async fn new(stream: TcpStream) -> Result<Self, String> {
        let mut builder = http1::Builder::new();
        let handshake = builder.max_buf_size(BUFFER).handshake(TokioIo::new(stream)).await;
        let (sender, inner) = handshake.map_err(|error| format!("could not be reached: {error}"))?;
        Ok(Self { sender, inner, ended: false, keep: None, until: None })
    }

    /// Sends a request, and waits for the head of the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failed> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let answer = poll_fn(|cx| {
            self.ended = self.ended || Pin::new(&mut self.inner).poll(cx).is_ready();
            answer.as_mut().poll(cx)
        });
        let answer = answer.await.map_err(|mut failed| match failed.take_message() {
            Some(_) => Failed::Unsent,
            None => told(&failed.into_error()),
        })?;
        self.keep = keeping(answer.headers());
        Ok(answer)
    }

    /// The next piece of the answer.
    pub(super) fn poll_piece(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, String>>> {
        loop {
            let mut frame = Pin::new(&mut *body).poll_frame(cx);
            if frame.is_pending() && !self.ended {
                self.drive(cx);
                frame = Pin::new(&mut *body).poll_frame(cx);
            }
            match ready!(frame) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(format!("broke off its answer: {error}")))),
                // What is no data are trailers, which tell us nothing.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }

    /// Its answer was read: whether it can be kept for the next request.
    pub(super) fn rest(&mut self, cx: &mut Context<'_>) -> bool {
        self.until = self.keep.and_then(|keep| Instant::now().checked_add(keep));
        self.is_usable(cx)
    }

    /// Whether the next request can be sent on it, as far as that can be known.
    pub(super) fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        if self.is_late(Instant::now()) {
            return false;
        }
        self.drive(cx);
        !self.ended && self.sender.is_ready()
    }

    /// Whether it was kept for as long as it may be.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// Reads and writes what can be.
    fn drive(&mut self, cx: &mut Context<'_>) {
        self.ended = self.ended || Pin::new(&mut self.inner).poll(cx).is_ready();
    }
}

fn told(error: &hyper::Error) -> Failed {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let reset =
        cause.is_some_and(|cause| matches!(cause.kind(), BrokenPipe | ConnectionAborted | ConnectionReset));
    if error.is_incomplete_message() || error.is_canceled() || reset {
        return Failed::Unanswered;
    }
    let what =
        if error.is_parse() { "answered with something that is not HTTP" } else { "broke the connection" };
    Failed::Other(format!("{what}: {error}"))
}

/// How long a connection may be kept after that answer.
fn keeping(headers: &HeaderMap) -> Option<Duration> {
    let header = headers.get("keep-alive").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = header.split(',').find_map(|part| part.trim().strip_prefix("timeout="));
    let Some(seconds) = seconds.and_then(|seconds| seconds.trim().parse().ok()) else { return Some(UNSAID) };
    let kept = Duration::from_secs(seconds).min(KEPT).checked_sub(EARLIER);
    kept.filter(|kept| !kept.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_let_go_before_the_server_does() {
        let kept = |header: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = header {
                headers.insert("keep-alive", value.parse().unwrap());
            }
            keeping(&headers).map(|kept| kept.as_secs())
        };
        assert_eq!(kept(None), Some(4));
        assert_eq!(kept(Some("timeout=5")), Some(4));
        assert_eq!(kept(Some("max=100, timeout=20")), Some(19));
        assert_eq!(kept(Some("timeout=1")), None);
        assert_eq!(kept(Some("timeout=0")), None);
        assert_eq!(kept(Some("timeout=99999999999")), Some(29));
        assert_eq!(kept(Some("timeout=soon")), Some(4));
    }
}
