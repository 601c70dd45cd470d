//! An audit of parallel work, as it is kept: which pieces of work look like the same work, and what was looked at.

use covenant_model::id::{AgentSessionId, DeveloperId, ParallelAuditId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::port::survey::Listed;
use crate::work::{Status, WorkId};

/// The most pairs that one audit tells and keeps.
pub const CONFLICTS: usize = 50;

/// One audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// What it is called by.
    pub id: ParallelAuditId,
    /// Whose team's work it is about.
    pub workspace: WorkspaceId,
    /// Who asked for it.
    pub developer: DeveloperId,
    /// In which session.
    pub session: Option<AgentSessionId>,
    /// How many running pieces of work were compared, and how many were left out.
    pub looked_at: u64,
    /// How many running pieces of work were left out, because others changed later.
    pub left_out: u64,
    /// The pairs, best first.
    pub conflicts: Vec<Conflict>,
    /// How many more pairs there were.
    pub more: u64,
    /// When.
    pub at: Timestamp,
}

/// Two pieces of work that look like the same work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    /// The two: the one that runs, and what it repeats.
    pub sides: [Side; 2],
    /// How much alike they are, from 0 to 1.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
}

/// One of the two, as it stood then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Which work.
    pub id: WorkId,
    /// What it is called.
    pub title: String,
    /// Whose it is.
    pub developer: DeveloperId,
    /// How it stood.
    pub status: Status,
}

impl Side {
    /// That work, as it stands.
    pub fn of(work: &Listed) -> Self {
        Self {
            id: work.id.clone(),
            title: work.title.clone(),
            developer: work.developer.clone(),
            status: work.status,
        }
    }
}
