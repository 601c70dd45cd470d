//! What a tool gave back, and what may leave: capped, redacted, serialized once.

mod bytes;

use covenant_model::redact::Redactor;
use covenant_model::tool::ToolCallResult;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::inquiry::{Unanswered, Why};
use crate::refusal::{Fault, Refusal};

/// What a tool gave back, with whatever secrets it may hold. Nothing can send this.
#[derive(Debug)]
pub struct RawOutput(Kind);

#[derive(Debug)]
enum Kind {
    Result(ToolCallResult),
    Members(Map<String, Value>),
    Raw(Box<RawValue>),
    Unanswered(Unanswered),
}

impl RawOutput {
    /// The whole result of an external server, as it wrote it.
    pub fn raw(result: Box<RawValue>) -> Self {
        Self(Kind::Raw(result))
    }

    /// The members of a result that is not a tool's.
    pub(crate) fn members(members: Map<String, Value>) -> Self {
        Self(Kind::Members(members))
    }
}

impl From<Unanswered> for RawOutput {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered.why {
            Why::Failed(reason) => ToolCallResult::error(reason).into(),
            _ => Self(Kind::Unanswered(unanswered)),
        }
    }
}

impl From<ToolCallResult> for RawOutput {
    fn from(result: ToolCallResult) -> Self {
        Self(Kind::Result(result))
    }
}

/// A result that may leave the gate: one JSON object, without secrets, within the limit.
#[derive(Debug)]
pub struct Redacted {
    json: Box<RawValue>,
    outcome: Outcome,
    refused: Option<Box<Refusal>>,
}

/// What a result says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Error,
    InputRequired,
}

impl Redacted {
    /// The members of the result.
    pub fn json(&self) -> &RawValue {
        &self.json
    }

    /// Whether the tool itself failed.
    pub fn is_error(&self) -> bool {
        self.outcome == Outcome::Error
    }

    /// Whether the caller must answer something and call again.
    pub fn needs_input(&self) -> bool {
        self.outcome == Outcome::InputRequired
    }

    /// The refusal that it tells of in its tool's own words, if it does.
    pub fn refused(&self) -> Option<&Refusal> {
        self.refused.as_deref()
    }

    /// The same, which tells of that refusal.
    pub(crate) fn instead_of(self, refusal: Refusal) -> Self {
        Self { refused: Some(Box::new(refusal)), ..self }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The result of a call that needs answers first. What is sealed is added last: it holds no readable secret.
    pub(crate) fn input_required(asked: &Self, state: &str) -> Result<Self, Fault> {
        let broken = |error| Fault::new("the questions cannot be written", error);
        let members = asked.json.get().strip_prefix('{').unwrap_or_default();
        let text = format!(r#"{{"resultType":"input_required","requestState":"{state}",{members}"#);
        Ok(Self {
            json: RawValue::from_string(text).map_err(broken)?,
            outcome: Outcome::InputRequired,
            refused: None,
        })
    }
}

impl RawOutput {
    /// The question it ends with, if it is one.
    pub(crate) fn split(self) -> Result<Self, Unanswered> {
        match self.0 {
            Kind::Unanswered(unanswered) => Err(unanswered),
            kind => Ok(Self(kind)),
        }
    }
}

#[derive(Deserialize)]
struct Flag {
    /// Some write `null` for no.
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
}

/// Caps and redacts. A result over the limit becomes a failure that says so.
pub(crate) fn redact<'r>(
    output: RawOutput,
    redactors: impl IntoIterator<Item = &'r Redactor>,
    limit: usize,
) -> Result<Redacted, Fault> {
    let broken = |error: serde_json::Error| Fault::new("the tool's result is not JSON", error);
    let (json, is_error) = match output.0 {
        Kind::Result(result) => (to_raw_value(&result).map_err(broken)?, result.is_error),
        Kind::Members(members) => (to_raw_value(&members).map_err(broken)?, false),
        Kind::Raw(raw) => match serde_json::from_str::<Flag>(raw.get()) {
            Ok(flag) => (raw, flag.is_error.unwrap_or(false)),
            // Someone else wrote it: that is its failure, not ours.
            Err(error) => {
                let reason = format!("the result is not one of the protocol: {error}");
                (to_raw_value(&ToolCallResult::external_error(reason)).map_err(broken)?, true)
            }
        },
        Kind::Unanswered(_) => {
            (to_raw_value(&ToolCallResult::error("a question was left open")).map_err(broken)?, true)
        }
    };
    if json.get().len() > limit {
        let reason = format!(
            "the result has {} bytes and the limit is {limit}; ask for less, or raise [limits] output_bytes",
            json.get().len()
        );
        let json = to_raw_value(&ToolCallResult::error(reason)).map_err(broken)?;
        return Ok(Redacted { json, outcome: Outcome::Error, refused: None });
    }
    let mut json = json;
    for redactor in redactors {
        let cleaned = match redactor.redact_json(json.get()) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(text) => Some(text),
        };
        let Some(text) = cleaned else { continue };
        if let Some(reason) = bytes::withheld(json.get(), redactor) {
            let json = to_raw_value(&ToolCallResult::error(reason)).map_err(broken)?;
            return Ok(Redacted { json, outcome: Outcome::Error, refused: None });
        }
        json = RawValue::from_string(text).map_err(broken)?;
    }
    let outcome = if is_error { Outcome::Error } else { Outcome::Ok };
    Ok(Redacted { json, outcome, refused: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_hold_a_secret_make_the_result_a_failure() {
        let redactor = Redactor::new([("KEY", "a secret!")]);
        let given = |said: &str| {
            let raw = RawOutput::raw(RawValue::from_string(said.to_owned()).unwrap());
            let redacted = redact(raw, [&redactor], 1000).unwrap();
            (redacted.json().get().to_owned(), redacted.is_error())
        };
        let sound = r#"{"content":[{"type":"image","data":"AAAA"},{"type":"text","text":"a secret!"}]}"#;
        assert_eq!(given(sound), (sound.replace("a secret!", "[REDACTED:KEY]"), false));
        let held = r#"{"content":[{"type":"image","data":"/2Egc2VjcmV0IQ=="}]}"#;
        let told = r#"{"content":[{"type":"text","text":"Error: the image holds the value of the secret KEY and is not given"}],"isError":true}"#;
        assert_eq!(given(held), (told.to_owned(), true));
    }

    #[test]
    fn a_result_that_says_null_of_its_failure_has_not_failed() {
        for (said, failed) in [
            (r#"{"content":[],"isError":null}"#, false),
            (r#"{"content":[]}"#, false),
            (r#"{"content":[],"isError":false}"#, false),
            (r#"{"content":[],"isError":true}"#, true),
            (r#"{"content":[],"isError":"no"}"#, true),
        ] {
            let raw = RawOutput::raw(RawValue::from_string(said.to_owned()).unwrap());
            let redacted = redact(raw, [&Redactor::none()], 1000).unwrap();
            assert_eq!(redacted.is_error(), failed, "{said}");
        }
    }
}
