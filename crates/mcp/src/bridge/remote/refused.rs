//! What a status means that is no success: an error of the protocol, an answer of the team's tools, a lost session, or
//! words for people.

use covenant_model::envelope::Envelope;
use serde_json::Value;
use url::Url;

use super::road::Road;
use super::session::Open;
use super::sorting::{self, Message, messages};
use super::trouble::{Refused, Trouble};
use crate::message::Id;
use crate::reply::{INVALID_REQUEST, RATE_LIMITED};
use crate::upstream::heard::QUOTE;
use crate::upstream::http::body::{self, Kind};
use crate::upstream::http::refusal::sentence;
use crate::upstream::ports::Reply;

/// The longest pause that an origin can ask for.
const LONGEST_WAIT: u32 = 86_400;

/// Reads an answer whose status is no success.
pub(super) async fn refused(reply: Reply, id: &Id, session: Option<&Open>, road: &Road) -> Trouble {
    let status = reply.status;
    if (300..400).contains(&status) {
        let place = elsewhere(reply.header("location"), road);
        body::let_go(reply.body);
        return Trouble::Redirected(place);
    }
    let in_session = session.is_some_and(|session| session.id.is_some());
    if status == 404 && in_session {
        body::let_go(reply.body);
        return Trouble::SessionLost;
    }
    let wait = reply.header("retry-after").and_then(|text| text.trim().parse().ok());
    let wait = wait.map(|seconds: u32| seconds.min(LONGEST_WAIT));
    let kind = Kind::of(&reply);
    let held = body::beginning(reply.body).await;
    let mut refused = Refused { status, wait, ..Refused::default() };
    match kind {
        Kind::Other(name) if name.eq_ignore_ascii_case("text/plain") => {
            refused.said = Some(road.scrub.beginning(&held, QUOTE)).filter(|said| !said.is_empty());
        }
        Kind::Other(name) if !name.to_ascii_lowercase().ends_with("json") => {}
        Kind::Events => {}
        Kind::Json | Kind::Other(_) => {
            if let Some(error) = protocol_error(&held.bytes, id) {
                // Many servers say so of a session that they do not know, and none of a request that they have read.
                let unread = matches!(code(&error), Some(INVALID_REQUEST | RATE_LIMITED));
                let lost = status == 400 && in_session && unread;
                return if lost { Trouble::SessionLost } else { Trouble::Error(error) };
            }
            if let Some(envelope) = enveloped(&held.bytes) {
                return Trouble::Enveloped(envelope, false);
            }
            let value: Value = serde_json::from_slice(&held.bytes).unwrap_or_default();
            let quoted = |text: String| road.scrub.quoted(&text, QUOTE);
            refused.said = sentence(&value).map(quoted).filter(|said| !said.is_empty());
            let action = value.pointer("/error/action").and_then(Value::as_str).map(str::to_owned);
            refused.action = action.map(quoted).filter(|action| !action.is_empty());
        }
    }
    Trouble::Refused(refused)
}

/// An answer in the shape of the team's tools, with whatever else is in it.
pub(super) fn enveloped(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Envelope>(bytes).ok()?;
    serde_json::from_slice(bytes).ok()
}

/// The error of JSON-RPC for that request, or for nobody.
fn protocol_error(bytes: &[u8], id: &Id) -> Option<String> {
    messages(bytes, Some(id))?.into_iter().find_map(|message| match message {
        Message::Answer(line) => sorting::error(&line),
        Message::Nameless(error) => Some(error).filter(|error| code(error).is_some()),
        Message::Said(_) => None,
    })
}

fn code(error: &str) -> Option<i32> {
    let error: Value = serde_json::from_str(error).ok()?;
    error.get("code")?.as_i64()?.try_into().ok()
}

/// Where a redirect leads, as far as that is no secret.
fn elsewhere(location: Option<&str>, road: &Road) -> String {
    let here = Url::parse(road.origin()).ok();
    let there = here.and_then(|here| here.join(location?).ok());
    match there {
        Some(there) if !location.is_some_and(|location| road.scrub.finds(location)) => {
            format!("a place at {}", there.origin().ascii_serialization())
        }
        _ => "another place".to_owned(),
    }
}
