//! A Matrix homeserver, `example.org`, for an account that is in the room `!room/1:example.org`, which has the alias
//! `#all/of?us:example.org` with everything in it that a path must not be taken for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Answer, Protocol, Request};

/// A homeserver, for one account.
pub struct Matrix {
    /// The only one it accepts.
    pub token: String,
    /// The rooms the account is in.
    rooms: Vec<String>,
    /// What it keeps of rooms with one person each.
    direct: Option<Value>,
    /// The events there are, by transaction.
    events: BTreeMap<String, String>,
}

/// Who the account is.
const ME: &str = "@bot:example.org";

/// The room it is in.
pub const ROOM: &str = "!room/1:example.org";

/// What it answers where something is wrong: by code, `limited` with milliseconds.
pub fn fault(word: &str) -> Answer {
    let error =
        |status: u16, code: &str, text: &str| Answer::json(status, json!({"errcode": code, "error": text}));
    match word.split_once(' ').unwrap_or((word, "")) {
        ("limited", millis) => {
            let wait: u64 = millis.parse().unwrap_or(1);
            let said =
                json!({"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": wait});
            Answer::json(429, said)
        }
        ("M_UNKNOWN_TOKEN", _) => error(401, "M_UNKNOWN_TOKEN", "Unrecognised access token"),
        ("M_MISSING_TOKEN", _) => error(401, "M_MISSING_TOKEN", "Missing access token"),
        ("M_FORBIDDEN", _) => error(403, "M_FORBIDDEN", "User @bot:example.org not in room"),
        ("M_NOT_FOUND", _) => error(404, "M_NOT_FOUND", "Not found"),
        ("M_TOO_LARGE", _) => error(413, "M_TOO_LARGE", "event too large"),
        (code, _) => error(400, code, "Bad"),
    }
}

impl Matrix {
    /// One that accepts that token.
    pub fn new(token: &str) -> Self {
        let (rooms, events) = (vec![ROOM.to_owned()], BTreeMap::new());
        Self { token: token.to_owned(), rooms, direct: None, events }
    }

    fn send(&mut self, room: &str, transaction: &str, request: &Request) -> Answer {
        let content = request.json();
        if content.get("msgtype") != Some(&json!("m.text")) || request.text("body").is_empty() {
            return fault("M_BAD_JSON");
        }
        if content.get("m.mentions") != Some(&json!({})) {
            return fault("M_EVERYBODY_WOULD_BE_NOTIFIED");
        }
        if request.body.len() > 65_536 {
            return fault("M_TOO_LARGE");
        }
        if !self.rooms.iter().any(|known| known == room) {
            return fault("M_FORBIDDEN");
        }
        let count = self.events.len();
        let event = self.events.entry(transaction.to_owned()).or_insert_with(|| format!("${count}"));
        Answer::json(200, json!({ "event_id": event }))
    }

    fn create(&mut self, request: &Request) -> Answer {
        let wanted = request.json();
        if wanted.get("is_direct") != Some(&json!(true)) {
            return fault("M_INVALID_ROOM_STATE");
        }
        if wanted.get("invite") != Some(&json!(["@ada:example.org"])) {
            return fault("M_FORBIDDEN");
        }
        let room = format!("!new{}:example.org", self.rooms.len());
        self.rooms.push(room.clone());
        Answer::json(200, json!({ "room_id": room }))
    }
}

impl Protocol for Matrix {
    fn answer(&mut self, request: &Request) -> Answer {
        match request.header("authorization") {
            "" => return fault("M_MISSING_TOKEN"),
            shown if shown != format!("Bearer {}", self.token) => return fault("M_UNKNOWN_TOKEN"),
            _ => {}
        }
        if request.method != "GET" && (!request.says_json() || !request.json().is_object()) {
            return fault("M_NOT_JSON");
        }
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let ["_matrix", "client", "v3", rest @ ..] = segments.as_slice() else {
            return fault("M_UNRECOGNIZED");
        };
        match (request.method.as_str(), rest) {
            ("PUT", ["rooms", room, "send", "m.room.message", transaction]) => {
                self.send(room, transaction, request)
            }
            ("GET", ["directory", "room", "#all/of?us:example.org"]) => {
                Answer::json(200, json!({"room_id": ROOM, "servers": ["example.org"]}))
            }
            ("GET", ["directory", "room", _]) => fault("M_NOT_FOUND"),
            ("GET", ["account", "whoami"]) => Answer::json(200, json!({"user_id": ME})),
            ("GET", ["joined_rooms"]) => Answer::json(200, json!({"joined_rooms": self.rooms})),
            ("GET", ["user", ME, "account_data", "m.direct"]) => {
                self.direct.clone().map_or_else(|| fault("M_NOT_FOUND"), |kept| Answer::json(200, kept))
            }
            ("PUT", ["user", ME, "account_data", "m.direct"]) => {
                self.direct = Some(request.json());
                Answer::json(200, json!({}))
            }
            ("POST", ["createRoom"]) => self.create(request),
            _ => fault("M_UNRECOGNIZED"),
        }
    }
}
