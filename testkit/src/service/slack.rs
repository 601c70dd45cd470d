//! Slack's `chat.postMessage`, for an app that is in the channel `C1` and may write to the member `U1`.

use serde_json::json;

use super::{Answer, Protocol, Request};

/// Slack, for one token.
pub struct Slack {
    /// The only one it accepts.
    pub token: String,
}

/// What it answers where something is wrong: an error of `ok: false` by its name, `limited` with seconds, `html`, `broken`.
pub fn fault(word: &str) -> Answer {
    match word.split_once(' ').unwrap_or((word, "")) {
        ("limited", seconds) => {
            Answer::json(429, json!({"ok": false, "error": "ratelimited"})).with("Retry-After", seconds)
        }
        ("missing_scope", _) => Answer::json(
            200,
            json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "users:read"}),
        ),
        ("html", _) => Answer::html(200, "<html>a page</html>"),
        ("broken", _) => Answer::html(503, "<html>upstream</html>"),
        (error, _) => Answer::json(200, json!({"ok": false, "error": error})),
    }
}

impl Protocol for Slack {
    fn answer(&mut self, request: &Request) -> Answer {
        if request.path != "/api/chat.postMessage" {
            return fault("unknown_method");
        }
        if request.method != "POST" {
            return fault("method_not_supported");
        }
        if request.header("authorization") != format!("Bearer {}", self.token) {
            return fault(if request.header("authorization").is_empty() {
                "not_authed"
            } else {
                "invalid_auth"
            });
        }
        if !request.says_json() {
            return fault("invalid_post_type");
        }
        let (channel, text) = (request.text("channel"), request.text("text"));
        match channel.as_str() {
            _ if text.is_empty() => fault("no_text"),
            // The real one cuts without a word: a test must see that.
            _ if text.chars().count() > 40_000 => fault("the message would be cut"),
            _ if text.contains("<!") => fault("everybody would be notified"),
            "C1" | "U1" => {
                Answer::json(200, json!({"ok": true, "channel": channel, "ts": "1503435956.000247"}))
            }
            "C2" => fault("not_in_channel"),
            _ => fault("channel_not_found"),
        }
    }
}
