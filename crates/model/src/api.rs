//! Bodies of the REST API, shared by the daemon that answers and the CLI that asks.

mod team;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::ActionPattern;
use crate::constraint::Constraints;
use crate::grant::{Approval, Grant};
use crate::id::ApprovalId;
use crate::principal::{Principal, Subject};
use crate::time::Timestamp;

pub use self::team::{
    Identity, Invited, Member, NewMember, NewToken, NewWorkspace, SignInLink, SignedOut, TeamEvent,
    TokenEntry, TokenMade, WorkspaceMade,
};

/// What every failed request answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The error.
    pub error: ApiError,
}

/// What went wrong, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// A word for programs, such as `not_granted`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// What to do next.
    pub action: String,
}

/// `GET /api/v1/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The daemon's version.
    pub version: String,
    /// The version of its database's tables.
    pub schema: u32,
    /// Its process.
    pub pid: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// Its home directory.
    pub home: String,
    /// Its socket.
    pub socket: String,
    /// The addresses it listens on.
    pub listen: Vec<String>,
    /// Whether it speaks TLS there.
    #[serde(default)]
    pub tls: bool,
    /// What people and agents type, where that is not localhost; otherwise empty.
    #[serde(default)]
    pub public_url: String,
    /// Its database, without credentials.
    pub database: String,
    /// How many tools it holds.
    pub tools: usize,
    /// How many external servers there are in each state; only states that occur.
    #[serde(default)]
    pub servers: BTreeMap<String, usize>,
    /// Whether calls are served.
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

impl Status {
    /// Where it can be reached, as people type it.
    pub fn urls(&self) -> Vec<String> {
        self.listen.iter().map(|address| format!("{}://{address}", self.scheme())).collect()
    }

    /// What stands before the path in every URL of it: that of `public_url`, else this machine's.
    pub fn origin(&self) -> String {
        if !self.public_url.is_empty() {
            return self.public_url.trim_end_matches('/').to_owned();
        }
        let port = self.listen.first().and_then(|address| address.rsplit_once(':'));
        format!("{}://localhost:{}", self.scheme(), port.map_or("8421", |(_, port)| port))
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}

/// `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Whether calls are served.
    pub ready: bool,
    /// Why not, each as `part: reason`.
    pub reasons: Vec<String>,
}

/// `POST /api/v1/reload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// The settings that took effect, by path.
    pub applied: Vec<String>,
    /// The settings that changed and need a restart.
    pub needs_restart: Vec<String>,
    /// Unknown keys and other remarks.
    pub warnings: Vec<String>,
}

/// `POST /api/v1/tools/{name}/call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallBody {
    /// The arguments; none is an empty object.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// `POST /api/v1/capabilities`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGrant {
    /// For whom.
    pub subject: Subject,
    /// What.
    pub action: ActionPattern,
    /// Within which limits.
    #[serde(default, rename = "where")]
    pub constraints: Constraints,
    /// Whether a person is asked each time.
    #[serde(default)]
    pub approval: Approval,
    /// Until when.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// The answer to a new grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// What was granted.
    pub grant: Grant,
    /// What a person should know, such as that no such tool exists yet.
    pub warnings: Vec<String>,
}

/// `POST /api/v1/capabilities/explain`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainBody {
    /// Who would call.
    pub principal: Principal,
    /// What it would do.
    pub action: String,
    /// With which arguments.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
}

/// Why a call would be allowed or refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Whether it would be allowed (a call that asks a person is).
    pub allowed: bool,
    /// The grant that decides.
    pub grant: Option<Grant>,
    /// Grants that cover the action and do not apply, each with the reason.
    pub near: Vec<NearMiss>,
    /// The command that would grant it.
    pub command: Option<String>,
}

/// A grant that covers an action and does not apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NearMiss {
    /// The grant.
    pub grant: Grant,
    /// Why it does not apply.
    pub reason: String,
}

/// Grants people begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Look, do not touch.
    ReadOnly,
    /// That, and write in the workspace, memory and vault.
    Workspace,
    /// Everything there is and will be.
    All,
}

/// `POST /api/v1/clients`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewClient {
    /// Its name, as in `client:NAME`.
    pub name: String,
    /// Grants to begin with.
    #[serde(default)]
    pub preset: Option<Preset>,
    /// Further actions to grant.
    #[serde(default)]
    pub grants: Vec<ActionPattern>,
    /// Whether what its person answers counts where a person's approval is needed.
    #[serde(default)]
    pub may_approve: bool,
}

/// The answer to a new client: the only time its token is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientAdded {
    /// Its name.
    pub name: String,
    /// Its token.
    pub token: String,
    /// What a person should know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// One of `GET /api/v1/clients`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its principal.
    pub principal: Principal,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// How many grants name it.
    pub grants: usize,
    /// Whether what its person answers counts where a person's approval is needed.
    #[serde(default)]
    pub may_approve: bool,
}

/// `DELETE` of a grant, a client or a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// What was removed.
    pub removed: String,
    /// What went with it, such as the grants of a client.
    #[serde(default)]
    pub also: Vec<String>,
}

/// `PUT /api/v1/secrets/{name}`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretBody {
    /// The value.
    pub value: String,
}

/// One of `GET /api/v1/secrets`: never the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretEntry {
    /// Its name.
    pub name: String,
    /// `file`, or the environment variable it comes from.
    pub source: String,
    /// When the file last changed; unknown for the environment.
    pub set_at: Option<Timestamp>,
}

/// One of `GET /api/v1/memory/search` and `/api/v1/memory/recent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// Which note it is: its path in the memory.
    pub id: String,
    /// Who remembers it.
    pub owner: String,
    /// The intent it came from; none for what callers wrote themselves.
    pub intent_id: Option<String>,
    /// What it says, as far as it is shown.
    pub text: String,
    /// When it was written.
    pub created_at: Timestamp,
}

/// One of `GET /api/v1/agents`: an agent, or a manifest that is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEntry {
    /// Its id; none where the manifest is not used.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// How it is run.
    pub runtime: Option<String>,
    /// What it does.
    pub description: String,
    /// The tool it is called by.
    pub tool: Option<String>,
    /// Its manifest.
    pub file: String,
    /// `ready`; `unusable` where its program cannot be run as things are; `refused` where its manifest is not used.
    pub status: String,
    /// Why it is not ready.
    pub problems: Vec<String>,
}

/// `POST /api/v1/agents/reload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsRead {
    /// The ids of the agents there are now.
    pub agents: Vec<String>,
    /// Those of them that are new or other than before.
    pub changed: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
    /// What is wrong with manifests that are not used.
    pub problems: Vec<String>,
    /// What has no effect, or is not there yet.
    pub warnings: Vec<String>,
}

/// One of `GET /api/v1/agents/usage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUsage {
    /// The agent's id.
    pub agent: String,
    /// How many runs ended.
    pub runs: u64,
    /// What they cost.
    pub credits: u64,
    /// What it may cost in an hour; 0 is no limit.
    pub cap: u64,
}

/// One of `GET /api/v1/scripts`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScriptEntry {
    /// Its name, without `.star`.
    pub name: String,
    /// `approved`, `pending`, `modified`, `rejected` or `unusable`.
    pub status: String,
    /// `pinned` or `unpinned`, where the configuration allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowlist: Option<String>,
    /// What is decided, where somebody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// What it does, in its own words.
    pub description: String,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Which version it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The secrets it may ask for.
    pub secrets: Vec<String>,
    /// The hash of its text, as the allowlist has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Why it was rejected or cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET /api/v1/scripts/{name}`: one script whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScriptShown {
    /// What it is.
    #[serde(flatten)]
    pub script: ScriptEntry,
    /// Its text, with secrets hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `POST /api/v1/audit/prune`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PruneBody {
    /// Rows before that moment go, in whole segments.
    pub before: Timestamp,
}

/// The answer to a prune.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// How many rows went.
    pub rows: u64,
    /// The first row that is kept.
    pub first_kept: u64,
}
