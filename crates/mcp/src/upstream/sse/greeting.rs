//! How the transport of 2024 begins: a stream of events whose first one names the place for messages.

use super::endpoint;
use crate::upstream::events::{Event, Events};
use crate::upstream::heard::QUOTE;
use crate::upstream::http::body::Kind;
use crate::upstream::http::is_success;
use crate::upstream::http::refusal::{self, Asked, failed};
use crate::upstream::http::way::Way;
use crate::upstream::ports::{Reply, ReplyBody};
use crate::upstream::wire::{Answer, Ear, WireError};

/// The place for messages, and the stream that named it.
pub(super) async fn heard(
    way: &Way,
    ear: &dyn Ear,
    limit: usize,
) -> Result<(String, Events, Box<dyn ReplyBody>), WireError> {
    let sent = way.get(None).await.map_err(|reason| WireError::Failed { status: None, reason })?;
    let reply = stream_of(way, ear, sent.reply).await?;
    let status = reply.status;
    let mut stream = reply.body;
    let mut events = Events::new(limit);
    while let Some(Ok(piece)) = stream.next().await {
        events.feed(piece);
        while let Some(event) = events.take() {
            if let Event::Whole { kind, data } = event
                && kind == "endpoint"
            {
                let place = endpoint::resolve(way.url(), &data, ear.scrub())
                    .map_err(|reason| failed(status, reason))?;
                return Ok((place, events, stream));
            }
        }
    }
    Err(failed(status, "closed its stream before it named a place for messages".to_owned()))
}

/// An answer that is a stream of events, or why it is none.
async fn stream_of(way: &Way, ear: &dyn Ear, reply: Reply) -> Result<Reply, WireError> {
    let status = reply.status;
    if !is_success(status) {
        let asked = Asked { method: "GET", id: None, url: way.url(), in_session: false };
        return Err(match refusal::read(reply, &asked, ear).await {
            Err(error) => error,
            Ok(Answer::Error(error)) => {
                let words = ear.scrub().quoted(&error.message, QUOTE);
                failed(status, format!("answered {status} to GET ({words})"))
            }
            Ok(Answer::Result(_)) => failed(status, format!("answered {status} to GET")),
        });
    }
    match Kind::of(&reply) {
        Kind::Events => Ok(reply),
        Kind::Json | Kind::Other(_) => {
            let reason = "answered GET with no stream of events: check `url` and `transport` in its entry";
            Err(failed(status, reason.to_owned()))
        }
    }
}
