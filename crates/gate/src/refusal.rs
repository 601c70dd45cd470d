//! The two ways a call ends without a result: a refusal we mean to give, and a fault we did not expect.

use std::fmt;
use std::time::Duration;

use covenant_model::id::ApprovalId;
use covenant_model::principal::Principal;

/// An answer we mean to give instead of running a tool. Each edge maps every variant in one `match`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No credential, or one that is unknown or revoked.
    #[error(
        "no valid credential was given: the token is missing, unknown or revoked; a person can make one with: covenant clients add NAME"
    )]
    Unauthenticated,
    /// Too many requests; how long until the next is taken.
    #[error("Rate limit exceeded. Please try again later.")]
    RateLimited {
        /// How long to wait.
        wait: Duration,
    },
    /// There is no such tool.
    #[error("unknown tool `{name}`: list the tools to see what there is")]
    UnknownTool {
        /// What was asked for, redacted and cut.
        name: String,
    },
    /// There is no such resource, prompt or completion.
    #[error("there is no {what}")]
    NotFound {
        /// What was asked for, redacted and cut.
        what: String,
    },
    /// No grant covers the call.
    #[error(
        "{principal} may not do `{action}`{why}; grant it with: covenant capabilities grant {action} --to {principal}"
    )]
    NotGranted {
        /// What is missing.
        action: String,
        /// Who lacks it.
        principal: Principal,
        /// What grants there are and why they do not apply: empty, or ` (…)`.
        why: String,
    },
    /// A run of an agent wants what its manifest does not name.
    #[error(
        "{principal} may not do `{action}`: its manifest names it neither in `required` nor in `optional` of [capabilities]"
    )]
    NotInManifest {
        /// What is missing.
        action: String,
        /// Whose manifest.
        principal: Principal,
    },
    /// An agent has used what it may in an hour.
    #[error("{agent} has used the {cap} credits it may use in an hour; there is room again in {} s", wait.as_secs().max(1))]
    OverBudget {
        /// The agent's id.
        agent: String,
        /// How many it may use.
        cap: u64,
        /// How long until there is room again.
        wait: Duration,
    },
    /// Too many intents wait for a place already.
    #[error("{limit} intents wait for a place already; try again when some are done")]
    QueueFull {
        /// How many may wait.
        limit: usize,
    },
    /// The arguments do not satisfy the tool's schema.
    #[error("invalid arguments for `{tool}`: {reason}")]
    InvalidArguments {
        /// Which tool.
        tool: String,
        /// Where, and what is wrong there.
        reason: String,
    },
    /// A person must decide first.
    #[error("this call of `{tool}` waits for a person's approval ({id})")]
    PendingApproval {
        /// Which tool.
        tool: String,
        /// What the person will decide.
        id: ApprovalId,
        /// The page that says how, for a client that can send its person there.
        page: Option<String>,
    },
    /// A person said no to this very call.
    #[error("a person rejected this call of `{tool}` ({id}){reason}")]
    ApprovalRejected {
        /// Which tool.
        tool: String,
        /// What they decided.
        id: ApprovalId,
        /// Why: empty, or `: …`.
        reason: String,
    },
    /// Calls within calls went too deep.
    #[error("`{tool}` was called by a call within a call {limit} deep, and deeper ones are not made")]
    TooDeep {
        /// Which tool.
        tool: String,
        /// How deep they may go.
        limit: u32,
    },
    /// Too many of this principal's calls wait for a person already.
    #[error(
        "{principal} has {limit} calls waiting for approval already; nothing more is queued until some are decided"
    )]
    ApprovalsFull {
        /// Whose.
        principal: Principal,
        /// How many may wait.
        limit: u32,
    },
    /// The tool did not finish in time.
    #[error("`{tool}` did not finish within {} s and was stopped", limit.as_secs())]
    TimedOut {
        /// Which tool.
        tool: String,
        /// How long it had.
        limit: Duration,
    },
    /// The caller took the call back.
    #[error("the call of `{tool}` was cancelled")]
    Cancelled {
        /// Which tool.
        tool: String,
    },
    /// The tool asks its client something that this client did not say it can be asked.
    #[error("`{tool}` asks its client for {}, and this client did not declare that it can answer", kind.capability())]
    ClientCannot {
        /// Which tool.
        tool: String,
        /// What it asks for.
        kind: crate::inquiry::Kind,
    },
    /// Only an admin of the workspace may do that, or not with this token.
    #[error("{principal} may not administer its workspace: {why}")]
    NotAdmin {
        /// Who tried.
        principal: Principal,
        /// Why not.
        why: &'static str,
    },
    /// Only the operator may do that.
    #[error(
        "{principal} may not administer this home: only its operator may, by the CLI or with the operator token"
    )]
    NotOperator {
        /// Who tried.
        principal: Principal,
    },
}

impl Refusal {
    /// The word for it in audit rows, metrics and REST errors.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::RateLimited { .. } => "rate_limited",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::NotFound { .. } => "not_found",
            Self::NotGranted { .. } => "not_granted",
            Self::NotInManifest { .. } => "not_in_manifest",
            Self::OverBudget { .. } => "over_budget",
            Self::QueueFull { .. } => "queue_full",
            Self::InvalidArguments { .. } => "invalid_arguments",
            Self::PendingApproval { .. } => "pending_approval",
            Self::ApprovalsFull { .. } => "approvals_full",
            Self::ApprovalRejected { .. } => "approval_rejected",
            Self::TooDeep { .. } => "too_deep",
            Self::TimedOut { .. } => "timed_out",
            Self::Cancelled { .. } => "cancelled",
            Self::ClientCannot { .. } => "client_cannot",
            Self::NotAdmin { .. } => "not_admin",
            Self::NotOperator { .. } => "not_operator",
        }
    }
}

/// Something broke. The outside sentence may be shown; the cause is for the log.
#[derive(Debug)]
pub struct Fault {
    outside: String,
    cause: String,
}

impl Fault {
    /// A fault with a sentence for the caller and a cause for the log.
    pub fn new(outside: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self { outside: outside.into(), cause: cause.to_string() }
    }

    /// What broke, inside.
    pub fn cause(&self) -> &str {
        &self.cause
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.outside)
    }
}

impl std::error::Error for Fault {}

/// How a call ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// We said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}
