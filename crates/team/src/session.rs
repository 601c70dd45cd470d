//! What is known of agents at work: their sessions, the state of their repositories, and what they published of where they stand.

use std::collections::BTreeSet;

use covenant_model::id::{AgentSessionId, ContextId, DeveloperId, TaskId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One stretch of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What it is called by.
    pub id: AgentSessionId,
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// Whose agent it is.
    pub developer: DeveloperId,
    /// What the agent calls itself.
    pub agent_name: Option<String>,
    /// Which agent it is: as its token says, else as it says itself.
    pub agent_type: Option<String>,
    /// Whose model it runs on.
    pub provider: Option<String>,
    /// Which model that is.
    pub model: Option<String>,
    /// In which repository it works.
    pub repo: Option<String>,
    /// On which branch.
    pub branch: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was heard of last.
    pub last_seen_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

/// How a repository looks where an agent works: names and hashes, never contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub developer: DeveloperId,
    /// By which session.
    pub session: Option<AgentSessionId>,
    /// Which repository.
    pub repo: String,
    /// Which branch; may be empty.
    pub branch: String,
    /// Which worktree; may be empty.
    pub worktree: String,
    /// Files that were changed and not committed.
    pub dirty_files: Vec<String>,
    /// Files of commits that were not pushed.
    pub unpushed_files: Vec<String>,
    /// Hashes of what was changed.
    pub diff_hashes: Vec<String>,
    /// The newest commits.
    pub recent_commits: Vec<String>,
    /// When it was taken.
    pub at: Timestamp,
}

/// What somebody changed in a repository, as it was last said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Whose it is.
    pub developer: DeveloperId,
    /// By which session.
    pub session: Option<AgentSessionId>,
    /// Which repository.
    pub repo: String,
    /// Which branch; may be empty.
    pub branch: String,
    /// Files that were changed and not committed.
    pub dirty_files: Vec<String>,
    /// Files of commits that were not pushed.
    pub unpushed_files: Vec<String>,
    /// When that was said.
    pub at: Timestamp,
}

/// The newest worktrees of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Those that were looked at, the newest first.
    pub worktrees: Vec<Worktree>,
    /// Whether those are all there are.
    pub all: bool,
}

/// Which worktrees are wanted: of others than one session of a developer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere<'e> {
    /// Said since then.
    pub since: Timestamp,
    /// Of one repository; of all, where that is empty.
    pub repo: &'e str,
    /// Not of that developer
    pub developer: &'e DeveloperId,
    /// in that session, or in none.
    pub session: Option<&'e AgentSessionId>,
    /// Of what they touch only these files; everything, where none are named.
    pub files: Option<&'e BTreeSet<&'e str>>,
}

/// What an agent says of where it stands, for whoever takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedContext {
    /// What it is called by.
    pub id: ContextId,
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub developer: DeveloperId,
    /// By which session.
    pub session: Option<AgentSessionId>,
    /// What it says.
    pub body: ContextBody,
    /// When it was published.
    pub created_at: Timestamp,
    /// Until when it counts.
    pub expires_at: Timestamp,
    /// The one that took its place.
    pub superseded_by: Option<ContextId>,
    /// When it was withdrawn.
    pub revoked_at: Option<Timestamp>,
}

/// The words of a published context.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContextBody {
    /// In a line.
    pub title: String,
    /// At length.
    pub summary: String,
    /// The files that were touched.
    pub files_touched: Vec<String>,
    /// What comes next.
    pub next_actions: Vec<String>,
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// The tasks it is about.
    pub task_ids: Vec<TaskId>,
    /// Which repository; may be empty.
    pub repo: String,
    /// Which branch; may be empty.
    pub branch: String,
}

/// A companion's sign of life: which one runs for a developer, and which repositories it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// Whose it is.
    pub developer: DeveloperId,
    /// Its version, as it says.
    pub version: Option<String>,
    /// The repositories it knows, where it says so.
    pub repos: Option<Vec<String>>,
    /// When it was heard of.
    pub at: Timestamp,
}

/// The companion that a daemon has for machines to take: what they should run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hosted {
    /// Its version.
    pub latest_version: String,
    /// What its archive is known by.
    pub tarball_sha256: String,
}

impl Hosted {
    /// What a companion of that version is told: whatever differs is to be taken, also where it is older.
    pub fn answer(&self, version: &str) -> Value {
        json!({
            "latest_version": self.latest_version,
            "tarball_sha256": self.tarball_sha256,
            "update_available": self.latest_version != version,
        })
    }
}
