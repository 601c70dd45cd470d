//! What is written down of a team: what changed, what agents were told, and that a call was made at all.

use std::collections::BTreeSet;

use covenant_model::envelope::{Status, Tone};
use covenant_model::id::{AgentSessionId, DeveloperId, EventId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};

/// The most bytes of details that an event holds.
pub const PAYLOAD_BYTES: usize = 8 * 1024;

/// How much of that there is for what is kept of longer ones.
const ROOM: usize = PAYLOAD_BYTES - 1024;

/// Which of the three logs of a team an event stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Log {
    /// What changed.
    Work,
    /// That a call was made, and how it ended.
    Usage,
    /// What an agent was warned of, or kept from.
    Feedback,
}

impl Log {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Work, Self::Usage, Self::Feedback];

    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Usage => "usage",
            Self::Feedback => "feedback",
        }
    }
}

/// One event, of any of the three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What it is called by.
    pub id: EventId,
    /// Whose team's it is; of a call by nobody we know, none.
    pub workspace: Option<WorkspaceId>,
    /// Whose it is.
    pub developer: Option<DeveloperId>,
    /// In which session, if that is the developer's own.
    pub session: Option<AgentSessionId>,
    /// What happened: `task.started`; of usage and feedback the call, `covibe_task.start`.
    pub event: String,
    /// What it happened to.
    pub subject: Option<String>,
    /// How the call ended; of work, how the subject stands after it.
    pub status: String,
    /// Details, bounded.
    pub payload: Map<String, Value>,
    /// When.
    pub at: Timestamp,
}

/// A change, before it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub event: &'static str,
    /// To what.
    pub subject: String,
    /// How that stands now.
    pub status: &'static str,
    /// Details.
    pub payload: Map<String, Value>,
}

/// Feedback that was given, as it is told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFeedback {
    /// The event.
    pub event: Event,
    /// What kind it was.
    pub tone: Tone,
    /// What was said.
    pub message: String,
    /// What was to be done.
    pub required_action: Option<String>,
}

/// How a call that was not performed ended, for its usage event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unserved {
    /// The call, `covibe_task.start`, or what stood where one should.
    pub call: String,
    /// How it ended.
    pub status: Status,
    /// Why, in one word of ours.
    pub code: &'static str,
    /// The session it says it came in. The event is linked to it only if that is its developer's own.
    pub session: Option<AgentSessionId>,
    /// What else there is to know of it: where it came from, and how many such calls it stands for.
    pub details: Map<String, Value>,
}

/// Details as they are kept: whole, or without what is longest in them. Of a list the beginning stays; `left_out` names what went.
pub fn bounded(mut payload: Map<String, Value>) -> Map<String, Value> {
    let length = |value: &Value| value.to_string().len();
    let mut left_out = BTreeSet::new();
    if serde_json::to_string(&payload).is_ok_and(|text| text.len() <= PAYLOAD_BYTES) {
        return payload;
    }
    while payload.iter().map(|(name, value)| name.len() + length(value) + 4).sum::<usize>() > ROOM {
        let longest = payload.iter().max_by_key(|(_, value)| length(value)).map(|(name, _)| name.clone());
        let Some(name) = longest else { break };
        match payload.get_mut(&name) {
            Some(Value::Array(items)) if items.len() > 1 => items.truncate(items.len() / 2),
            _ => drop(payload.remove(&name)),
        }
        left_out.insert(name.chars().take(64).collect::<String>());
    }
    if !left_out.is_empty() {
        payload.insert("left_out".to_owned(), left_out.into_iter().take(32).collect());
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_details_that_are_too_long_the_longest_goes_first() {
        let mut short = Map::new();
        short.insert("a".to_owned(), Value::from("b"));
        assert_eq!(bounded(short.clone()), short);
        let mut long = Map::new();
        long.insert("duplicate".to_owned(), Value::from(true));
        long.insert("text".to_owned(), Value::from("b".repeat(PAYLOAD_BYTES)));
        long.insert("ids".to_owned(), (0..5_000).map(|id| format!("task_{id}")).collect());
        let kept = bounded(long);
        assert_eq!((&kept["duplicate"], kept.get("text")), (&Value::from(true), None));
        assert_eq!(kept["ids"][0], "task_0");
        assert_eq!(kept["left_out"], serde_json::json!(["ids", "text"]));
        assert!(serde_json::to_string(&kept).unwrap().len() <= PAYLOAD_BYTES);
    }
}
