//! Telegram: `sendMessage` of a bot. The token stands in the path of the address, so that no part of an address is
//! ever shown.

use std::time::Duration;

use covenant_model::secret::Secret;
use http::Method;
use serde_json::{Value, json};

use super::exchange::{Reply, Step, by_status, exchange, within};
use super::{Message, Target};
use crate::ports::Response;
use crate::service::{Service, json as body, text};

pub(super) const BASE: &str = "https://api.telegram.org";

const LIMIT: usize = 4096;

pub(super) async fn send(service: &Service, token: &Secret, message: &Message<'_>) -> Result<(), String> {
    within(service, message.text.chars().count(), LIMIT, "characters")?;
    let content = json!({"chat_id": chat(message.target)?, "text": message.text});
    let bot = format!("bot{}", token.reveal());
    let request = service.put(Method::POST, service.address(&[&bot, "sendMessage"]), &content);
    exchange(service, Step::Message, request, |response| read(service, message, response)).await
}

/// The chat a target means: a number, or the public name of a channel or group.
fn chat(target: Target<'_>) -> Result<Value, String> {
    let id = target.id();
    if let Ok(number) = id.parse::<i64>()
        && !id.starts_with('+')
    {
        return Ok(json!(number));
    }
    let public = id.strip_prefix('@').is_some_and(|name| {
        (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    });
    match target {
        Target::User(_) => Err(format!(
            "`{id}` is no id of a Telegram user: it is a number, and the user must have written to the bot first"
        )),
        _ if public => Ok(json!(id)),
        _ => {
            Err(format!("`{id}` is no Telegram chat: write its number, such as -1001234567890, or its @name"))
        }
    }
}

fn read(service: &Service, message: &Message<'_>, response: &Response) -> Reply<()> {
    let said = body(response).unwrap_or_default();
    if response.status == 429 {
        let wait = said.pointer("/parameters/retry_after").and_then(Value::as_u64);
        return Reply::Busy(wait.map(Duration::from_secs).or_else(|| service.wait(response)));
    }
    if let Some(reply) = by_status(service, response) {
        return reply;
    }
    match (response.status, said.get("ok").and_then(Value::as_bool)) {
        (200..=299, Some(true)) => Reply::Done(()),
        (200..=299, None) => Reply::Unsure(service.strange(response)),
        (_, None) => Reply::Refused(service.strange(response)),
        (status, _) => Reply::Refused(refusal(service, message, status, &said)),
    }
}

fn refusal(service: &Service, message: &Message<'_>, status: u16, said: &Value) -> String {
    let target = message.target.id();
    let reason = service.shown(text(said, "description"));
    if let Some(moved) = said.pointer("/parameters/migrate_to_chat_id").and_then(Value::as_i64) {
        return format!("the Telegram group `{target}` has a new id, {moved}: send to that one");
    }
    match status {
        // A bot that is not known is an address that is not there.
        401 | 404 => service.unaccepted(&reason),
        403 => format!(
            "the Telegram bot may not write to `{target}` ({reason}): a person must have written to it first, and it \
             must be a member of a group"
        ),
        _ if reason.contains("chat not found") => {
            format!(
                "Telegram knows no chat `{target}`, or the bot is not in it ({reason}): give the id of another"
            )
        }
        _ => format!("Telegram did not take the message for `{target}` ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Outcome, try_with};
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    async fn told(target: &str, status: u16, said: &str) -> Outcome {
        try_with(Provider::Telegram, target, "hi", [answer(status, &[], said)]).await
    }

    #[tokio::test]
    async fn a_message_goes_to_a_number_or_a_public_name() {
        for (target, chat) in [
            ("42", json!(42)),
            ("user:42", json!(42)),
            ("channel:-1001234567890", json!(-1_001_234_567_890_i64)),
            ("@the_news", json!("@the_news")),
        ] {
            let done = told(target, 200, r#"{"ok":true,"result":{"message_id":1}}"#).await;
            assert_eq!(done.result.unwrap(), format!("Message sent via team to {target}"));
            let [request] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
            assert_eq!(request.url.as_str(), "https://api.telegram.org/bottoken-of-the-team/sendMessage");
            assert_eq!(request.headers.get("authorization"), None);
            let content: Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(content, json!({"chat_id": chat, "text": "hi"}));
        }
    }

    #[tokio::test]
    async fn every_documented_error_is_a_sentence_without_the_token() {
        let unaccepted = "Telegram does not accept the token of [chat.team] (WHY): it is wrong, expired or revoked; get \
            a new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in [chat.team] takes";
        for (status, said, sentence) in [
            (401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#, &unaccepted.replace("WHY", "Unauthorized")),
            (404, r#"{"ok":false,"error_code":404,"description":"Not Found"}"#, &unaccepted.replace("WHY", "Not Found")),
            (
                400,
                r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#,
                &"Telegram knows no chat `42`, or the bot is not in it (Bad Request: chat not found): give the id of \
                  another"
                    .to_owned(),
            ),
            (
                403,
                r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#,
                &"the Telegram bot may not write to `42` (Forbidden: bot was blocked by the user): a person must have \
                  written to it first, and it must be a member of a group"
                    .to_owned(),
            ),
            (
                400,
                r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1009}}"#,
                &"the Telegram group `42` has a new id, -1009: send to that one".to_owned(),
            ),
            (
                400,
                r#"{"ok":false,"error_code":400,"description":"Bad Request: /bottoken-of-the-team/ is odd"}"#,
                &"Telegram did not take the message for `42` (Bad Request: /bot[REDACTED:token]/ is odd)".to_owned(),
            ),
            (
                429,
                r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 34","parameters":{"retry_after":34}}"#,
                &"Telegram takes no more messages from us for now; this one was not sent: try again in 34 seconds".to_owned(),
            ),
            (
                502,
                "<html>",
                &"Telegram failed (HTTP 502); whether the message arrived is not known: look there before it is sent \
                  again"
                    .to_owned(),
            ),
        ] {
            assert_eq!(told("42", status, said).await.result.unwrap_err(), *sentence);
        }
    }

    #[tokio::test]
    async fn a_failed_connection_says_nothing_of_the_address() {
        let why = "https://api.telegram.org/bottoken-of-the-team/sendMessage: connection refused";
        let said = try_with(Provider::Telegram, "42", "hi", [Err(why.to_owned())]).await;
        let said = said.result.unwrap_err();
        assert!(said.contains("[REDACTED:token]") && !said.contains("token-of-the-team"), "{said}");
    }

    #[tokio::test]
    async fn what_is_no_chat_or_too_long_is_refused_before_it_is_sent() {
        for target in ["general", "@", "@a b", "@a/../b", "+42", "9999999999999999999999", "1.5", "0x10"] {
            let refused = try_with(Provider::Telegram, target, "hi", []).await;
            assert!(refused.result.is_err() && refused.sent.is_empty(), "{target}");
        }
        let user = try_with(Provider::Telegram, "user:@ada", "hi", []).await;
        assert_eq!(
            user.result.unwrap_err(),
            "`@ada` is no id of a Telegram user: it is a number, and the user must have written to the bot first"
        );
        let long = try_with(Provider::Telegram, "42", &"ä".repeat(4097), []).await;
        assert_eq!(
            long.result.unwrap_err(),
            "the message has 4097 characters and Telegram takes at most 4096: shorten it or send it in parts"
        );
    }
}
