//! Bodies about workspaces, developers and their tokens.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{AgentSessionId, DeveloperId, EventId, TokenId, WorkspaceId};
use crate::principal::{AgentType, Principal};
use crate::team::{Developer, Role, WorkspaceName};
use crate::time::Timestamp;

/// `POST /api/v1/team/workspaces`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewWorkspace {
    /// What it is to be called.
    pub name: String,
}

/// The answer to a new workspace, or to the first name of the one that everybody begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceMade {
    /// What it is known by.
    pub id: WorkspaceId,
    /// What it is called.
    pub name: WorkspaceName,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it was called before; none where it is new.
    pub was: Option<WorkspaceName>,
}

/// `POST /api/v1/team/members`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Their handle.
    pub handle: String,
    /// What they may do for others.
    #[serde(default)]
    pub role: Role,
    /// Whether they are `@private` to the others.
    #[serde(default)]
    pub private: bool,
    /// Which workspace; that of whoever invites, where none is named.
    #[serde(default)]
    pub workspace: Option<String>,
}

/// One of `GET /api/v1/team/members`, as far as whoever asks may know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What they are known by; none of somebody private.
    pub id: Option<DeveloperId>,
    /// Their handle, or `@private`.
    pub handle: String,
    /// What they may do for others.
    pub role: Role,
    /// Whether they are `@private` to the others.
    pub private: bool,
    /// The name of their workspace.
    pub workspace: WorkspaceName,
    /// Since when they belong to it.
    pub created_at: Timestamp,
}

impl Member {
    /// Somebody in full.
    pub fn of(developer: Developer, workspace: WorkspaceName) -> Self {
        Self {
            id: Some(developer.id),
            handle: developer.handle.to_string(),
            role: developer.role,
            private: developer.private,
            workspace,
            created_at: developer.created_at,
        }
    }

    /// The same, with what a private developer shows of themselves.
    #[must_use]
    pub fn redacted(self) -> Self {
        Self { id: None, handle: Developer::PRIVATE.to_owned(), ..self }
    }
}

/// Somebody who was invited, with the link on which they choose how they sign in: the only time it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invited {
    /// What they are known by.
    pub id: Option<DeveloperId>,
    /// Their handle.
    pub handle: String,
    /// What they may do for others.
    pub role: Role,
    /// Whether they are `@private` to the others.
    pub private: bool,
    /// The name of their workspace.
    pub workspace: WorkspaceName,
    /// Since when they belong to it.
    pub created_at: Timestamp,
    /// Where they go, once.
    pub link: String,
    /// Until when that is good.
    pub link_expires_at: Timestamp,
}

/// `POST /api/v1/session/link`: where the operator goes to sign in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInLink {
    /// The link.
    pub link: String,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// `DELETE /api/v1/session/all`: the operator's browsers that are signed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedOut {
    /// How many sessions ended.
    pub ended: u64,
}

/// `GET /api/v1/session`: who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// As whom.
    pub principal: Principal,
    /// The handle of the developer they are; none of clients and agents.
    pub handle: Option<String>,
    /// The name of their workspace.
    pub workspace: Option<WorkspaceName>,
    /// What they may do for others.
    pub role: Option<Role>,
    /// What their pages say to change something; none of those who are not signed in in a browser.
    pub csrf: Option<String>,
}

/// `POST /api/v1/tokens`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// For whom, by their handle; whoever asks, where nobody is named.
    #[serde(default)]
    pub developer: Option<String>,
    /// What it is called; one that is free, where nothing is said.
    #[serde(default)]
    pub label: Option<String>,
    /// The agent it is for.
    #[serde(default)]
    pub agent_type: Option<AgentType>,
}

/// The answer to a new token: the only time it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenMade {
    /// What it is revoked by.
    pub id: TokenId,
    /// The token.
    pub token: String,
    /// Whose it is.
    pub developer: String,
    /// What it is called.
    pub label: String,
}

/// One of `GET /api/v1/tokens`: never the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// What it is revoked by.
    pub id: TokenId,
    /// What it is called.
    pub label: String,
    /// Whose it is.
    pub developer: String,
    /// The agent it is for, if it is for one.
    pub agent_type: Option<AgentType>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended.
    pub revoked_at: Option<Timestamp>,
}

/// One of `GET /api/v1/team/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamEvent {
    /// What it is known by.
    pub id: EventId,
    /// What happened: `task.started`; of usage and feedback the call, `covibe_task.start`.
    pub event: String,
    /// The handle of whose it is, or `@private`; none of a call by nobody we know.
    pub developer: Option<String>,
    /// In which session.
    pub session_id: Option<AgentSessionId>,
    /// What it happened to.
    pub subject_id: Option<String>,
    /// How the call ended; of work, how the subject stands after it.
    pub status: String,
    /// Details.
    pub payload_json: Map<String, Value>,
    /// When.
    pub at: Timestamp,
}
