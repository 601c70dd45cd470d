//! One connection: HTTP, one request after the other, until either side ends it, it dawdles, it must go, or we stop.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Request;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::eager::Eager;
use super::patient::Patient;
use super::seats::{Engaged, Seat};
use crate::shutdown::Stop;

/// How long the head of a request may take, and a connection may be silent.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long an answer that is whole may take to be sent when we stop.
const FLUSH: Duration = Duration::from_millis(100);

/// The most bytes the head of a request may have, and that are read at once: each connection can cost twice that.
const HEAD: usize = 32 * 1024;

/// A request that came when its connection had been sent away. It is not answered, and nothing was done about it.
#[derive(Debug, thiserror::Error)]
#[error("the connection was sent away")]
struct SentAway;

/// Waits for what comes before HTTP; `None` if the connection must go first.
pub(super) async fn before<T>(first: impl Future<Output = T>, seat: &Seat, stop: &Stop) -> Option<T> {
    tokio::select! {
        first = first => Some(first),
        () = seat.sent_away() => None,
        () = stop.closing.cancelled() => None,
    }
}

/// Speaks HTTP on that stream. Each request is answered with the seat engaged, until its answer has left whole.
pub(super) async fn serve<Io, A, F>(stream: Io, seat: Arc<Seat>, stop: &Stop, answer: A)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>, Arc<Engaged>) -> F,
    F: Future<Output = Response>,
{
    let service = service_fn(|request| {
        let engaged = seat.engage();
        let answered = engaged.clone().map(|engaged| answer(request, engaged));
        async move {
            let response = answered.ok_or(SentAway)?.await;
            Ok::<_, SentAway>(response.map(|body| Leaving { body, _engaged: engaged }))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    http.max_headers(100).max_header_size(HEAD).max_buf_size(HEAD);
    let stream = TokioIo::new(Patient::new(stream, PATIENCE, Arc::clone(&seat)));
    let mut served = pin!(http.serve_connection(stream, service).with_upgrades());
    let eager = Eager::new();
    let outcome = tokio::select! {
        outcome = poll_fn(|cx| {
            let polled = eager.poll(served.as_mut(), cx);
            if polled.is_ready() {
                // Nothing waits for it any more. What an upgrade makes of it has a patience of its own.
                seat.set_stalled(false);
            }
            seat.settle();
            polled
        }) => outcome,
        () = seat.sent_away() => return,
        () = stop.closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                outcome = served.as_mut() => outcome,
                () = stop.giving_up.cancelled() => return,
                () = quiet(&seat) => return,
            }
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(target: "covenant::http", "a connection ended early: {error}");
    }
}

/// Returns once nothing is being answered: a client that has sent half a request is not waited for.
async fn quiet(seat: &Seat) {
    loop {
        tokio::time::sleep(FLUSH).await;
        if !seat.is_engaged() {
            return;
        }
    }
}

/// The body of an answer, which holds the connection engaged until it has been handed over whole.
struct Leaving {
    body: Body,
    _engaged: Option<Arc<Engaged>>,
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
