//! Discord: a message in a channel, or in the direct channel with a user, which is opened first. A message notifies
//! nobody whom it merely mentions.

use http::Method;
use serde_json::{Value, json};

use super::exchange::{Reply, Step, by_status, exchange, within};
use super::{Message, Target};
use crate::ports::Response;
use crate::service::{Service, json as body, text};

pub(super) const BASE: &str = "https://discord.com/api/v10";

const LIMIT: usize = 2000;

pub(super) async fn send(service: &Service, message: &Message<'_>) -> Result<(), String> {
    within(service, message.text.chars().count(), LIMIT, "characters")?;
    let id = message.target.id();
    if id.len() > 20 || !id.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "`{id}` is no Discord id: an id is a number, such as 1024555555555555555 (Copy Channel ID, with developer \
             mode on)"
        ));
    }
    let channel = match message.target {
        Target::User(user) => direct(service, message, user).await?,
        Target::Channel(channel) | Target::Bare(channel) => channel.to_owned(),
    };
    let content = json!({"content": message.text, "allowed_mentions": {"parse": []}});
    let url = service.address(&["channels", &channel, "messages"]);
    let request = service.put(Method::POST, url, &content);
    exchange(service, Step::Message, request, |response| read(service, message, response).map(|_| ())).await
}

/// The channel in which that user reads us alone.
async fn direct(service: &Service, message: &Message<'_>, user: &str) -> Result<String, String> {
    let url = service.address(&["users", "@me", "channels"]);
    let request = service.put(Method::POST, url, &json!({"recipient_id": user}));
    exchange(service, Step::Before, request, |response| read(service, message, response)).await
}

/// The id of what was made.
fn read(service: &Service, message: &Message<'_>, response: &Response) -> Reply<String> {
    let said = body(response).unwrap_or_default();
    if response.status == 429 {
        let exact = said.get("retry_after").and_then(Value::as_f64);
        let exact = exact.and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok());
        return Reply::Busy(exact.or_else(|| service.wait(response)));
    }
    if let Some(reply) = by_status(service, response) {
        return reply;
    }
    match (response.status, text(&said, "id")) {
        (200..=299, id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => {
            Reply::Done(id.to_owned())
        }
        (200..=299, _) => Reply::Unsure(service.strange(response)),
        _ if !said.is_object() => Reply::Refused(service.strange(response)),
        (status, _) => Reply::Refused(refusal(service, message, status, &said)),
    }
}

fn refusal(service: &Service, message: &Message<'_>, status: u16, said: &Value) -> String {
    let target = message.target.id();
    let reason = service.shown(text(said, "message"));
    match (status, said.get("code").and_then(Value::as_u64).unwrap_or(0)) {
        (401, _) => service.unaccepted(&reason),
        (_, 50_001) => {
            format!(
                "the Discord bot has no access to `{target}` (50001): invite it to that server and channel"
            )
        }
        (_, 50_013) => format!(
            "the Discord bot may not write in `{target}` (50013): give it the permissions View Channel and Send Messages"
        ),
        (_, 50_007) => format!(
            "Discord lets nobody write to `{target}` from here (50007): that user must share a server with the bot and \
             allow direct messages"
        ),
        (_, 10_003) => format!("Discord knows no channel `{target}` (10003): give the id of a channel"),
        (_, 10_013) => format!("Discord knows no user `{target}` (10013): give the id of a user"),
        (_, code) => {
            let code = if code == 0 { format!("HTTP {status}") } else { code.to_string() };
            format!("Discord did not take the message for `{target}` ({code}): {reason}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Outcome, try_with};
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    async fn told(target: &str, status: u16, headers: &[&str], said: &str) -> Outcome {
        try_with(Provider::Discord, target, "hi", [answer(status, headers, said)]).await
    }

    fn content(request: &crate::ports::Request) -> Value {
        serde_json::from_slice(&request.body).unwrap()
    }

    #[tokio::test]
    async fn a_message_notifies_nobody_it_mentions() {
        let done =
            try_with(Provider::Discord, "channel:42", "@everyone hi", [answer(200, &[], r#"{"id":"7"}"#)])
                .await;
        assert_eq!(done.result.unwrap(), "Message sent via team to channel:42");
        let [request] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
        assert_eq!(request.url.as_str(), "https://discord.com/api/v10/channels/42/messages");
        assert_eq!(request.headers["authorization"], "Bot token-of-the-team");
        assert_eq!(content(request), json!({"content": "@everyone hi", "allowed_mentions": {"parse": []}}));
    }

    #[tokio::test]
    async fn a_user_is_written_to_in_a_channel_that_is_opened_first() {
        let answers = [answer(200, &[], r#"{"id":"99"}"#), answer(200, &[], r#"{"id":"7"}"#)];
        let done = try_with(Provider::Discord, "user:42", "hi", answers).await;
        assert_eq!(done.result.unwrap(), "Message sent via team to user:42");
        let [first, second] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
        assert_eq!(first.url.as_str(), "https://discord.com/api/v10/users/@me/channels");
        assert_eq!(content(first), json!({"recipient_id": "42"}));
        assert_eq!(second.url.as_str(), "https://discord.com/api/v10/channels/99/messages");
    }

    #[tokio::test]
    async fn the_channel_of_a_user_is_a_number_too() {
        for id in ["../../guilds/1", "99/messages", ""] {
            let said =
                told("user:42", 200, &["content-type: application/json"], &json!({"id": id}).to_string())
                    .await;
            assert_eq!(
                said.result.unwrap_err(),
                "discord.com did not answer as the API of Discord does (HTTP 200, application/json): check the address \
                 in [chat.team]; nothing was sent: try again later"
            );
            assert_eq!(said.sent.len(), 1);
        }
    }

    #[tokio::test]
    async fn every_documented_error_is_a_sentence() {
        for (status, said, sentence) in [
            (
                401,
                r#"{"message":"401: Unauthorized","code":0}"#,
                "Discord does not accept the token of [chat.team] (401: Unauthorized): it is wrong, expired or revoked; \
                 get a new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in \
                 [chat.team] takes",
            ),
            (
                403,
                r#"{"message":"Missing Access","code":50001}"#,
                "the Discord bot has no access to `42` (50001): invite it to that server and channel",
            ),
            (
                403,
                r#"{"message":"Missing Permissions","code":50013}"#,
                "the Discord bot may not write in `42` (50013): give it the permissions View Channel and Send Messages",
            ),
            (
                403,
                r#"{"message":"Cannot send messages to this user","code":50007}"#,
                "Discord lets nobody write to `42` from here (50007): that user must share a server with the bot and \
                 allow direct messages",
            ),
            (
                404,
                r#"{"message":"Unknown Channel","code":10003}"#,
                "Discord knows no channel `42` (10003): give the id of a channel",
            ),
            (
                404,
                r#"{"message":"Unknown User","code":10013}"#,
                "Discord knows no user `42` (10013): give the id of a user",
            ),
            (
                400,
                r#"{"message":"Invalid Form Body","code":50035,"errors":{}}"#,
                "Discord did not take the message for `42` (50035): Invalid Form Body",
            ),
            (
                404,
                r#"{"message":"404: Not Found","code":0}"#,
                "Discord did not take the message for `42` (HTTP 404): 404: Not Found",
            ),
            (
                403,
                "<html>blocked",
                "discord.com did not answer as the API of Discord does (HTTP 403, no content type): check the address \
                 in [chat.team]",
            ),
        ] {
            assert_eq!(told("42", status, &[], said).await.result.unwrap_err(), sentence);
        }
    }

    #[tokio::test]
    async fn a_limit_is_told_to_the_second() {
        let said = r#"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#;
        for (headers, said, seconds) in [
            (&["retry-after: 70"][..], said, 65),
            (&["retry-after: 70"], "<html>", 70),
            (&["retry-after: 70"], r#"{"retry_after":-1}"#, 70),
            (&["retry-after: 70"], r#"{"retry_after":1e300}"#, 70),
        ] {
            assert_eq!(
                told("42", 429, headers, said).await.result.unwrap_err(),
                format!(
                    "Discord takes no more messages from us for now; this one was not sent: try again in {seconds} \
                     seconds"
                )
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_id_or_too_long_is_refused_before_it_is_sent() {
        for id in ["general", "#general", "../42", "-1", "123456789012345678901", "4２"] {
            let refused = try_with(Provider::Discord, id, "hi", []).await;
            assert_eq!(
                refused.result.unwrap_err(),
                format!(
                    "`{id}` is no Discord id: an id is a number, such as 1024555555555555555 (Copy Channel ID, with \
                     developer mode on)"
                )
            );
            assert!(refused.sent.is_empty());
        }
        let long = try_with(Provider::Discord, "42", &"ä".repeat(2001), []).await;
        assert_eq!(
            long.result.unwrap_err(),
            "the message has 2001 characters and Discord takes at most 2000: shorten it or send it in parts"
        );
    }
}
