//! What a legacy client said when it opened, so that a daemon that starts later can be told the same.

use serde_json::value::RawValue;

use crate::message::Id;

/// The most bytes of one remembered message.
const REMEMBERED: usize = 64 * 1024;

/// The opening of a legacy session.
pub(super) struct Handshake {
    /// What the ids of what we say in the client's name begin with: its own cannot, except by guessing.
    ours: String,
    asked: Option<(Id, String)>,
    opened: Option<String>,
    ready: bool,
    level: Option<String>,
}

impl Handshake {
    /// Nothing was said yet.
    pub(super) fn new() -> Self {
        // Without random bytes the ids are merely easier to guess.
        let random = u64::from_le_bytes(covenant_gate::random::bytes().unwrap_or_default());
        Self {
            ours: format!("covenant-bridge-{random:016x}-"),
            asked: None,
            opened: None,
            ready: false,
            level: None,
        }
    }

    /// The client asks something.
    pub(super) fn request(&mut self, id: &Id, method: &str, params: Option<&RawValue>) {
        let params = || params.map(|raw| raw.get().to_owned()).filter(|text| text.len() <= REMEMBERED);
        match method {
            "initialize" => self.asked = params().map(|params| (id.clone(), params)),
            "logging/setLevel" => self.level = params(),
            _ => {}
        }
    }

    /// The daemon answered that.
    pub(super) fn answered(&mut self, id: &Id) {
        if let Some((_, params)) = self.asked.take_if(|(asked, _)| asked == id) {
            self.opened = Some(params);
        }
    }

    /// The client said that it is ready.
    pub(super) fn ready(&mut self) {
        self.ready = true;
    }

    /// Whether a session goes on.
    pub(super) fn is_open(&self) -> bool {
        self.opened.is_some() && self.ready
    }

    /// The lines that open the session anew.
    pub(super) fn replay(&self) -> Vec<u8> {
        let Some(params) = &self.opened else { return Vec::new() };
        let mut lines = self.request_of_ours(1, "initialize", params);
        if self.ready {
            lines.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        if let Some(params) = &self.level {
            lines.push_str(&self.request_of_ours(2, "logging/setLevel", params));
        }
        lines.into_bytes()
    }

    /// Whether that answers what we said, and not what the client did.
    pub(super) fn is_ours(&self, id: &Id) -> bool {
        id.as_json().strip_prefix('"').is_some_and(|id| id.starts_with(&self.ours))
    }

    fn request_of_ours(&self, number: u8, method: &str, params: &str) -> String {
        let id = format!("{}{number}", self.ours);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"{method}\",\"params\":{params}}}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answered_handshake_is_repeated() {
        let mut handshake = Handshake::new();
        let params: &RawValue = serde_json::from_str(r#"{"protocolVersion":"2025-11-25"}"#).unwrap();
        let id = Id::of("0").unwrap();
        handshake.request(&id, "initialize", Some(params));
        assert_eq!(handshake.replay(), b"");
        handshake.answered(&id);
        handshake.ready();
        assert!(handshake.is_open());
        let text = String::from_utf8(handshake.replay()).unwrap();
        let ids: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["method"].clone())
            .collect();
        assert_eq!(ids, ["initialize", "notifications/initialized"]);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert!(handshake.is_ours(&Id::of(&first["id"].to_string()).unwrap()));
        assert!(!handshake.is_ours(&Id::of("\"covenant-bridge-1\"").unwrap()), "a client may use any id");
    }
}
