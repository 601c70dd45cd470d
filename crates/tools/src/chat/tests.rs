//! The ways a configuration names, and a table of hostile arguments; each service is held to its protocol beside its code.

use std::sync::Arc;

use super::*;
use crate::native::tests::parts;
use crate::ports::{Request, Response};
use crate::service::tests::{Script, answer};
use crate::settings::{Hidden, Settings};

pub(super) const HOOK: &str = "https://hooks.example/in/hook-segment-0001?key=hook-key-0002";

/// The call, which may show what it likes.
fn sender() -> Sender<'static> {
    Sender { id: "call-1", veil: Veil::default() }
}

/// What became of a message, and what was sent for it.
pub(super) struct Outcome {
    pub(super) result: Result<String, String>,
    pub(super) sent: Vec<Request>,
}

fn chat(provider: Provider, token: Option<&str>, url: Option<&str>) -> Chat {
    let token = token.map(|token| Secret::new(token.to_owned()));
    Chat { provider, token, url: url.map(|url| Url::parse(url).unwrap()), hidden: Hidden::default() }
}

fn outlets<const N: usize>(script: &Arc<Script>, all: [(&str, Chat); N]) -> Result<Outlets, String> {
    let root = tempfile::tempdir().unwrap();
    let mut parts = parts(root.path());
    let chat = all.into_iter().map(|(name, chat)| (name.to_owned(), chat)).collect();
    parts.settings = Arc::new(Settings { chat, ..Settings::clone(&parts.settings) });
    parts.web = script.clone();
    Outlets::of(&parts)
}

/// Sends a message by `[chat.team]`, which gets those answers.
pub(super) async fn try_with<const N: usize>(
    provider: Provider,
    target: &str,
    text: &str,
    answers: [Result<Response, String>; N],
) -> Outcome {
    let script = Script::new(answers);
    let url = match provider {
        Provider::Matrix => Some("https://matrix.example"),
        Provider::Webhook => Some(HOOK),
        _ => None,
    };
    let outlets = outlets(&script, [("team", chat(provider, Some("token-of-the-team"), url))]).unwrap();
    let result = outlets.send("team", target, text, sender()).await;
    Outcome { result, sent: script.sent() }
}

#[tokio::test]
async fn a_name_that_is_not_configured_is_told_which_are() {
    let script = Script::new([]);
    let all = [
        ("ops", chat(Provider::Slack, Some("slack-token"), None)),
        ("home", chat(Provider::Matrix, Some("matrix-token"), None)),
        ("alerts", chat(Provider::Webhook, None, Some(HOOK))),
    ];
    let outlets = outlets(&script, all).unwrap();
    for (name, said) in [
        ("slack", "provider \"slack\" is not active (available: alerts, ops)"),
        ("OPS", "provider \"OPS\" is not active (available: alerts, ops)"),
        ("a\n\"b\"", "provider \"a\\n\\\"b\\\"\" is not active (available: alerts, ops)"),
        (
            "home",
            "provider \"home\" is not active: Matrix needs the address of the homeserver: write `base_url` there",
        ),
    ] {
        assert_eq!(outlets.send(name, "C1", "hi", sender()).await.unwrap_err(), said);
    }
    assert!(script.sent().is_empty());
}

#[test]
fn a_way_that_lacks_something_says_what_to_write() {
    let script = Script::new([]);
    let none = outlets(&script, []).err().unwrap();
    assert!(none.starts_with("no chat is configured: write a section [chat.NAME]"), "{none}");
    for (chat, said) in [
        (chat(Provider::Slack, None, None), "Slack needs a token: write `token = \"${secret:…}\"` there"),
        (
            chat(Provider::Telegram, None, None),
            "Telegram needs a token: write `token = \"${secret:…}\"` there",
        ),
        (
            chat(Provider::Matrix, Some("matrix-token"), None),
            "Matrix needs the address of the homeserver: write `base_url` there",
        ),
        (
            chat(Provider::Webhook, None, None),
            "a webhook needs its address: write `url = \"${secret:…}\"` there",
        ),
        (
            chat(Provider::Webhook, None, Some("mailto:ada@example.org")),
            "the address there is no http or https address: write one",
        ),
        (
            chat(Provider::Slack, Some("two\nlines"), None),
            "the token of [chat.team] has characters that no header may hold: store it again, in one line",
        ),
    ] {
        assert_eq!(outlets(&script, [("team", chat)]).err().unwrap(), format!("[chat.team]: {said}"));
    }
}

#[tokio::test]
async fn a_hostile_message_or_target_is_refused_before_it_is_sent() {
    let nobody = "`target` names nobody: write `channel:ID`, `user:ID` or an id";
    let blanks =
        "`target` has blanks or control characters, and no id has: write `channel:ID`, `user:ID` or an id";
    for provider in
        [Provider::Slack, Provider::Discord, Provider::Telegram, Provider::Matrix, Provider::Webhook]
    {
        for (target, text, said) in [
            ("C1", "", "`message` is empty: write what it should say"),
            ("C1", " \n\t\u{a0}", "`message` is empty: write what it should say"),
            ("", "hi", nobody),
            ("channel:", "hi", nobody),
            ("user:", "hi", nobody),
            ("channel: 42", "hi", blanks),
            ("42\r\nX-Header: 1", "hi", blanks),
            ("\u{0}", "hi", blanks),
        ] {
            let outcome = try_with(provider, target, text, []).await;
            assert_eq!(outcome.result.unwrap_err(), said, "{provider:?} {target:?}");
            assert!(outcome.sent.is_empty());
        }
        let long = try_with(provider, "42", &"x".repeat(LONGEST + 1), []).await;
        assert!(long.result.unwrap_err().contains("shorten it or send it in parts"));
        assert!(long.sent.is_empty());
    }
}

#[tokio::test]
async fn another_address_is_used_where_one_is_written() {
    for (provider, url, token, asked) in [
        (Provider::Slack, "http://127.0.0.1:9/api/", "t", "http://127.0.0.1:9/api/chat.postMessage"),
        (Provider::Discord, "http://127.0.0.1:9", "t", "http://127.0.0.1:9/channels/42/messages"),
        (
            Provider::Telegram,
            "http://127.0.0.1:9/a/b",
            "1:t/../x?",
            "http://127.0.0.1:9/a/b/bot1:t%2F..%2Fx%3F/sendMessage",
        ),
    ] {
        let script = Script::new([answer(500, &[], "")]);
        let outlets = outlets(&script, [("team", chat(provider, Some(token), Some(url)))]).unwrap();
        outlets.send("team", "42", "hi", sender()).await.unwrap_err();
        assert_eq!(script.sent()[0].url.as_str(), asked);
    }
}

#[tokio::test]
async fn no_answer_of_a_service_tells_another_secret() {
    let secret = "correct-horse-battery-staple";
    let said = format!("{}{secret}", "x".repeat(290));
    let script = Script::new([answer(400, &[], &said)]);
    let outlets = outlets(&script, [("team", chat(Provider::Webhook, None, Some(HOOK)))]).unwrap();
    let veil = Veil::of([Arc::new(covenant_model::redact::Redactor::new([("OTHER", secret)]))]);
    let told = outlets.send("team", "ops", "hi", Sender { id: "1", veil }).await.unwrap_err();
    assert!(told.contains("xxx[REDACT") && !told.contains("corr"), "{told}");
}
