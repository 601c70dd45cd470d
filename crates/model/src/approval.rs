//! What waits for a person, as people and programs see it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::ApprovalId;
use crate::principal::Principal;
use crate::time::Timestamp;

/// What sort of thing is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalKind {
    /// A text that is to be run.
    Script,
    /// One call.
    Call,
    /// An external tool whose definition changed.
    Definition,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    /// It waits.
    Pending,
    /// It waits, and another text of the same name was approved before.
    Modified,
    /// It may.
    Approved,
    /// It may not.
    Rejected,
    /// It was approved for one call, and that call was made.
    Used,
    /// Nobody decided in time.
    Expired,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What it is decided by.
    pub id: ApprovalId,
    /// What sort of thing it is.
    pub kind: ApprovalKind,
    /// The tool, or the name of the text.
    pub name: String,
    /// How it stands.
    pub status: ApprovalStatus,
    /// The hash of the text, or what binds the call, in hexadecimal.
    pub sha256: String,
    /// On whose behalf it is asked.
    pub principal: Principal,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it stops waiting.
    pub expires_at: Timestamp,
    /// When a person decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why, where they said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET /api/v1/approvals/{id}`: one entry whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalShown {
    /// The entry.
    #[serde(flatten)]
    pub approval: Approval,
    /// The whole text or call. Secrets are hidden in it.
    pub content: String,
    /// What was approved before under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// `POST /api/v1/approvals/{id}/approve`: the hash says that what was seen is what is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveBody {
    /// The hash of what was seen; without it the entry is approved as it stands.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Whether this may change what was decided before.
    #[serde(default)]
    pub revise: bool,
}

/// `POST /api/v1/approvals/{id}/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RejectBody {
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether this may change what was decided before.
    #[serde(default)]
    pub revise: bool,
}

impl ApprovalStatus {
    /// Whether a person can still decide.
    pub fn waits(self) -> bool {
        matches!(self, Self::Pending | Self::Modified)
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Modified => "modified",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }
}

impl ApprovalKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Call => "call",
            Self::Definition => "definition",
        }
    }
}

/// A word that stands for none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not known")]
pub struct UnknownWord(String);

impl FromStr for ApprovalKind {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let all = [Self::Script, Self::Call, Self::Definition];
        all.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownWord(word.to_owned()))
    }
}

impl FromStr for ApprovalStatus {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let all = [Self::Pending, Self::Modified, Self::Approved, Self::Rejected, Self::Used, Self::Expired];
        all.into_iter().find(|status| status.as_str() == word).ok_or_else(|| UnknownWord(word.to_owned()))
    }
}

impl fmt::Display for ApprovalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ApprovalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
