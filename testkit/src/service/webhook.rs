//! A webhook that takes `{target, message, text}` at one address, and the token where it has one.

use serde_json::json;

use super::{Answer, Protocol, Request};

/// A webhook.
pub struct Webhook {
    /// The only address it has, with its query.
    pub address: String,
    /// The token it wants, if any.
    pub token: Option<String>,
}

/// What it answers where something is wrong: a status, `limited` with seconds, `moved` with an address.
pub fn fault(word: &str) -> Answer {
    match word.split_once(' ').unwrap_or((word, "")) {
        ("limited", seconds) => Answer::json(429, json!({})).with("Retry-After", seconds),
        ("moved", address) => Answer::html(302, "").with("Location", address),
        (status, text) => Answer::html(status.parse().unwrap_or(400), text),
    }
}

impl Protocol for Webhook {
    fn answer(&mut self, request: &Request) -> Answer {
        let wanted = self.token.as_ref().map(|token| format!("Bearer {token}")).unwrap_or_default();
        let members = ["target", "message", "text"];
        if format!("{}?{}", request.path, request.query).trim_end_matches('?') != self.address {
            return fault("404 no hook");
        }
        if request.header("authorization") != wanted {
            return fault("401 who are you");
        }
        if request.method != "POST" || !request.says_json() {
            return fault("415 JSON is posted here");
        }
        if members.iter().any(|member| request.text(member).is_empty())
            || request.text("message") != request.text("text")
        {
            return fault("400 a member is missing");
        }
        fault("204")
    }
}
