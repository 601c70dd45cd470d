//! What calls bring: their arguments, read, and held to their bounds. What is wrong is told by its field.

pub mod bounds;
pub(crate) mod coordination;
mod schema;
pub(crate) mod texts;

use covenant_model::id::{AgentSessionId, CheckId, ContextId, TaskId, WarningId, WorkstreamId};
use serde::Deserialize;
use serde_json::{Map, Value};

pub use coordination::CoordinationInput;
pub use schema::schema;

use crate::warning::Verdict;
use crate::work::{Action, Kind, Priority, TaskType};

/// What is wrong with a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {reason}")]
pub struct Invalid {
    /// Which argument.
    pub field: String,
    /// What is wrong with it, as the rest of a sentence.
    pub reason: String,
}

impl Invalid {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// The tools of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Tasks.
    Task,
    /// Workstreams.
    Workstream,
    /// Sessions.
    Session,
    /// Decisions and blockers.
    Note,
    /// The team itself.
    Team,
    /// Warnings.
    Warning,
    /// What teammates keep for themselves for a while, and tell each other.
    Coordination,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Task,
        Self::Workstream,
        Self::Session,
        Self::Note,
        Self::Team,
        Self::Coordination,
        Self::Warning,
    ];

    /// As agents call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "covibe_task",
            Self::Workstream => "covibe_workstream",
            Self::Session => "covibe_session",
            Self::Note => "covibe_note",
            Self::Team => "covibe_team",
            Self::Warning => "covibe_warning",
            Self::Coordination => "covibe_coordination",
        }
    }

    /// Its operations, in the order of the documentation.
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Task | Self::Workstream => {
                &["check", "plan", "start", "start_planned", "update", "complete", "cancel"]
            }
            Self::Session => &[
                "start",
                "heartbeat",
                "snapshot",
                "activity",
                "publish_context",
                "get_context",
                "revoke_context",
                "end",
            ],
            Self::Note => &["decision", "blocker"],
            Self::Team => &["state", "feedback", "audit_parallel_work", "generate_weekly_summary"],
            Self::Warning => &["dismiss"],
            Self::Coordination => CoordinationOperation::WORDS,
        }
    }

    /// The argument that says which operation it is.
    pub fn selector(self) -> &'static str {
        if self == Self::Note { "kind" } else { "operation" }
    }

    /// What a call of it is called in usage and feedback: `covibe_task.start`; without a known operation, the tool alone.
    pub fn call(self, arguments: &Map<String, Value>) -> String {
        let asked = arguments.get(self.selector()).and_then(Value::as_str);
        match asked.and_then(|asked| self.operations().iter().find(|known| **known == asked)) {
            Some(operation) => format!("{}.{operation}", self.name()),
            None => self.name().to_owned(),
        }
    }
}

/// A call, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Of a task or a workstream.
    Work(Kind, Box<WorkInput>),
    /// Of a session.
    Session(Box<SessionInput>),
    /// Of a note.
    Note(NoteInput),
    /// Of the team.
    Team(TeamInput),
    /// Of a warning.
    Warning(WarningInput),
    /// Of coordination.
    Coordination(Box<CoordinationInput>),
}

impl Call {
    /// Reads a call's arguments.
    pub fn read(tool: Tool, arguments: Map<String, Value>) -> Result<Self, Invalid> {
        let arguments = Value::Object(arguments);
        Ok(match tool {
            Tool::Task => Self::Work(Kind::Task, decode(arguments)?),
            Tool::Workstream => Self::Work(Kind::Workstream, decode(arguments)?),
            Tool::Session => Self::Session(decode(arguments)?),
            Tool::Note => Self::Note(decode(arguments)?),
            Tool::Team => Self::Team(decode(arguments)?),
            Tool::Warning => Self::Warning(decode(arguments)?),
            Tool::Coordination => Self::Coordination(decode(arguments)?),
        })
    }

    /// The version of the companion that gives a sign of life by it.
    pub fn companion_version(&self) -> Option<&str> {
        match self {
            Self::Session(input) if input.operation == SessionOperation::Heartbeat => {
                input.companion_version.as_deref().map(str::trim).filter(|version| !version.is_empty())
            }
            _ => None,
        }
    }

    /// The session it says it belongs to.
    pub fn session(&self) -> Option<&AgentSessionId> {
        match self {
            Self::Work(_, input) => input.session_id.as_ref(),
            Self::Session(input) => input.session_id.as_ref(),
            Self::Note(input) => input.session_id.as_ref(),
            Self::Team(input) => input.session_id.as_ref(),
            Self::Warning(input) => input.session_id.as_ref(),
            Self::Coordination(input) => input.session_id.as_ref(),
        }
    }

    /// What it is called in usage and feedback.
    pub fn name(&self) -> String {
        let (tool, operation) = match self {
            Self::Work(Kind::Task, input) => (Tool::Task, input.operation.as_str()),
            Self::Work(Kind::Workstream, input) => (Tool::Workstream, input.operation.as_str()),
            Self::Session(input) => (Tool::Session, input.operation.as_str()),
            Self::Note(input) => (Tool::Note, input.kind.as_str()),
            Self::Team(input) => (Tool::Team, input.operation.as_str()),
            Self::Warning(input) => (Tool::Warning, input.operation.as_str()),
            Self::Coordination(input) => (Tool::Coordination, input.operation.as_str()),
        };
        format!("{}.{operation}", tool.name())
    }
}

/// The schema has told most of what can be wrong by now; what is left is told in the reader's words.
fn decode<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, Invalid> {
    serde_json::from_value(arguments)
        .map_err(|error| Invalid::new("arguments", format!("cannot be read: {error}")))
}

macro_rules! operations {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[expect(missing_docs, reason = "the words say it; the documentation of the tools says the rest")]
        pub enum $name {
            $(#[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them, as they are written.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

operations!(/// What is wanted of a task or a workstream.
WorkOperation {
    Check = "check",
    Plan = "plan",
    Start = "start",
    StartPlanned = "start_planned",
    Update = "update",
    Complete = "complete",
    Cancel = "cancel",
});

operations!(/// What is wanted of a session.
SessionOperation {
    Start = "start",
    Heartbeat = "heartbeat",
    Snapshot = "snapshot",
    Activity = "activity",
    PublishContext = "publish_context",
    GetContext = "get_context",
    RevokeContext = "revoke_context",
    End = "end",
});

operations!(/// What a note is.
NoteKind {
    Decision = "decision",
    Blocker = "blocker",
});

operations!(/// What is wanted of the team.
TeamOperation {
    State = "state",
    Feedback = "feedback",
    AuditParallelWork = "audit_parallel_work",
    GenerateWeeklySummary = "generate_weekly_summary",
});

operations!(/// What is wanted of a warning.
WarningOperation {
    Dismiss = "dismiss",
});

operations!(/// What is wanted of teammates.
CoordinationOperation {
    Announce = "announce",
    Claim = "claim",
    Release = "release",
    Ask = "ask",
    Reply = "reply",
    Handoff = "handoff",
    CheckConflicts = "check_conflicts",
    Summary = "summary",
    Inbox = "inbox",
});

operations!(/// What kind of feedback is wanted.
FeedbackType {
    Warning = "warning",
    Block = "block",
    Error = "error",
    Info = "info",
});

/// The arguments of `covibe_task` and `covibe_workstream`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct WorkInput {
    pub operation: WorkOperation,
    pub session_id: Option<AgentSessionId>,
    pub task_id: Option<TaskId>,
    pub planned_task_id: Option<TaskId>,
    pub workstream_id: Option<WorkstreamId>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub scope: Option<String>,
    pub action: Option<Action>,
    pub component: Option<String>,
    pub priority: Option<Priority>,
    pub task_type: Option<TaskType>,
    pub target_files: Option<Vec<String>>,
    pub status: Option<String>,
    pub reason: Option<String>,
    pub result_summary: Option<String>,
    pub summary: Option<String>,
    pub confirm_open_tasks: Option<bool>,
    pub idempotency_key: Option<String>,
    pub check_id: Option<CheckId>,
    pub warning_id: Option<WarningId>,
    pub scope_verdict: Option<Vec<Verdict>>,
    pub confirmation_reason: Option<String>,
    pub confirm: Option<bool>,
}

/// Hashes and what each is of, such as commits: in one text, or each by its name.
pub(crate) fn hashed(field: &str, pieces: Option<&Vec<Value>>) -> Result<Option<Vec<String>>, Invalid> {
    let one = |(at, piece): (usize, &Value)| {
        let text = |names: &[&str]| names.iter().find_map(|name| piece.get(name)?.as_str());
        let named = || {
            let subject = text(&["subject", "message", "title", "path"]).unwrap_or_default();
            Some(format!("{} {subject}", text(&["hash", "sha", "id"])?).trim().to_owned())
        };
        let read = piece.as_str().map(str::to_owned).or_else(named);
        read.ok_or_else(|| Invalid::new(format!("{field}[{at}]"), "is a text, or an object with a `hash`"))
    };
    pieces.map(|pieces| pieces.iter().enumerate().map(one).collect()).transpose()
}

/// The arguments of `covibe_session`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct SessionInput {
    pub operation: SessionOperation,
    pub session_id: Option<AgentSessionId>,
    pub agent_name: Option<String>,
    pub agent_type: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub repo: Option<String>,
    pub branch: Option<String>,
    pub worktree: Option<String>,
    pub companion_version: Option<String>,
    pub registered_repos: Option<Vec<String>>,
    pub dirty_files: Option<Vec<String>>,
    pub unpushed_files: Option<Vec<String>>,
    pub diff_hashes: Option<Vec<Value>>,
    pub recent_commits: Option<Vec<Value>>,
    pub activity: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub files_touched: Option<Vec<String>>,
    pub next_actions: Option<Vec<String>>,
    pub blockers: Option<Vec<String>>,
    pub task_ids: Option<Vec<TaskId>>,
    pub ttl_hours: Option<u64>,
    pub handle: Option<String>,
    pub context_id: Option<ContextId>,
}

/// The arguments of `covibe_note`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct NoteInput {
    pub kind: NoteKind,
    pub text: String,
    pub session_id: Option<AgentSessionId>,
    pub task_id: Option<TaskId>,
    pub workstream_id: Option<WorkstreamId>,
}

/// The arguments of `covibe_warning`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct WarningInput {
    pub operation: WarningOperation,
    pub session_id: Option<AgentSessionId>,
    pub warning_id: WarningId,
    pub reason: String,
}

/// The arguments of `covibe_team`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "named as on the wire; the schemas describe each")]
pub struct TeamInput {
    pub operation: TeamOperation,
    pub session_id: Option<AgentSessionId>,
    pub feedback_type: Option<FeedbackType>,
    pub limit: Option<u64>,
}
