//! The shape of every answer to an agent about work: how it went, what happened, and what to do next.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was done.
    Ok,
    /// It was done, and there is something to know.
    Warning,
    /// It was not done: something has to happen first.
    Blocked,
    /// It was not done: something was wrong, or broke.
    Error,
}

impl Status {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Blocked => "blocked",
            Self::Error => "error",
        }
    }

    /// What kind of feedback goes with it.
    pub fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Info,
            Self::Warning => Tone::Warning,
            Self::Blocked => Tone::Block,
            Self::Error => Tone::Error,
        }
    }

    /// Whether it was not done: to MCP such an answer is an error of its tool.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Blocked | Self::Error)
    }
}

/// What kind of feedback it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing to heed.
    Info,
    /// To be heeded.
    Warning,
    /// To be resolved first.
    Block,
    /// To be mended.
    Error,
}

impl Tone {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Block => "block",
            Self::Error => "error",
        }
    }
}

/// What the agent is told to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// What kind it is.
    #[serde(rename = "type")]
    pub tone: Tone,
    /// A sentence that says what to do next; none where nothing has to be done.
    pub required_action: Option<String>,
}

/// An answer. Others may write more members than these: they are not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// How it went.
    pub status: Status,
    /// What happened, in a sentence.
    pub message: String,
    /// What to do next.
    pub feedback: Feedback,
    /// What there is to know, for programs.
    pub data: Map<String, Value>,
}

impl Envelope {
    /// It was done, and nothing has to be.
    pub fn ok(message: impl Into<String>) -> Self {
        Self::new(Status::Ok, message, None)
    }

    /// It was done, and the agent should do that.
    pub fn warning(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(Status::Warning, message, Some(action.into()))
    }

    /// It was not done, and will be after the agent did that.
    pub fn blocked(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(Status::Blocked, message, Some(action.into()))
    }

    /// It was not done, because of an error that the agent mends, or lives with, so.
    pub fn error(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(Status::Error, message, Some(action.into()))
    }

    fn new(status: Status, message: impl Into<String>, required_action: Option<String>) -> Self {
        let feedback = Feedback { tone: status.tone(), required_action };
        Self { status, message: message.into(), feedback, data: Map::new() }
    }

    /// The same, with one more thing to know.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.insert(name.into(), value.into());
        self
    }

    /// The same, with that to know.
    #[must_use]
    pub fn holding(mut self, data: Map<String, Value>) -> Self {
        self.data = data;
        self
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        let Self { status, message, feedback, data } = self;
        serde_json::json!({
            "status": status.as_str(),
            "message": message,
            "feedback": { "type": feedback.tone.as_str(), "required_action": feedback.required_action },
            "data": data,
        })
    }

    /// As the text of JSON, its members in the order of the documentation.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| self.to_value().to_string())
    }
}

/// What happened, as a sentence: errors of ours are written as fragments.
pub fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    let mut letters = text.chars();
    // A name at the beginning, such as `user@local`, stays as it is.
    let word = text.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    match letters.next().filter(|_| word) {
        Some(first) => format!("{}{}{end}", first.to_uppercase(), letters.as_str()),
        None => format!("{text}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_went_well_says_that_nothing_has_to_be_done() {
        let text = Envelope::ok("Logged.").to_text();
        let documented = r#"{"status":"ok","message":"Logged.","feedback":{"type":"info","required_action":null},"data":{}}"#;
        assert_eq!(text, documented);
    }

    #[test]
    fn what_was_blocked_says_what_has_to_happen_first() {
        let blocked = Envelope::blocked("Possible duplicate work found.", "Ask the developer.")
            .with("warning_id", "warn_1")
            .with("matches", json!([]));
        let value = json!({
            "status": "blocked",
            "message": "Possible duplicate work found.",
            "feedback": {"type": "block", "required_action": "Ask the developer."},
            "data": {"warning_id": "warn_1", "matches": []},
        });
        assert_eq!(blocked.to_value(), value);
        assert_eq!(serde_json::from_str::<Value>(&blocked.to_text()).unwrap(), value);
        assert!(blocked.status.is_error());
    }

    #[test]
    fn an_envelope_reads_back_and_other_shapes_are_none() {
        for envelope in [Envelope::ok("a"), Envelope::warning("a", "b"), Envelope::error("a", "b")] {
            assert_eq!(serde_json::from_str::<Envelope>(&envelope.to_text()).unwrap(), envelope);
        }
        let more =
            json!({"status": "error", "message": "m", "data": {}, "feedback": {"type": "error"}, "more": 1});
        assert_eq!(serde_json::from_value::<Envelope>(more).unwrap().feedback.required_action, None);
        for other in [
            json!({"error": "nope"}),
            json!({"status": "fine", "message": "m", "feedback": {"type": "info"}, "data": {}}),
            json!({"status": "ok", "message": 7, "feedback": {"type": "info"}, "data": {}}),
            json!({"status": "ok", "message": "m", "feedback": {"type": "info"}, "data": []}),
            json!([]),
        ] {
            assert!(serde_json::from_value::<Envelope>(other.clone()).is_err(), "{other}");
        }
    }
}
