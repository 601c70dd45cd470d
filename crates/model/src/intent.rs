//! Intents: what somebody wants of an agent, the line it reads, the line it answers, and what is told of a run.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, ReceiptId};
use crate::principal::Principal;
use crate::time::Timestamp;

/// An intent's id: a UUID, as agents read and repeat it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IntentId(Box<str>);

/// A text that is no id of an intent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no intent id: those are UUIDs in small letters, such as `0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f`"
)]
pub struct BadIntentId(String);

impl IntentId {
    /// Makes an id (a UUID of version 4) of random bytes, which the caller draws.
    pub fn from_random(mut random: [u8; 16]) -> Self {
        random[6] = random[6] & 0x0f | 0x40;
        random[8] = random[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (place, byte) in random.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            // Writing to a text does not fail.
            _ = write!(text, "{byte:02x}");
        }
        Self(text.into())
    }

    /// The id as people see it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IntentId {
    type Err = BadIntentId;

    fn from_str(text: &str) -> Result<Self, BadIntentId> {
        let sound = text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| match place {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            });
        if sound { Ok(Self(text.into())) } else { Err(BadIntentId(text.chars().take(64).collect())) }
    }
}

impl TryFrom<String> for IntentId {
    type Error = BadIntentId;
    fn try_from(text: String) -> Result<Self, BadIntentId> {
        text.parse()
    }
}

impl From<IntentId> for String {
    fn from(id: IntentId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How urgent it is: what is urgent runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

impl Priority {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }

    /// What that word stands for.
    pub fn read(word: &str) -> Option<Self> {
        [Self::Low, Self::Normal, Self::High].into_iter().find(|priority| priority.as_str() == word)
    }
}

/// How an intent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntentStatus {
    /// It waits for a place.
    Queued,
    /// Its agent runs.
    Running,
    /// The agent answered.
    Ok,
    /// The agent said it failed, or did not keep its contract.
    Error,
    /// It was taken back.
    Cancelled,
}

impl IntentStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// What that word stands for.
    pub fn read(word: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Running, Self::Ok, Self::Error, Self::Cancelled];
        all.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing more comes of it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ok | Self::Error | Self::Cancelled)
    }
}

/// The one line an agent reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Intent<'a> {
    /// Which intent this is.
    pub id: &'a IntentId,
    /// What is wanted.
    pub text: &'a str,
    /// Who wants it.
    pub issuer: Issuer<'a>,
    /// Since when, in milliseconds since 1970.
    pub issued_at: u64,
    /// How urgent it is.
    pub priority: Priority,
    /// The intent within which it was issued.
    pub parent: Option<&'a IntentId>,
}

/// Who wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issuer<'a> {
    /// The principal.
    pub display: &'a str,
    /// The key that vouches for them, ed25519 in base58: the home's.
    pub pubkey: &'a str,
}

/// One limit of a run, and whether this machine enforced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// What is limited, such as `memory`.
    pub limit: String,
    /// By which means; or what is missing, where it is not enforced in full.
    pub by: String,
    /// Whether it was enforced in full.
    pub enforced: bool,
}

/// An intent as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentRecord {
    /// Its id.
    pub id: IntentId,
    /// The id of its agent.
    pub agent: String,
    /// Who issued it.
    pub issuer: Principal,
    /// How it stands.
    pub status: IntentStatus,
    /// How urgent it is.
    pub priority: Priority,
    /// The intent within which it was issued.
    pub parent: Option<IntentId>,
    /// The call under which it is in the audit log.
    pub call: CallId,
    /// What was wanted, without secrets.
    pub request: String,
    /// What came of it, without secrets; empty until then.
    pub answer: String,
    /// Where the agent has it from.
    pub sources: Vec<String>,
    /// What the sandbox kept of its promises.
    pub enforcement: Vec<Enforced>,
    /// What the run cost: one for each second that was begun.
    pub credits: u64,
    /// Whether its agent had then used more than it may in an hour.
    pub over_budget: bool,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When its agent was started.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}

/// What a run cost, and who pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its id.
    pub id: ReceiptId,
    /// Who issued the intent.
    pub payer: Principal,
    /// The id of the agent that ran.
    pub agent: String,
    /// The intent it ran for.
    pub intent: IntentId,
    /// What it cost.
    pub credits: u64,
    /// When it was over.
    pub settled_at: Timestamp,
}

/// What an agent used since a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUse {
    /// The agent's id.
    pub agent: String,
    /// How many runs have ended.
    pub runs: u64,
    /// What they cost.
    pub credits: u64,
}

/// What `covenant intent --json` prints, and `POST /api/v1/intents` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentReply {
    /// The intent.
    pub intent_id: IntentId,
    /// The id of its agent.
    pub agent: String,
    /// `ok` or `error` once it is over.
    pub status: IntentStatus,
    /// What the agent says; or what went wrong.
    pub text: String,
    /// Where it has it from.
    pub sources: Vec<String>,
    /// What the sandbox kept of its promises.
    pub enforcement: Vec<Enforced>,
    /// What the run cost.
    pub credits: u64,
    /// Whether the agent has used more than it may in an hour.
    pub over_budget: bool,
}

/// One of `GET /api/v1/intents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentEntry {
    /// The intent.
    pub intent_id: IntentId,
    /// The id of its agent.
    pub agent: String,
    /// How it stands.
    pub status: IntentStatus,
    /// How urgent it is.
    pub priority: Priority,
    /// When it was issued.
    pub issued_at: Timestamp,
}

/// `GET /api/v1/intents/{id}`: the reply, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentShown {
    /// The intent.
    pub intent_id: IntentId,
    /// The id of its agent.
    pub agent: String,
    /// How it stands.
    pub status: IntentStatus,
    /// What the agent says; or what went wrong; empty until then.
    pub text: String,
    /// Where it has it from.
    pub sources: Vec<String>,
    /// What the sandbox kept of its promises.
    pub enforcement: Vec<Enforced>,
    /// What the run cost.
    pub credits: u64,
    /// Whether the agent had used more than it may in an hour.
    pub over_budget: bool,
    /// How urgent it is.
    pub priority: Priority,
    /// What was wanted.
    pub request: String,
    /// Who issued it.
    pub issuer: Principal,
    /// The intent within which it was issued.
    pub parent: Option<IntentId>,
    /// The call under which it is in the audit log.
    pub call: CallId,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When its agent was started.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}

impl From<IntentRecord> for IntentShown {
    fn from(record: IntentRecord) -> Self {
        Self {
            intent_id: record.id,
            agent: record.agent,
            status: record.status,
            text: record.answer,
            sources: record.sources,
            enforcement: record.enforcement,
            credits: record.credits,
            over_budget: record.over_budget,
            priority: record.priority,
            request: record.request,
            issuer: record.issuer,
            parent: record.parent,
            call: record.call,
            issued_at: record.issued_at,
            started_at: record.started_at,
            finished_at: record.finished_at,
        }
    }
}

impl From<IntentRecord> for IntentReply {
    fn from(record: IntentRecord) -> Self {
        Self {
            intent_id: record.id,
            agent: record.agent,
            status: record.status,
            text: record.answer,
            sources: record.sources,
            enforcement: record.enforcement,
            credits: record.credits,
            over_budget: record.over_budget,
        }
    }
}

impl From<IntentRecord> for IntentEntry {
    fn from(record: IntentRecord) -> Self {
        Self {
            intent_id: record.id,
            agent: record.agent,
            status: record.status,
            priority: record.priority,
            issued_at: record.issued_at,
        }
    }
}

/// `POST /api/v1/intents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentBody {
    /// What is wanted.
    pub text: String,
    /// Of which agent, by id or name; without it, whichever fits best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How urgent it is; without it, as its agent's manifest says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The intent within which it is issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<IntentId>,
    /// Whether the answer is waited for.
    #[serde(default = "yes")]
    pub wait: bool,
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_four() {
        let id = IntentId::from_random([0xff; 16]);
        assert_eq!(id.as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id.as_str().parse(), Ok(id));
        for text in [
            "",
            "ffffffff-ffff-4fff-bfff-fffffffffff",
            "FFFFFFFF-ffff-4fff-bfff-ffffffffffff",
            "../../../../../../../../../../../etc",
        ] {
            assert!(text.parse::<IntentId>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_line_has_the_documented_members_in_their_order() {
        let id = IntentId::from_random([0; 16]);
        let intent = Intent {
            id: &id,
            text: "the user's intent",
            issuer: Issuer { display: "user@local", pubkey: "k" },
            issued_at: 1_714_938_000_000,
            priority: Priority::Normal,
            parent: None,
        };
        assert_eq!(
            serde_json::to_string(&intent).unwrap(),
            r#"{"id":"00000000-0000-4000-8000-000000000000","text":"the user's intent","issuer":{"display":"user@local","pubkey":"k"},"issued_at":1714938000000,"priority":"normal","parent":null}"#
        );
    }

    #[test]
    fn every_word_reads_back() {
        for priority in [Priority::Low, Priority::Normal, Priority::High] {
            assert_eq!(Priority::read(priority.as_str()), Some(priority));
        }
        assert!(Priority::High > Priority::Normal && Priority::Normal > Priority::Low);
        for status in [IntentStatus::Queued, IntentStatus::Running, IntentStatus::Cancelled] {
            assert_eq!(IntentStatus::read(status.as_str()), Some(status));
        }
    }
}
