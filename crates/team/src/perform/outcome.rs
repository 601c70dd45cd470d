//! What comes of a call: what its agent is told, and what is written down of it.

use covenant_model::envelope::{Envelope, Status};
use covenant_model::id::AgentSessionId;
use covenant_model::principal::Principal;
use serde_json::{Map, Value};

use crate::event::Change;
use crate::input::Invalid;
use crate::port::Broken;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What its agent is told.
    pub envelope: Envelope,
    /// What changed.
    pub changes: Vec<Change>,
    /// What is kept as feedback in place of the answer's own data, where that is long.
    pub(crate) gist: Option<Map<String, Value>>,
    /// What it was about.
    pub subject: Option<String>,
    /// The session it made; where nothing was done, the caller's own that it came in.
    pub session: Option<AgentSessionId>,
    /// Whether it ended the session it came in.
    pub(crate) ended_session: bool,
    /// Why nothing was done, in one word of ours, where nothing was.
    pub code: Option<&'static str>,
}

impl Outcome {
    pub(crate) fn of(envelope: Envelope) -> Self {
        Self {
            envelope,
            changes: Vec::new(),
            gist: None,
            subject: None,
            session: None,
            ended_session: false,
            code: None,
        }
    }

    pub(crate) fn ok(message: impl Into<String>) -> Self {
        Self::of(Envelope::ok(message))
    }

    pub(crate) fn warning(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::of(Envelope::warning(message, action))
    }

    pub(crate) fn blocked(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::of(Envelope::blocked(message, action))
    }

    /// The same, with one more thing to know.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.envelope = self.envelope.with(name, value);
        self
    }

    /// The same, of which that is kept as feedback.
    pub(crate) fn remembered(mut self, gist: Map<String, Value>) -> Self {
        self.gist = Some(gist);
        self
    }

    /// The same, about that.
    pub(crate) fn about(mut self, subject: &impl ToString) -> Self {
        self.subject = Some(subject.to_string());
        self
    }

    /// The same, with one more change.
    pub(crate) fn changed(
        mut self,
        event: &'static str,
        subject: &impl ToString,
        status: &'static str,
        payload: Map<String, Value>,
    ) -> Self {
        self.changes.push(Change { event, subject: subject.to_string(), status, payload });
        self
    }

    /// Whether what was done stays. An error changes nothing.
    pub fn is_kept(&self) -> bool {
        self.envelope.status != Status::Error
    }
}

/// Why a call is not done, though nothing broke. Nothing is changed by it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Denied {
    code: &'static str,
    envelope: Envelope,
}

impl Denied {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, action: impl Into<String>) -> Self {
        Self { code, envelope: Envelope::error(message, action) }
    }

    /// A thing that is not there, or not the caller's: which of the two is not told.
    pub(crate) fn missing(what: &str, id: &str) -> Self {
        let message = format!("There is no {what} `{id}` of yours.");
        let action = format!("Use the id of a {what} that you made; others cannot be used or changed.");
        Self::new("not_yours", message, action)
    }

    pub(crate) fn invalid(invalid: &Invalid) -> Self {
        let message = format!("Invalid arguments: {invalid}.");
        let field = &invalid.field;
        let this = Self::new("invalid_arguments", message, format!("Correct `{field}` and call again."));
        let envelope = this.envelope.with("field", field.as_str()).with("code", this.code);
        Self { envelope, ..this }
    }

    pub(crate) fn stranger(principal: &Principal) -> Self {
        let message = format!("{principal} is not a member of a team here.");
        let action = "Ask an admin to invite you: covenant team invite HANDLE";
        Self::new("no_member", message, action)
    }
}

impl From<Denied> for Outcome {
    fn from(denied: Denied) -> Self {
        Self { code: Some(denied.code), ..Self::of(denied.envelope) }
    }
}

/// Why an operation stops short.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It is not done.
    Denied(Denied),
    /// Something broke.
    Broken(Broken),
}

impl From<Denied> for Stop {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}
