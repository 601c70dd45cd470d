//! What a request brings: a bounded body within a bounded time, JSON that means one thing, a path, a query.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::{Bytes, BytesMut};
use covenant_model::json;
use http::StatusCode;
use http::header::{CONNECTION, HeaderValue};
use http::request::Parts;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep};

use super::reply::Failure;
use super::seats::{Awaited, Engaged};
use crate::daemon::Daemon;

/// How long a body may take to arrive, its turn included.
const PATIENCE: Duration = Duration::from_secs(30);

/// How large a body is that must wait for its turn.
const LARGE: usize = 64 * 1024;

/// How many large bodies are read at a time. What has come of others is at most [`LARGE`] each.
const AT_A_TIME: usize = 32;

/// Reads the bodies of a daemon's requests.
pub(crate) struct Bodies {
    large: Semaphore,
}

/// A JSON body.
pub(crate) struct Document<T>(pub(crate) T);

/// The variable segment of a path.
pub(crate) struct Segment(pub(crate) String);

/// The query of a request.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Document<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        let engaged = request.extensions().get::<Arc<Engaged>>().cloned();
        let limit = daemon.config().limits.request_bytes;
        let bytes = daemon.bodies.read(request.into_body(), limit, engaged.as_deref()).await?;
        parse(&bytes).map(Self)
    }
}

impl FromRequestParts<Arc<Daemon>> for Segment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        match Path::<String>::from_request_parts(parts, daemon).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => Err(Failure::malformed(rejection.body_text())),
        }
    }
}

impl<T: DeserializeOwned> FromRequestParts<Arc<Daemon>> for Asked<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        match Query::<T>::from_request_parts(parts, daemon).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(rejection) => {
                let text = rejection.body_text();
                let reason = text.rsplit_once("query string: ").map_or(text.as_str(), |(_, reason)| reason);
                Err(Failure::malformed(format!("the query cannot be used: {reason}")))
            }
        }
    }
}

impl Bodies {
    pub(crate) fn new() -> Self {
        Self { large: Semaphore::new(AT_A_TIME) }
    }

    /// The whole of a body, if it is small enough and arrives in time. Until it has, its connection keeps us waiting.
    pub(crate) async fn read<B>(
        &self,
        body: B,
        limit: usize,
        engaged: Option<&Engaged>,
    ) -> Result<Bytes, Failure>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
        B::Error: Into<axum::BoxError>,
    {
        if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(too_large(limit));
        }
        let awaited = engaged.map(Engaged::awaits);
        let mut gathering = pin!(self.gather(Limited::new(body, limit)));
        let (mut again, mut late) = (false, None::<Pin<Box<Sleep>>>);
        let gathered = poll_fn(|cx| {
            if let Poll::Ready(gathered) = gathering.as_mut().poll(cx) {
                return Poll::Ready(Some(gathered));
            }
            // What came with the head is there when we look again: for that no clock is set.
            if !std::mem::replace(&mut again, true) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            late.get_or_insert_with(|| Box::pin(sleep(PATIENCE))).as_mut().poll(cx).map(|()| None)
        })
        .await;
        match gathered {
            Some(Ok(bytes)) if awaited.is_none_or(Awaited::over) => Ok(bytes),
            Some(Ok(_)) => Err(too_slow("the request came when its connection had been given up")),
            Some(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
            Some(Err(error)) => Err(Failure::malformed(format!("the request could not be read: {error}"))),
            None => {
                Err(too_slow(&format!("the request did not arrive whole within {} s", PATIENCE.as_secs())))
            }
        }
    }

    /// The pieces of a body in one. They are copied: each is a view of a buffer of some kilobytes, which one who sends
    /// single bytes would have us keep for every byte.
    async fn gather<B>(&self, mut body: Limited<B>) -> Result<Bytes, axum::BoxError>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
        B::Error: Into<axum::BoxError>,
    {
        let (mut whole, mut turn) = (BytesMut::new(), None);
        loop {
            let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
            if turn.is_none() && whole.len().saturating_add(expected) > LARGE {
                // Rare, and large: out of the way of the others.
                turn = Some(Box::pin(self.large.acquire()).await?);
            }
            let Some(frame) = body.frame().await.transpose()? else { return Ok(whole.freeze()) };
            let Ok(piece) = frame.into_data() else { continue };
            if whole.is_empty() && body.is_end_stream() {
                return Ok(piece);
            }
            whole.extend_from_slice(&piece);
        }
    }
}

fn too_large(limit: usize) -> Failure {
    let message = format!("the request has more than {limit} bytes");
    let action = "send less, or raise [limits] request_bytes";
    closing(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, action))
}

fn too_slow(message: &str) -> Failure {
    closing(Failure::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message, "send it again"))
}

/// What was not read cannot be skipped: the connection ends with the answer.
fn closing(failure: Failure) -> Failure {
    failure.with(CONNECTION, HeaderValue::from_static("close"))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    json::check(bytes).map_err(|refused| Failure::malformed(format!("the JSON is refused: {refused}")))?;
    // A derived struct would also be read from a list of its members.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Failure::invalid("the JSON does not fit: an object is expected"));
    }
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Failure::invalid(format!("the JSON does not fit: {error}")),
        _ => Failure::malformed(format!("the body is not JSON: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::response::IntoResponse as _;
    use covenant_model::api::NewClient;

    use super::*;

    fn status(failure: Failure) -> StatusCode {
        failure.into_response().status()
    }

    #[test]
    fn malformed_json_is_400_and_json_of_another_shape_is_422() {
        let deep = "[".repeat(10_000);
        for text in ["{", "{\"name\":\"a\",}", "nul", r#"{"name":"a","name":"b"}"#, deep.as_str()] {
            assert_eq!(
                status(parse::<NewClient>(text.as_bytes()).unwrap_err()),
                StatusCode::BAD_REQUEST,
                "{text:.20}"
            );
        }
        for text in ["", "{}", r#"["a"]"#, r#"{"name":1}"#, r#"{"name":"a","nmae":"b"}"#, "[]"] {
            assert_eq!(
                status(parse::<NewClient>(text.as_bytes()).unwrap_err()),
                StatusCode::UNPROCESSABLE_ENTITY,
                "{text}"
            );
        }
        assert_eq!(parse::<NewClient>(br#"{"name":"a"}"#).unwrap().name, "a");
    }

    /// A body that says how long it is, or does not; has brought that much; and brings no more.
    struct Unfinished {
        says: u64,
        brings: Option<Bytes>,
    }

    impl http_body::Body for Unfinished {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            match self.brings.take() {
                Some(piece) => Poll::Ready(Some(Ok(http_body::Frame::data(piece)))),
                None => Poll::Pending,
            }
        }

        fn size_hint(&self) -> http_body::SizeHint {
            let mut hint = http_body::SizeHint::new();
            hint.set_lower(self.says);
            hint
        }
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_large_bodies_are_read_at_a_time_and_small_ones_pass_them() {
        const LIMIT: usize = 4 * LARGE;
        let large = || Body::from(vec![b'x'; LARGE + 1]);
        for (says, brings) in [(LARGE + 1, None), (0, Some(Bytes::from(vec![b'x'; LARGE + 1])))] {
            let bodies = Arc::new(Bodies::new());
            for _ in 0..AT_A_TIME {
                let (bodies, brings) = (Arc::clone(&bodies), brings.clone());
                let body = Unfinished { says: u64::try_from(says).unwrap(), brings };
                tokio::spawn(async move { bodies.read(body, LIMIT, None).await });
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            let begun = tokio::time::Instant::now();
            let small = bodies.read(Body::from(vec![b'x'; LARGE]), LIMIT, None).await.unwrap();
            assert_eq!((small.len(), begun.elapsed().as_secs()), (LARGE, 0), "a small one does not wait");
            let whole = bodies.read(large(), LIMIT, None).await.unwrap();
            assert_eq!(whole.len(), LARGE + 1);
            assert_eq!(
                begun.elapsed().as_secs(),
                20,
                "a large one does, until one of the others is given up"
            );
            bodies.read(large(), LIMIT, None).await.unwrap();
            assert_eq!(begun.elapsed().as_secs(), 20, "and leaves its place to the next");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_whose_turn_does_not_come_is_refused_after_the_same_time() {
        let bodies = Bodies::new();
        let _taken = bodies.large.acquire_many(u32::try_from(AT_A_TIME).unwrap()).await.unwrap();
        let begun = tokio::time::Instant::now();
        let refused = bodies.read(Body::from(vec![b'x'; LARGE + 1]), 4 * LARGE, None).await.unwrap_err();
        assert_eq!((status(refused), begun.elapsed().as_secs()), (StatusCode::REQUEST_TIMEOUT, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_over_the_limit_or_the_time_is_refused() {
        let bodies = Bodies::new();
        let long = bodies.read(Body::from(vec![b'x'; 11]), 10, None).await.unwrap_err();
        assert_eq!(status(long), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(bodies.read(Body::from(vec![b'x'; 10]), 10, None).await.unwrap().len(), 10);
        let pieces =
            || ["one ", "", "two"].map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        let body = || Body::from_stream(futures_util::stream::iter(pieces()));
        assert_eq!(bodies.read(body(), 7, None).await.unwrap(), "one two");
        assert_eq!(status(bodies.read(body(), 6, None).await.unwrap_err()), StatusCode::PAYLOAD_TOO_LARGE);
        let silent = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let begun = tokio::time::Instant::now();
        assert_eq!(status(bodies.read(silent, 10, None).await.unwrap_err()), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(begun.elapsed().as_secs(), 30);
    }
}
