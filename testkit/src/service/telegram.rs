//! Telegram's Bot API, for a bot that is in the chats 42 and -1001 and in the channel `@the_news`.

use serde_json::{Value, json};

use super::{Answer, Protocol, Request};

/// Telegram, for one token.
pub struct Telegram {
    /// The only one it knows a bot by.
    pub token: String,
}

/// What it answers where something is wrong: a description after its status (`403 Forbidden: …`), `limited` with seconds,
/// `moved` with the new id.
pub fn fault(word: &str) -> Answer {
    let error = |status: u16, description: &str, parameters: Value| {
        let mut said = json!({"ok": false, "error_code": status, "description": description});
        if let (Some(said), Some(_)) = (said.as_object_mut(), parameters.as_object()) {
            said.insert("parameters".to_owned(), parameters);
        }
        Answer::json(status, said)
    };
    match word.split_once(' ').unwrap_or((word, "")) {
        ("limited", seconds) => {
            let wait: u64 = seconds.parse().unwrap_or(1);
            error(429, &format!("Too Many Requests: retry after {wait}"), json!({"retry_after": wait}))
        }
        ("moved", id) => {
            let id: i64 = id.parse().unwrap_or(-1);
            let description = "Bad Request: group chat was upgraded to a supergroup chat";
            error(400, description, json!({"migrate_to_chat_id": id}))
        }
        (status, description) => error(status.parse().unwrap_or(400), description, Value::Null),
    }
}

impl Protocol for Telegram {
    fn answer(&mut self, request: &Request) -> Answer {
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let [bot, method] = segments.as_slice() else { return fault("404 Not Found") };
        let Some(token) = bot.strip_prefix("bot").filter(|token| token.contains(':')) else {
            return fault("404 Not Found");
        };
        if token != self.token {
            return fault("401 Unauthorized");
        }
        // Methods are not case-sensitive there.
        if !method.eq_ignore_ascii_case("sendMessage") {
            return fault("404 Not Found: method not found");
        }
        if request.method != "POST" || !request.says_json() || !request.header("authorization").is_empty() {
            return fault("400 Bad Request: object expected as JSON");
        }
        let text = request.text("text");
        if text.is_empty() {
            return fault("400 Bad Request: message text is empty");
        }
        if text.chars().count() > 4096 {
            return fault("400 Bad Request: message is too long");
        }
        let chat = request.json().get("chat_id").cloned().unwrap_or_default();
        if chat == json!(13) {
            return fault("403 Forbidden: bot was blocked by the user");
        }
        if [json!(42), json!(-1001), json!("@the_news")].contains(&chat) {
            return Answer::json(200, json!({"ok": true, "result": {"message_id": 1, "text": text}}));
        }
        fault("400 Bad Request: chat not found")
    }
}
