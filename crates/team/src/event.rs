//! What is written down of a team: what changed, what agents were told, and that a call was made at all.

use covenant_model::envelope::{Status, Tone};
use covenant_model::id::{AgentSessionId, DeveloperId, EventId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};

/// The most bytes of details that an event holds; longer ones are replaced by a word that says so.
pub const PAYLOAD_BYTES: usize = 8 * 1024;

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

/// Details as they are kept: as they are, or a word that they were too long.
pub fn bounded(payload: Map<String, Value>) -> Map<String, Value> {
    let length = serde_json::to_string(&payload).map_or(usize::MAX, |text| text.len());
    if length <= PAYLOAD_BYTES {
        return payload;
    }
    let mut instead = Map::new();
    instead.insert("left_out".to_owned(), Value::String("the details were too long to keep".to_owned()));
    instead.insert("bytes".to_owned(), Value::from(length));
    instead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_kept_whole_or_not_at_all() {
        let mut short = Map::new();
        short.insert("a".to_owned(), Value::from("b"));
        assert_eq!(bounded(short.clone()), short);
        let mut long = Map::new();
        long.insert("a".to_owned(), Value::from("b".repeat(PAYLOAD_BYTES)));
        assert!(bounded(long).contains_key("left_out"));
    }
}
