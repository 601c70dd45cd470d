//! The bodies of answers: what kind they are, how much is read of them, and what becomes of the rest.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::timeout;

use crate::upstream::ports::{Reply, ReplyBody};
use crate::upstream::scrub::Held;
use crate::upstream::wire::WireError;

/// The most bytes that are read only so that a connection can be kept.
const REST: usize = 64 * 1024;

/// How long is waited for them.
const LINGER: Duration = Duration::from_secs(1);

/// What a body is, by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// JSON; also where nothing is said.
    Json,
    /// A stream of events.
    Events,
    /// Something else, by its name, as the server wrote it.
    Other(String),
}

impl Kind {
    pub(crate) fn of(reply: &Reply) -> Self {
        let Some(header) = reply.header("content-type") else { return Self::Json };
        let name = header.split(';').next().unwrap_or_default().trim();
        match name.to_ascii_lowercase().as_str() {
            "application/json" | "" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other(name.to_owned()),
        }
    }
}

/// Reads all of it, if that is no more than the limit.
pub(crate) async fn whole(reply: Reply, limit: usize) -> Result<Vec<u8>, WireError> {
    let announced = reply.header("content-length").and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(WireError::TooLarge(limit));
    }
    let status = reply.status;
    let mut body = reply.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|reason| WireError::Failed { status: Some(status), reason })?;
        if bytes.len() + piece.len() > limit {
            return Err(WireError::TooLarge(limit));
        }
        if bytes.is_empty() {
            bytes = piece;
        } else {
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes)
}

/// Reads a little of it, for a clause: what does not come is not waited for long.
pub(crate) async fn beginning(mut body: Box<dyn ReplyBody>) -> Held {
    let mut held = Held { bytes: Vec::new(), goes_on: true };
    let reading = async {
        while let Some(Ok(piece)) = body.next().await {
            let room = REST - held.bytes.len();
            held.bytes.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if piece.len() > room {
                return;
            }
        }
        held.goes_on = false;
    };
    drop(timeout(LINGER, reading).await);
    held
}

/// Reads what is left, so that the connection can be kept, unless that is much.
pub(crate) async fn drain(mut body: Box<dyn ReplyBody>) {
    let mut read = 0;
    while let Some(Ok(piece)) = body.next().await {
        read += piece.len();
        if read > REST {
            return;
        }
    }
}

/// The answer came: what is left is read beside, if it comes soon.
pub(crate) fn let_go(mut body: Box<dyn ReplyBody>) {
    // Mostly the end is here already.
    for _ in 0..4 {
        match body.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(None | Some(Err(_))) => return,
            None => break,
        }
    }
    tokio::spawn(async move { drop(timeout(LINGER, drain(body)).await) });
}
