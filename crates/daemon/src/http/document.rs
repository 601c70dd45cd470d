//! What a request brings: a bounded body within a bounded time, JSON that means one thing, a path, a query.

use std::sync::Arc;
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

use super::reply::Failure;
use crate::daemon::Daemon;

/// How long a body may take to arrive.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Document<T>(pub(crate) T);

/// The variable segment of a path.
pub(crate) struct Segment(pub(crate) String);

/// The query of a request.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Document<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        let bytes = read(request.into_body(), daemon.config().limits.request_bytes, PATIENCE).await?;
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

/// The whole of a body, if it is small enough and arrives in time.
pub(crate) async fn read<B>(body: B, limit: usize, patience: Duration) -> Result<Bytes, Failure>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    let Ok(gathered) = tokio::time::timeout(patience, gather(Limited::new(body, limit))).await else {
        let message = format!("the request did not arrive whole within {} s", patience.as_secs());
        return Err(closing(Failure::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message, "send it again")));
    };
    match gathered {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("the request has more than {limit} bytes");
            let action = "send less, or raise [limits] request_bytes";
            Err(closing(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, action)))
        }
        Err(error) => Err(Failure::malformed(format!("the request could not be read: {error}"))),
    }
}

/// The pieces of a body in one. They are copied: each is a view of a buffer of some kilobytes, which one who sends single
/// bytes would have us keep for every byte.
async fn gather<B>(mut body: Limited<B>) -> Result<Bytes, axum::BoxError>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await.transpose()? {
        let Ok(piece) = frame.into_data() else { continue };
        if whole.is_empty() && body.is_end_stream() {
            return Ok(piece);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
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

    #[tokio::test]
    async fn a_body_over_the_limit_or_the_time_is_refused() {
        let long = read(Body::from(vec![b'x'; 11]), 10, PATIENCE).await.unwrap_err();
        assert_eq!(status(long), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(read(Body::from(vec![b'x'; 10]), 10, PATIENCE).await.unwrap().len(), 10);
        let pieces =
            ["one ", "", "two"].map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        let whole = read(Body::from_stream(futures_util::stream::iter(pieces)), 7, PATIENCE).await.unwrap();
        assert_eq!(whole, "one two");
        let silent = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(
            status(read(silent, 10, Duration::from_millis(1)).await.unwrap_err()),
            StatusCode::REQUEST_TIMEOUT
        );
    }
}
