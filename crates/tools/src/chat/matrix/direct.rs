//! The room that is shared with one person: found among those the account keeps, or made once and kept.

use http::Method;
use serde_json::{Map, Value, json};

use super::{address, ask, read, sound};
use crate::chat::exchange::{Reply, Step, exchange};
use crate::ports::Response;
use crate::service::{Service, json as body, text};

/// The room with that person.
pub(super) async fn room(service: &Service, person: &str) -> Result<String, String> {
    let me =
        ask(service, Step::Before, service.get(address(service, &["account", "whoami"])), person).await?;
    let me = text(&me, "user_id").to_owned();
    if !me.starts_with('@') {
        return Err(format!("{} did not say who we are there; nothing was sent", service.host()));
    }
    let mut kept = kept(service, &me, person).await?;
    let rooms = kept.get(person).and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(room) = joined(service, person, &rooms).await? {
        return Ok(room);
    }
    let made = make(service, person).await?;
    kept.insert(person.to_owned(), Value::Array([rooms, vec![json!(made)]].concat()));
    keep(service, &me, person, kept).await;
    Ok(made)
}

/// The rooms that are shared with one person each, as the account keeps them.
async fn kept(service: &Service, me: &str, person: &str) -> Result<Map<String, Value>, String> {
    let request = service.get(address(service, &["user", me, "account_data", "m.direct"]));
    let nothing_yet = |response: &Response| {
        response.status == 404 && body(response).is_some_and(|said| text(&said, "errcode") == "M_NOT_FOUND")
    };
    let said = exchange(service, Step::Before, request, |response| {
        if nothing_yet(response) { Reply::Done(Value::Null) } else { read(service, person, response) }
    });
    Ok(match said.await? {
        Value::Object(kept) => kept,
        _ => Map::new(),
    })
}

/// The newest of these rooms that we are still in.
async fn joined(service: &Service, person: &str, rooms: &[Value]) -> Result<Option<String>, String> {
    if rooms.is_empty() {
        return Ok(None);
    }
    let request = service.get(address(service, &["joined_rooms"]));
    let said = ask(service, Step::Before, request, person).await?;
    let joined = said.get("joined_rooms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let room = rooms.iter().rev().find(|room| joined.contains(room)).and_then(Value::as_str);
    room.map(|room| sound(service, room.to_owned())).transpose()
}

async fn make(service: &Service, person: &str) -> Result<String, String> {
    let wanted = json!({"is_direct": true, "invite": [person], "preset": "trusted_private_chat"});
    let request = service.put(Method::POST, address(service, &["createRoom"]), &wanted);
    let said = ask(service, Step::Before, request, person).await?;
    sound(service, text(&said, "room_id").to_owned())
}

/// Keeps them. A message is not lost because that failed: the next one to this person would make another room.
async fn keep(service: &Service, me: &str, person: &str, kept: Map<String, Value>) {
    let url = address(service, &["user", me, "account_data", "m.direct"]);
    let request = service.put(Method::PUT, url, &Value::Object(kept));
    if let Err(why) = ask(service, Step::Before, request, person).await {
        tracing::warn!(section = service.section, why, "the room with a person was made, but not kept");
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::try_with;
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    const ME: &str = r#"{"user_id":"@bot:x"}"#;
    const DONE: &str = r#"{"event_id":"$1"}"#;
    const NOTHING: &str = r#"{"errcode":"M_NOT_FOUND","error":"none"}"#;

    fn asked(sent: &[crate::ports::Request]) -> Vec<String> {
        let path = |path: &str| path.trim_start_matches("/_matrix/client/v3/").to_owned();
        sent.iter().map(|request| format!("{} {}", request.method, path(request.url.path()))).collect()
    }

    #[tokio::test]
    async fn a_person_is_written_to_in_the_room_that_is_shared_already() {
        let answers = [
            answer(200, &[], ME),
            answer(200, &[], r#"{"@ada:x":["!old:x","!now:x","!left:x"],"@bob:x":["!b:x"]}"#),
            answer(200, &[], r#"{"joined_rooms":["!old:x","!now:x","!b:x"]}"#),
            answer(200, &[], DONE),
        ];
        let done = try_with(Provider::Matrix, "user:@ada:x", "hi", answers).await;
        assert_eq!(done.result.unwrap(), "Message sent via team to user:@ada:x");
        assert_eq!(
            asked(&done.sent),
            [
                "GET account/whoami",
                "GET user/@bot:x/account_data/m.direct",
                "GET joined_rooms",
                "PUT rooms/!now:x/send/m.room.message/call-1"
            ]
        );
    }

    #[tokio::test]
    async fn a_room_is_made_once_and_kept_beside_the_others() {
        for (before, after) in [
            (answer(404, &[], NOTHING), json!({"@ada:x": ["!new:x"]})),
            (answer(200, &[], r#"{"@bob:x":["!b:x"]}"#), json!({"@ada:x": ["!new:x"], "@bob:x": ["!b:x"]})),
        ] {
            let answers = [
                answer(200, &[], ME),
                before,
                answer(200, &[], r#"{"room_id":"!new:x"}"#),
                answer(200, &[], "{}"),
                answer(200, &[], DONE),
            ];
            let done = try_with(Provider::Matrix, "@ada:x", "hi", answers).await;
            assert!(done.result.is_ok());
            let [_, _, made, kept, message] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
            let wanted: Value = serde_json::from_slice(&made.body).unwrap();
            assert_eq!(
                wanted,
                json!({"is_direct": true, "invite": ["@ada:x"], "preset": "trusted_private_chat"})
            );
            assert_eq!(serde_json::from_slice::<Value>(&kept.body).unwrap(), after);
            assert!(message.url.path().ends_with("/rooms/!new:x/send/m.room.message/call-1"));
        }
    }

    #[tokio::test]
    async fn a_room_that_cannot_be_kept_is_still_written_to() {
        let answers = [
            answer(200, &[], ME),
            answer(404, &[], NOTHING),
            answer(200, &[], r#"{"room_id":"!new:x"}"#),
            answer(500, &[], ""),
            answer(200, &[], DONE),
        ];
        assert!(try_with(Provider::Matrix, "@ada:x", "hi", answers).await.result.is_ok());
    }

    #[tokio::test]
    async fn a_person_who_cannot_be_invited_gets_nothing() {
        let answers = [
            answer(200, &[], ME),
            answer(404, &[], NOTHING),
            answer(403, &[], r#"{"errcode":"M_FORBIDDEN","error":"not invited"}"#),
        ];
        let refused = try_with(Provider::Matrix, "@ada:x", "hi", answers).await;
        assert_eq!(
            refused.result.unwrap_err(),
            "the Matrix account may not write to `@ada:x` (M_FORBIDDEN: not invited): invite it there, and let it join"
        );
        assert_eq!(refused.sent.len(), 3);
    }
}
