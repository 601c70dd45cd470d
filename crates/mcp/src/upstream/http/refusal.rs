//! What a status means that is no success: an error of the protocol, a lost session, or a clause for people.

use serde_json::Value;
use url::Url;

use super::body::{self, Kind};
use crate::reply::{INVALID_REQUEST, RATE_LIMITED};
use crate::upstream::heard::{QUOTE, hear};
use crate::upstream::ports::Reply;
use crate::upstream::scrub::{Held, Scrub};
use crate::upstream::wire::{Answer, Ear, RpcFailure, WireError};

/// What of it has to be known to read a refusal.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) id: Option<u64>,
    pub(crate) url: &'a str,
    /// Whether it was sent in a session.
    pub(crate) in_session: bool,
}

/// Reads an answer whose status is no success.
pub(crate) async fn read(reply: Reply, asked: &Asked<'_>, ear: &dyn Ear) -> Result<Answer, WireError> {
    let status = reply.status;
    if (300..400).contains(&status) {
        return Err(failed(status, redirect(asked.url, reply.header("location"), ear.scrub())));
    }
    if status == 404 && asked.in_session {
        body::let_go(reply.body);
        return Err(WireError::SessionLost);
    }
    let kind = Kind::of(&reply);
    let held = body::beginning(reply.body).await;
    let said = said(&kind, &held, ear.scrub());
    if matches!(status, 401 | 403) {
        let reason = format!("answered {status} to {}{said}: check `headers` in its entry", asked.method);
        return Err(failed(status, reason));
    }
    if kind == Kind::Json {
        if let Some(Answer::Error(error)) = hear(&held.bytes, ear, asked.id).answer {
            return Ok(Answer::Error(error));
        }
        if let Some(error) = nameless(&held.bytes, ear.scrub()) {
            // Many servers say so of a session that they do not know, and none of a request that they have read.
            let unread = matches!(i32::try_from(error.code), Ok(INVALID_REQUEST | RATE_LIMITED));
            let lost = status == 400 && asked.in_session && unread;
            return if lost { Err(WireError::SessionLost) } else { Ok(Answer::Error(error)) };
        }
    }
    Err(failed(status, format!("answered {status} to {}{said}", asked.method)))
}

/// An error of the protocol that names no request: its id is null, or not there.
pub(crate) fn nameless(bytes: &[u8], scrub: &Scrub) -> Option<RpcFailure> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if value.get("id").is_some_and(|id| !id.is_null()) {
        return None;
    }
    let error = value.get("error")?;
    let code = error.get("code")?.as_i64()?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = scrub.quoted(message, QUOTE);
    Some(RpcFailure { code, message, data: error.get("data").cloned() })
}

/// That letter failed, with that status.
pub(crate) fn failed(status: u16, reason: String) -> WireError {
    WireError::Failed { status: Some(status), reason }
}

/// Says where a redirect leads, as far as that is no secret.
fn redirect(url: &str, location: Option<&str>, scrub: &Scrub) -> String {
    let here = Url::parse(url).ok();
    let there = here.as_ref().and_then(|here| here.join(location?).ok());
    let place = match (here, there) {
        (Some(here), Some(there)) if here.origin() == there.origin() => {
            "another path of itself, perhaps one with or without a `/` at its end".to_owned()
        }
        // The name of a host has other letters than the secret that was made one.
        (_, Some(_)) if location.is_some_and(|location| scrub.finds(location)) => "another place".to_owned(),
        (_, Some(there)) => format!("another place, {}", there.origin().ascii_serialization()),
        (_, None) => "another place".to_owned(),
    };
    format!("redirects to {place}, which is not followed: write that URL into the entry")
}

/// What the server itself says of it, where that is a word for people.
fn said(kind: &Kind, held: &Held, scrub: &Scrub) -> String {
    let short = match kind {
        Kind::Json => {
            let value = serde_json::from_slice::<Value>(&held.bytes).ok();
            value.and_then(|value| sentence(&value)).map(|text| scrub.quoted(&text, QUOTE))
        }
        Kind::Other(name) if name.eq_ignore_ascii_case("text/plain") => Some(scrub.beginning(held, QUOTE)),
        Kind::Other(_) | Kind::Events => None,
    };
    let short = short.filter(|text| !text.is_empty());
    short.map(|text| format!(" ({text})")).unwrap_or_default()
}

/// The sentence in a body of an error: JSON-RPC's, OAuth's, and those of the usual frameworks.
pub(crate) fn sentence(value: &Value) -> Option<String> {
    let error = value.get("error");
    let inside = error.and_then(|error| error.get("message"));
    let known = [inside, value.get("error_description"), value.get("message"), value.get("detail"), error];
    known.into_iter().flatten().find_map(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::scrub::known;

    #[test]
    fn a_redirect_is_told_by_its_origin_alone() {
        let told = |location| redirect("http://127.0.0.1:1/mcp?key=hunter2", location, known::scrub());
        let other = told(Some("https://evil.example/steal?key=hunter2"));
        assert!(other.contains("https://evil.example,") && !other.contains("hunter2"), "{other}");
        for same in ["/mcp/", "mcp/", "?x", "http://127.0.0.1:1/mcp/hunter2"] {
            let told = told(Some(same));
            assert!(told.contains("another path of itself") && !told.contains("hunter2"), "{told}");
        }
        for none in [None, Some("http://["), Some("")] {
            assert!(told(none).ends_with("write that URL into the entry"));
        }
    }

    #[test]
    fn what_a_server_says_is_quoted_where_it_is_for_people() {
        let held = |text: &str| Held::of(text.as_bytes(), false);
        let json = |text: &str| said(&Kind::Json, &held(text), known::scrub());
        assert_eq!(json(r#"{"error":{"code":1,"message":"no"}}"#), " (no)");
        assert_eq!(json(r#"{"error":"invalid_token","error_description":"expired"}"#), " (expired)");
        assert_eq!(json(r#"{"error":"invalid_token"}"#), " (invalid_token)");
        assert_eq!(json(r#"{"detail":"Not Found"}"#), " (Not Found)");
        for nothing in ["", "[]", "7", r#"{"error":{}}"#, r#"{"message":"\n"}"#] {
            assert_eq!(json(nothing), "");
        }
        let other = |kind: &str, text: &str| said(&Kind::Other(kind.to_owned()), &held(text), known::scrub());
        assert_eq!(other("text/html", "<p>no</p>"), "");
        assert_eq!(other("Text/plain", "slow\n down"), " (slow down)");
    }
}
