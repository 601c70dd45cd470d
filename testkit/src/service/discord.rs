//! Discord's API, for a bot that may write in the channel 42 and to the user 7, whose direct channel is 700.

use serde_json::json;

use super::{Answer, Protocol, Request};

/// Discord, for one token.
pub struct Discord {
    /// The only one it accepts.
    pub token: String,
}

/// What it answers where something is wrong: by code, `limited` with seconds, `unauthorized`, `html`.
pub fn fault(word: &str) -> Answer {
    let error = |status: u16, code: u32, message: &str| {
        Answer::json(status, json!({"message": message, "code": code}))
    };
    match word.split_once(' ').unwrap_or((word, "")) {
        ("limited", seconds) => {
            let wait: f64 = seconds.parse().unwrap_or(1.0);
            let said =
                json!({"message": "You are being rate limited.", "retry_after": wait, "global": false});
            Answer::json(429, said).with("Retry-After", &wait.ceil().to_string())
        }
        ("unauthorized", _) => error(401, 0, "401: Unauthorized"),
        ("50001", _) => error(403, 50_001, "Missing Access"),
        ("50013", _) => error(403, 50_013, "Missing Permissions"),
        ("50007", _) => error(403, 50_007, "Cannot send messages to this user"),
        ("10003", _) => error(404, 10_003, "Unknown Channel"),
        ("10013", _) => error(404, 10_013, "Unknown User"),
        ("50035", _) => error(400, 50_035, "Invalid Form Body"),
        ("html", _) => Answer::html(403, "<html>blocked</html>"),
        (other, _) => error(400, 50_109, other),
    }
}

impl Protocol for Discord {
    fn answer(&mut self, request: &Request) -> Answer {
        if request.header("authorization") != format!("Bot {}", self.token) {
            return fault("unauthorized");
        }
        if request.header("user-agent").is_empty() {
            return fault("html");
        }
        if request.method != "POST" || !request.says_json() {
            return fault("The request body contains invalid JSON.");
        }
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["users", "@me", "channels"] => match request.text("recipient_id").as_str() {
                "7" => Answer::json(200, json!({"id": "700", "type": 1})),
                _ => fault("10013"),
            },
            ["channels", channel, "messages"] => message(channel, request),
            _ => fault("there is no such route"),
        }
    }
}

fn message(channel: &str, request: &Request) -> Answer {
    let content = request.text("content");
    if content.is_empty() || content.chars().count() > 2000 {
        return fault("50035");
    }
    if request.json().pointer("/allowed_mentions/parse") != Some(&json!([])) {
        return fault("everybody would be notified");
    }
    match channel {
        "42" | "700" => Answer::json(200, json!({"id": "9001", "channel_id": channel, "content": content})),
        "43" => fault("50013"),
        "44" => fault("50001"),
        _ => fault("10003"),
    }
}
