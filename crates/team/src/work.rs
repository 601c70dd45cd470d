//! Work as it is kept: tasks, and the workstreams they belong to. The two differ in their form and share everything else.

use std::fmt;

use covenant_model::id::{AgentSessionId, BadId, DeveloperId, TaskId, WorkspaceId, WorkstreamId};
use covenant_model::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A text that is none of the words of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of the words this can be")]
pub struct BadWord(pub(crate) String);

/// A kind of thing that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::work::BadWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let known = Self::ALL.iter().copied().find(|known| known.as_str() == text);
                known.ok_or_else(|| $crate::work::BadWord(text.chars().take(64).collect()))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words!(/// What sort of work a task is. It informs, and decides nothing.
TaskType {
    /// Something new.
    Feature = "feature",
    /// A fault to mend.
    Bug = "bug",
    /// The same, better built.
    Refactor = "refactor",
    /// What has to be done now and then.
    Chore = "chore",
    /// Documentation.
    Docs = "docs",
    /// Tests.
    Test = "test",
    /// Finding something out.
    Spike = "spike",
});

words!(/// What work does to the thing it is about.
Action {
    /// Makes it.
    Create = "create",
    /// Changes it.
    Modify = "modify",
    /// Takes it away.
    Remove = "remove",
    /// Mends it.
    Fix = "fix",
    /// Looks at it.
    Audit = "audit",
});

words!(/// How soon a task is wanted.
Priority {
    /// Some day.
    Low = "low",
    /// In its turn.
    Normal = "normal",
    /// Before others.
    High = "high",
    /// Now.
    Urgent = "urgent",
});

words!(/// How work stands.
Status {
    /// Not begun.
    Planned = "planned",
    /// Under way.
    Active = "active",
    /// Under way, and stuck.
    Blocked = "blocked",
    /// Finished, with a result.
    Done = "done",
    /// Given up, for a reason.
    Cancelled = "cancelled",
});

words!(/// The two kinds of work.
Kind {
    /// A task.
    Task = "task",
    /// A workstream.
    Workstream = "workstream",
});

impl Status {
    /// Whether it can still change.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Active | Self::Blocked)
    }

    /// Whether it was begun and is not over.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Active | Self::Blocked)
    }
}

/// The id of a task or of a workstream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WorkId {
    /// Of a task.
    Task(TaskId),
    /// Of a workstream.
    Workstream(WorkstreamId),
}

impl WorkId {
    /// An id of that kind, of random bytes which the caller draws.
    pub fn from_random(kind: Kind, random: [u8; covenant_model::id::RANDOM_BYTES]) -> Self {
        match kind {
            Kind::Task => Self::Task(TaskId::from_random(random)),
            Kind::Workstream => Self::Workstream(WorkstreamId::from_random(random)),
        }
    }

    /// The id of that kind which a text is.
    pub fn parse(kind: Kind, text: &str) -> Result<Self, BadId> {
        match kind {
            Kind::Task => text.parse().map(Self::Task),
            Kind::Workstream => text.parse().map(Self::Workstream),
        }
    }

    /// Of what it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Task(_) => Kind::Task,
            Self::Workstream(_) => Kind::Workstream,
        }
    }

    /// As people see it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Task(id) => id.as_str(),
            Self::Workstream(id) => id.as_str(),
        }
    }
}

impl TryFrom<String> for WorkId {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(Kind::Task, &text).or_else(|_| Self::parse(Kind::Workstream, &text))
    }
}

impl From<WorkId> for String {
    fn from(id: WorkId) -> Self {
        match id {
            WorkId::Task(id) => id.into(),
            WorkId::Workstream(id) => id.into(),
        }
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is said of work: what it is about, in words, and which files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Brief {
    /// In a line.
    pub title: String,
    /// At length; may be empty.
    pub description: String,
    /// How far it goes; may be empty.
    pub scope: String,
    /// What it does to the thing it is about.
    pub action: Option<Action>,
    /// Which part it touches.
    pub component: Option<String>,
    /// The files it means to touch, relative to the repository.
    pub target_files: Vec<String>,
}

impl Brief {
    /// The same, and of what it does not say what the plan said.
    #[must_use]
    pub fn over(self, plan: Self) -> Self {
        let or = |said: String, planned: String| if said.is_empty() { planned } else { said };
        Self {
            title: or(self.title, plan.title),
            description: or(self.description, plan.description),
            scope: or(self.scope, plan.scope),
            action: self.action.or(plan.action),
            component: self.component.or(plan.component),
            target_files: if self.target_files.is_empty() { plan.target_files } else { self.target_files },
        }
    }
}

/// In what tasks and workstreams differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A task.
    Task {
        /// What sort of work it is.
        task_type: TaskType,
        /// How soon it is wanted.
        priority: Priority,
        /// What it belongs to. One from before there were workstreams belongs to none, until the next start.
        workstream: Option<WorkstreamId>,
    },
    /// A workstream.
    Workstream {
        /// Whether it was made for a task that named none.
        auto_created: bool,
    },
}

/// A task or a workstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// What it is called by.
    pub id: WorkId,
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// Who does it.
    pub developer: DeveloperId,
    /// In which session it was planned or started.
    pub session: Option<AgentSessionId>,
    /// What it is about.
    pub brief: Brief,
    /// Whether it is a task.
    pub form: Form,
    /// How it stands.
    pub status: Status,
    /// What came of it.
    pub result_summary: Option<String>,
    /// Why it was given up, or is stuck.
    pub reason: Option<String>,
    /// What the caller knows the call by that made it.
    pub idempotency_key: Option<String>,
    /// When it was written down.
    pub created_at: Timestamp,
    /// When it was begun.
    pub started_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

impl Work {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        self.id.kind()
    }

    /// What it belongs to, if it is a task.
    pub fn workstream(&self) -> Option<&WorkstreamId> {
        match &self.form {
            Form::Task { workstream, .. } => workstream.as_ref(),
            Form::Workstream { .. } => None,
        }
    }

    /// Whether it is a container that was made for a task.
    pub fn is_container(&self) -> bool {
        matches!(self.form, Form::Workstream { auto_created: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_others_are_none() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>(), Ok(*status));
        }
        assert!("Planned".parse::<Status>().is_err());
        assert!("epic".parse::<TaskType>().is_err());
    }

    #[test]
    fn the_id_of_one_kind_is_not_one_of_the_other() {
        let id = WorkId::from_random(Kind::Task, [3; 10]);
        assert_eq!(WorkId::parse(Kind::Task, id.as_str()), Ok(id.clone()));
        assert!(WorkId::parse(Kind::Workstream, id.as_str()).is_err());
    }
}
