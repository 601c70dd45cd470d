//! What one incoming message is: a request, a notification, a response, or nothing the protocol knows.
//!
//! Members are kept as the text they came in; only what decides the kind is decoded here.

use std::borrow::Cow;
use std::fmt;

use covenant_model::json;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::reply::RpcError;

/// The most bytes of an id: it is kept while its request runs, and sent back.
const ID_BYTES: usize = 1024;

/// The id of a request, or a progress token: a string or an integer, as the text it was sent in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// Takes a JSON text that is a string or an integer.
    pub fn of(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        ((integer || text.starts_with('"')) && text.len() <= ID_BYTES).then(|| Self(text.into()))
    }

    /// For what the bridge asks itself: an id that its client has not, except by guessing.
    pub(crate) fn of_the_bridge() -> Self {
        // Without random bytes it is merely easier to guess.
        let random = u64::from_le_bytes(covenant_gate::random::bytes().unwrap_or_default());
        Self(format!("\"covenant-bridge-{random:016x}\"").into())
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One message of a client.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// It wants an answer.
    Request(Request<'a>),
    /// It wants none.
    Notification(Notification<'a>),
    /// It answers a request of ours.
    Response(Response<'a>),
}

/// A message that wants an answer.
#[derive(Debug)]
pub struct Request<'a> {
    /// What the answer must carry.
    pub id: Id,
    /// What is asked.
    pub method: Cow<'a, str>,
    /// The parameters: an object.
    pub params: Option<&'a RawValue>,
}

/// A message that wants no answer.
#[derive(Debug)]
pub struct Notification<'a> {
    /// What happened.
    pub method: Cow<'a, str>,
    /// The parameters: an object.
    pub params: Option<&'a RawValue>,
}

/// A message that answers.
#[derive(Debug)]
pub struct Response<'a> {
    /// Which request of ours, if it is one we could have sent.
    pub id: Option<Id>,
    /// What it answers: a result, or an error.
    pub answer: Result<&'a RawValue, &'a RawValue>,
}

/// A message that is refused before anyone asks what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// Its id, if that could be read.
    pub id: Option<Id>,
    /// What is wrong with it.
    pub error: RpcError,
}

/// The members of any message, where they stand in what was read.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) error: Option<&'a RawValue>,
}

/// A member that is there, also when it is `null`: an absent id and a null one are two things.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message.
pub fn read(bytes: &[u8]) -> Result<Incoming<'_>, Malformed> {
    let bad = |error| Malformed { id: None, error };
    let text = std::str::from_utf8(bytes).map_err(|_| bad(RpcError::parse("the message is not UTF-8")))?;
    json::check(bytes).map_err(|refused| bad(RpcError::parse(refused)))?;
    if !text.trim_start().starts_with('{') {
        return Err(bad(not_an_object(text)));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| bad(RpcError::parse(error)))?;
    let id = envelope.id.and_then(|id| Id::of(id.get()));
    classify(&envelope).map_err(|error| Malformed { id, error })
}

/// Says what a message is, for who only passes it on; `None` for what [`read`] would refuse, and for some of that
/// `Some` all the same: the receiver decides.
pub fn peek(bytes: &[u8]) -> Option<Incoming<'_>> {
    classify(&envelope(bytes)?).ok()
}

/// The id of a response, if that is what this is.
pub(crate) fn answered(bytes: &[u8]) -> Option<Id> {
    let envelope = envelope(bytes)?;
    if envelope.method.is_some() {
        return None;
    }
    envelope.id.and_then(|id| Id::of(id.get()))
}

fn envelope(bytes: &[u8]) -> Option<Envelope<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn not_an_object(text: &str) -> RpcError {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) => RpcError::parse(error),
        Ok(_) if text.trim_start().starts_with('[') => {
            RpcError::invalid_request("batches are not taken: send each message on its own")
        }
        Ok(_) => RpcError::invalid_request("a message is a JSON object"),
    }
}

fn classify<'a>(envelope: &Envelope<'a>) -> Result<Incoming<'a>, RpcError> {
    let version = envelope.jsonrpc.map(RawValue::get);
    if version != Some(r#""2.0""#) {
        return Err(RpcError::invalid_request(r#"`jsonrpc` must be "2.0""#));
    }
    let Some(method) = envelope.method else {
        let answer = match (envelope.result, envelope.error) {
            (Some(result), None) => Ok(result),
            (_, Some(error)) => Err(error),
            (None, None) => return Err(RpcError::invalid_request("`method` is missing")),
        };
        let id = envelope.id.and_then(|id| Id::of(id.get()));
        return Ok(Incoming::Response(Response { id, answer }));
    };
    let method = text(method).ok_or_else(|| RpcError::invalid_request("`method` must be a string"))?;
    let params = envelope.params;
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(RpcError::invalid_request("`params` must be an object"));
    }
    let Some(id) = envelope.id else { return Ok(Incoming::Notification(Notification { method, params })) };
    let id = Id::of(id.get()).ok_or_else(|| {
        RpcError::invalid_request(format_args!(
            "`id` must be a string or an integer of at most {ID_BYTES} bytes"
        ))
    })?;
    Ok(Incoming::Request(Request { id, method, params }))
}

/// A JSON string, borrowed where it holds no escape.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inside))
    }
}

#[cfg(test)]
mod tests;
