//! Answers that are streams of events: of a call that speaks before it ends, and of a client that listens.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use covenant_mcp::reply::Answer;
use covenant_mcp::server::subscriptions::{Change, Watch};
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Frame;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::letters::{Letters, event};
use super::underway::Underway;

/// How often a quiet stream shows that it is alive, to proxies and to whoever left.
const ALIVE: Duration = Duration::from_secs(15);

/// An event that says nothing.
const NOTHING: &[u8] = b": \n\n";

/// The events of one call, its answer last.
pub(crate) struct Call {
    underway: Option<Underway>,
    answer: Option<Answer>,
    letters: Arc<Letters>,
    alive: Pin<Box<Sleep>>,
}

impl Call {
    pub(crate) fn new(underway: Underway, letters: Arc<Letters>) -> Self {
        Self { underway: Some(underway), answer: None, letters, alive: Box::pin(tokio::time::sleep(ALIVE)) }
    }

    /// Of a call that has ended already.
    pub(crate) fn ended(answer: Answer, letters: Arc<Letters>) -> Self {
        Self { underway: None, answer: Some(answer), letters, alive: Box::pin(tokio::time::sleep(ALIVE)) }
    }
}

impl http_body::Body for Call {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes: Bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        if let Some(underway) = &mut self.underway
            && let Poll::Ready(answer) = underway.poll(cx)
        {
            (self.underway, self.answer) = (None, Some(answer));
        }
        if let Some(answer) = self.answer.take() {
            // What it said comes before its answer.
            let mut out = self.letters.poll_take(cx).map(Vec::from).unwrap_or_default();
            let mut message = Vec::new();
            answer.encode(&mut message);
            if !message.is_empty() {
                event(&message, &mut out);
            }
            return if out.is_empty() { Poll::Ready(None) } else { frame(out.into()) };
        }
        if self.underway.is_none() {
            return Poll::Ready(None);
        }
        if let Some(said) = self.letters.poll_take(cx) {
            return frame(said);
        }
        if self.alive.as_mut().poll(cx).is_ready() {
            self.alive = Box::pin(tokio::time::sleep(ALIVE));
            let _ = self.alive.as_mut().poll(cx);
            return frame(Bytes::from_static(NOTHING));
        }
        Poll::Pending
    }
}

/// What a listener is sent.
pub(crate) struct Listening<F, L> {
    /// The first message.
    pub(crate) first: Option<Vec<u8>>,
    /// The messages for a change.
    pub(crate) changed: F,
    /// The last message, when we end it.
    pub(crate) last: L,
    /// Ends it in good order.
    pub(crate) closing: CancellationToken,
    /// Ends it at once: another took its place, or its session is over.
    pub(crate) over: CancellationToken,
}

/// The events of one listener, until either side ends it or the listener is no longer known.
pub(crate) fn listen<F, L, Held>(watch: Watch, listening: Listening<F, L>, held: Held) -> Response
where
    F: Fn(&Change) -> Vec<Vec<u8>> + Send + 'static,
    L: FnOnce() -> Option<Vec<u8>> + Send + 'static,
    Held: Send + 'static,
{
    let Listening { first, changed, last, closing, over } = listening;
    let begin = (watch, Some((last, first)), changed, held);
    let events = futures_util::stream::unfold(begin, move |(mut watch, mut rest, changed, held)| {
        let (closing, over) = (closing.clone(), over.clone());
        async move {
            let (last, first) = rest.take()?;
            if let Some(first) = first {
                return Some((encoded([first]), (watch, Some((last, None)), changed, held)));
            }
            loop {
                tokio::select! {
                    biased;
                    () = over.cancelled() => return None,
                    () = closing.cancelled() => {
                        let message = last()?;
                        return Some((encoded([message]), (watch, None, changed, held)));
                    }
                    change = watch.next() => {
                        let messages = changed(&change?);
                        if !messages.is_empty() {
                            return Some((encoded(messages), (watch, Some((last, None)), changed, held)));
                        }
                    }
                    () = tokio::time::sleep(ALIVE) => {
                        return Some((Bytes::from_static(NOTHING), (watch, Some((last, None)), changed, held)));
                    }
                }
            }
        }
    });
    let frames = futures_util::StreamExt::map(events, |bytes| Ok::<_, Infallible>(Frame::data(bytes)));
    response(UnsyncBoxBody::new(http_body_util::StreamBody::new(frames)))
}

fn encoded(messages: impl IntoIterator<Item = Vec<u8>>) -> Bytes {
    let mut out = Vec::new();
    for message in messages {
        event(&message, &mut out);
    }
    out.into()
}

/// An answer that is a stream of events.
pub(crate) fn response<B>(body: B) -> Response
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that collects a stream before it passes it on makes it useless.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
