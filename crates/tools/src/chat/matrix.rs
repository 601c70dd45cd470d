//! Matrix: an event in a room. A room is named by its id, its alias, or the person with whom it is shared. The call's
//! own id is the transaction's, so that a server would know a repetition.

mod direct;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::exchange::{Reply, Step, by_status, exchange, within};
use super::{Message, Target};
use crate::ports::{Request, Response};
use crate::service::{Service, json as body, text};

/// An event has at most 65,536 bytes, and the server adds some of its own.
const LIMIT: usize = 60_000;

pub(super) async fn send(service: &Service, message: &Message<'_>) -> Result<(), String> {
    // Nobody is notified whom it merely mentions.
    let content = json!({"msgtype": "m.text", "body": message.text, "m.mentions": {}});
    within(service, content.to_string().len(), LIMIT, "bytes as an event")?;
    let room = room(service, message.target).await?;
    let url = address(service, &["rooms", &room, "send", "m.room.message", message.id]);
    let request = service.put(Method::PUT, url, &content);
    ask(service, Step::Message, request, message.target.id()).await.map(|_| ())
}

/// The room a target means.
async fn room(service: &Service, target: Target<'_>) -> Result<String, String> {
    let id = target.id();
    match (target, id.chars().next()) {
        (Target::Channel(_) | Target::Bare(_), Some('!')) => Ok(id.to_owned()),
        (Target::Channel(_) | Target::Bare(_), Some('#')) => {
            let request = service.get(address(service, &["directory", "room", id]));
            let said = ask(service, Step::Before, request, id).await?;
            Ok(text(&said, "room_id").to_owned()).and_then(|room| sound(service, room))
        }
        (Target::User(_) | Target::Bare(_), Some('@')) => direct::room(service, id).await,
        _ => Err(format!(
            "`{id}` is no Matrix address: write a room as `channel:!id:server` or `channel:#alias:server`, a person as \
             `user:@name:server`"
        )),
    }
}

/// A room that a server named.
fn sound(service: &Service, room: String) -> Result<String, String> {
    if room.starts_with('!') {
        return Ok(room);
    }
    Err(format!(
        "{} named no room; nothing was sent: check the address in [{}]",
        service.host(),
        service.section
    ))
}

fn address(service: &Service, segments: &[&str]) -> url::Url {
    service.address(&[&["_matrix", "client", "v3"], segments].concat())
}

/// One request about that target, and the object it is answered with.
async fn ask(service: &Service, step: Step, request: Request, target: &str) -> Result<Value, String> {
    exchange(service, step, request, |response| read(service, target, response)).await
}

fn read(service: &Service, target: &str, response: &Response) -> Reply<Value> {
    let said = body(response).filter(Value::is_object);
    let code = said.as_ref().map(|said| text(said, "errcode")).unwrap_or_default();
    if response.status == 429 || code == "M_LIMIT_EXCEEDED" {
        let millis = said.as_ref().and_then(|said| said.get("retry_after_ms")).and_then(Value::as_u64);
        return Reply::Busy(service.wait(response).or(millis.map(Duration::from_millis)));
    }
    if let Some(reply) = by_status(service, response) {
        return reply;
    }
    match (response.status, said) {
        (200..=299, Some(said)) => Reply::Done(said),
        (200..=299, None) => Reply::Unsure(service.strange(response)),
        (_, Some(said)) if !text(&said, "errcode").is_empty() => {
            Reply::Refused(refusal(service, target, &said))
        }
        _ => Reply::Refused(service.strange(response)),
    }
}

fn refusal(service: &Service, target: &str, said: &Value) -> String {
    let reason = service.shown(text(said, "error"));
    match text(said, "errcode") {
        code @ ("M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_USER_DEACTIVATED") => service.unaccepted(code),
        "M_FORBIDDEN" => format!(
            "the Matrix account may not write to `{target}` (M_FORBIDDEN: {reason}): invite it there, and let it join"
        ),
        "M_NOT_FOUND" => {
            format!("the homeserver knows no `{target}` (M_NOT_FOUND: {reason}): check how it is written")
        }
        "M_TOO_LARGE" => format!("the message is too long for {} (M_TOO_LARGE): shorten it", service.host()),
        code => {
            let code = service.shown(code);
            format!("Matrix did not take the message for `{target}` ({code}: {reason})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Outcome, try_with};
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    const DONE: &str = r#"{"event_id":"$1"}"#;

    async fn told(target: &str, status: u16, headers: &[&str], said: &str) -> Outcome {
        try_with(Provider::Matrix, target, "hi", [answer(status, headers, said)]).await
    }

    #[tokio::test]
    async fn a_message_is_an_event_under_the_id_of_its_call() {
        let done = told("channel:!a/b?c#d:example.org", 200, &[], DONE).await;
        assert_eq!(done.result.unwrap(), "Message sent via team to channel:!a/b?c#d:example.org");
        let [request] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
        assert_eq!(request.method, "PUT");
        assert_eq!(
            request.url.as_str(),
            "https://matrix.example/_matrix/client/v3/rooms/!a%2Fb%3Fc%23d:example.org/send/m.room.message/call-1"
        );
        assert_eq!(request.headers["authorization"], "Bearer token-of-the-team");
        let content: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(content, json!({"msgtype": "m.text", "body": "hi", "m.mentions": {}}));
    }

    #[tokio::test]
    async fn an_alias_is_looked_up_first() {
        let answers =
            [answer(200, &[], r#"{"room_id":"!r:example.org","servers":[]}"#), answer(200, &[], DONE)];
        let done = try_with(Provider::Matrix, "#all:example.org", "hi", answers).await;
        assert!(done.result.is_ok());
        let urls: Vec<&str> = done.sent.iter().map(|request| request.url.path()).collect();
        assert_eq!(
            urls,
            [
                "/_matrix/client/v3/directory/room/%23all:example.org",
                "/_matrix/client/v3/rooms/!r:example.org/send/m.room.message/call-1"
            ]
        );
        let strange = told("#all:example.org", 200, &[], r#"{"room_id":"../../x"}"#).await;
        assert_eq!(
            strange.result.unwrap_err(),
            "matrix.example named no room; nothing was sent: check the address in [chat.team]"
        );
        assert_eq!(strange.sent.len(), 1);
    }

    #[tokio::test]
    async fn every_documented_error_is_a_sentence() {
        let unaccepted = "Matrix does not accept the token of [chat.team] (M_UNKNOWN_TOKEN): it is wrong, expired or \
            revoked; get a new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in \
            [chat.team] takes";
        for (status, said, sentence) in [
            (401, r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Unrecognised","soft_logout":true}"#, unaccepted),
            (
                403,
                r#"{"errcode":"M_FORBIDDEN","error":"User not in room"}"#,
                "the Matrix account may not write to `!r:x` (M_FORBIDDEN: User not in room): invite it there, and let it \
                 join",
            ),
            (
                404,
                r#"{"errcode":"M_NOT_FOUND","error":"No room"}"#,
                "the homeserver knows no `!r:x` (M_NOT_FOUND: No room): check how it is written",
            ),
            (
                413,
                r#"{"errcode":"M_TOO_LARGE","error":"event too large"}"#,
                "the message is too long for matrix.example (M_TOO_LARGE): shorten it",
            ),
            (
                400,
                r#"{"errcode":"M_BAD_JSON","error":"token-of-the-team"}"#,
                "Matrix did not take the message for `!r:x` (M_BAD_JSON: [REDACTED:token])",
            ),
            (
                404,
                "<html>",
                "matrix.example did not answer as the API of Matrix does (HTTP 404, no content type): check the address \
                 in [chat.team]",
            ),
            (
                502,
                "<html>",
                "Matrix failed (HTTP 502); whether the message arrived is not known: look there before it is sent again",
            ),
        ] {
            assert_eq!(told("!r:x", status, &[], said).await.result.unwrap_err(), sentence);
        }
    }

    #[tokio::test]
    async fn a_limit_is_told_and_a_repetition_has_the_same_id() {
        let limited = |millis: u32| {
            json!({"errcode": "M_LIMIT_EXCEEDED", "error": "slow", "retry_after_ms": millis}).to_string()
        };
        let busy = "Matrix takes no more messages from us for now; this one was not sent: try again in SECONDS seconds";
        for (headers, seconds) in [(&["retry-after: 30"][..], "30"), (&[], "12")] {
            let said = told("!r:x", 429, headers, &limited(11_500)).await;
            assert_eq!(said.result.unwrap_err(), busy.replace("SECONDS", seconds));
        }
        let answers = [answer(429, &[], &limited(5)), answer(200, &[], DONE)];
        let done = try_with(Provider::Matrix, "!r:x", "hi", answers).await;
        assert!(done.result.is_ok());
        let [first, second] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
        assert_eq!(first.url, second.url);
    }

    #[tokio::test]
    async fn what_is_no_address_or_too_long_is_refused_before_it_is_sent() {
        for target in ["general", "channel:@ada:x", "user:!r:x", "user:#a:x", "..", "$event"] {
            let refused = try_with(Provider::Matrix, target, "hi", []).await;
            let said = refused.result.unwrap_err();
            assert!(said.contains("is no Matrix address: write a room as"), "{said}");
            assert!(refused.sent.is_empty());
        }
        let long = try_with(Provider::Matrix, "!r:x", &"\"".repeat(30_000), []).await;
        assert_eq!(
            long.result.unwrap_err(),
            "the message has 60046 bytes as an event and Matrix takes at most 60000: shorten it or send it in parts"
        );
    }
}
