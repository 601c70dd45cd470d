//! Slack: `chat.postMessage`. A person's id is a channel there too. The text arrives as it was written: what Slack
//! would read as a command to notify everybody is escaped.

use http::Method;
use serde_json::{Value, json};

use super::Message;
use super::exchange::{Reply, Step, by_status, exchange, within};
use crate::ports::Response;
use crate::service::{Service, json as body, text};

pub(super) const BASE: &str = "https://slack.com/api";

/// What is longer is cut there, and nobody is told.
const LIMIT: usize = 40_000;

pub(super) async fn send(service: &Service, message: &Message<'_>) -> Result<(), String> {
    let escaped = escaped(message.text);
    within(service, escaped.chars().count(), LIMIT, "characters (`&`, `<` and `>` count as 4 or 5)")?;
    let content = json!({"channel": message.target.id(), "text": escaped});
    let request = service.put(Method::POST, service.address(&["chat.postMessage"]), &content);
    exchange(service, Step::Message, request, |response| read(service, message, response)).await
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn read(service: &Service, message: &Message<'_>, response: &Response) -> Reply<()> {
    if let Some(reply) = by_status(service, response) {
        return reply;
    }
    let Some(said) = body(response).filter(|said| said.get("ok").is_some_and(Value::is_boolean)) else {
        return Reply::Unsure(service.strange(response));
    };
    if said.get("ok") == Some(&Value::Bool(true)) {
        return Reply::Done(());
    }
    match text(&said, "error") {
        "ratelimited" | "rate_limited" => Reply::Busy(service.wait(response)),
        error @ ("fatal_error" | "internal_error" | "request_timeout") => {
            Reply::Unsure(format!("Slack failed ({error})"))
        }
        error => Reply::Refused(refusal(service, message, error, &said)),
    }
}

fn refusal(service: &Service, message: &Message<'_>, error: &str, said: &Value) -> String {
    let target = message.target.id();
    match error {
        "invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired" => {
            service.unaccepted(error)
        }
        "missing_scope" => format!(
            "the token of [{}] lacks the scope `{}` (missing_scope): add it to the Slack app and install the app again",
            service.section,
            service.shown(text(said, "needed"))
        ),
        "channel_not_found" => format!(
            "Slack knows no `{target}`, or the app may not see it (channel_not_found): give the id of a channel (C…) or \
             a member (U…), and invite the app to a private channel"
        ),
        "not_in_channel" => format!(
            "the Slack app is not in `{target}` (not_in_channel): invite it there, or give it the scope \
             `chat:write.public`"
        ),
        "is_archived" => format!("the Slack channel `{target}` is archived (is_archived): name another"),
        "msg_too_long" => "the message is too long for Slack (msg_too_long): shorten it".to_owned(),
        other => format!("Slack did not take the message for `{target}` ({})", service.shown(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Outcome, try_with};
    use super::*;
    use crate::service::tests::answer;
    use crate::settings::Provider;

    async fn told(status: u16, headers: &[&str], said: &str) -> Outcome {
        try_with(Provider::Slack, "channel:C1", "hi", [answer(status, headers, said)]).await
    }

    #[tokio::test]
    async fn a_message_is_posted_as_it_was_written() {
        let text = "<!channel> a & b > c \"für\" \u{1F600}";
        let done = try_with(Provider::Slack, "user:U1", text, [answer(200, &[], r#"{"ok":true}"#)]).await;
        assert_eq!(done.result.unwrap(), "Message sent via team to user:U1");
        let [request] = done.sent.as_slice() else { panic!("{:?}", done.sent) };
        assert_eq!(
            (request.method.as_str(), request.url.as_str()),
            ("POST", "https://slack.com/api/chat.postMessage")
        );
        assert_eq!(request.headers["authorization"], "Bearer token-of-the-team");
        assert_eq!(request.headers["content-type"], "application/json; charset=utf-8");
        let content: Value = serde_json::from_slice(&request.body).unwrap();
        let escaped = "&lt;!channel&gt; a &amp; b &gt; c \"für\" \u{1F600}";
        assert_eq!(content, json!({"channel": "U1", "text": escaped}));
    }

    #[tokio::test]
    async fn every_documented_error_is_a_sentence() {
        let unaccepted = "Slack does not accept the token of [chat.team] (ERROR): it is wrong, expired or revoked; get a \
            new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in [chat.team] takes";
        let errors = ["invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"];
        for error in errors {
            let said = told(200, &[], &json!({"ok": false, "error": error}).to_string()).await;
            assert_eq!(said.result.unwrap_err(), unaccepted.replace("ERROR", error));
        }
        for (said, sentence) in [
            (
                r#"{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}"#,
                "the token of [chat.team] lacks the scope `chat:write` (missing_scope): add it to the Slack app and \
                 install the app again",
            ),
            (
                r#"{"ok":false,"error":"channel_not_found"}"#,
                "Slack knows no `C1`, or the app may not see it (channel_not_found): give the id of a channel (C…) or a \
                 member (U…), and invite the app to a private channel",
            ),
            (
                r#"{"ok":false,"error":"not_in_channel"}"#,
                "the Slack app is not in `C1` (not_in_channel): invite it there, or give it the scope \
                 `chat:write.public`",
            ),
            (
                r#"{"ok":false,"error":"is_archived"}"#,
                "the Slack channel `C1` is archived (is_archived): name another",
            ),
            (
                r#"{"ok":false,"error":"msg_too_long"}"#,
                "the message is too long for Slack (msg_too_long): shorten it",
            ),
            (
                r#"{"ok":false,"error":"restricted_action token-of-the-team"}"#,
                "Slack did not take the message for `C1` (restricted_action [REDACTED:token])",
            ),
            (
                r#"{"ok":false,"error":"fatal_error"}"#,
                "Slack failed (fatal_error); whether the message arrived is not known: look there before it is sent \
                 again",
            ),
        ] {
            assert_eq!(told(200, &[], said).await.result.unwrap_err(), sentence);
        }
    }

    #[tokio::test]
    async fn a_limit_is_told_whichever_way_slack_says_it() {
        let busy =
            "Slack takes no more messages from us for now; this one was not sent: try again in 30 seconds";
        for (status, said) in [
            (429, ""),
            (429, r#"{"ok":false,"error":"ratelimited"}"#),
            (200, r#"{"ok":false,"error":"rate_limited"}"#),
        ] {
            assert_eq!(told(status, &["retry-after: 30"], said).await.result.unwrap_err(), busy);
        }
    }

    #[tokio::test]
    async fn what_is_no_answer_of_slack_is_no_success() {
        for said in ["", "<html>", "[]", "{}", r#"{"ok":"true"}"#, "null"] {
            let outcome = told(200, &["content-type: text/html"], said).await;
            assert_eq!(
                outcome.result.unwrap_err(),
                "slack.com did not answer as the API of Slack does (HTTP 200, text/html): check the address in \
                 [chat.team]; whether the message arrived is not known: look there before it is sent again",
                "{said}"
            );
        }
    }

    #[tokio::test]
    async fn what_slack_would_cut_is_refused() {
        let fits = "x".repeat(LIMIT);
        let done = try_with(Provider::Slack, "C1", &fits, [answer(200, &[], r#"{"ok":true}"#)]).await;
        assert!(done.result.is_ok());
        for (text, length) in [("x".repeat(LIMIT + 1), LIMIT + 1), ("<".repeat(10_001), 40_004)] {
            let refused = try_with(Provider::Slack, "C1", &text, []).await;
            assert_eq!(
                refused.result.unwrap_err(),
                format!(
                    "the message has {length} characters (`&`, `<` and `>` count as 4 or 5) and Slack takes at most \
                     40000: shorten it or send it in parts"
                )
            );
            assert!(refused.sent.is_empty());
        }
    }
}
