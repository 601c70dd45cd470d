//! A warning as it is kept: which work was found to be like what somebody wants to do, and what they made of it.

use covenant_model::id::{CheckId, DeveloperId, WarningId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::work::{Kind, WorkId, words};

words!(/// What became of a warning.
Settled {
    /// Nothing yet.
    Open = "open",
    /// A later look for the same title took its place.
    Superseded = "superseded",
    /// The work began; nothing had to be decided.
    Disclosed = "disclosed",
    /// Its developer put it aside, or all it warned of was over.
    Dismissed = "dismissed",
    /// The work began with a reason, without a word on each candidate.
    Confirmed = "confirmed",
    /// The work began after each candidate was judged.
    Judged = "judged",
});

/// A warning.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// What it is called by.
    pub id: WarningId,
    /// In which team.
    pub workspace: WorkspaceId,
    /// Who was warned.
    pub developer: DeveloperId,
    /// By which look.
    pub check: Option<CheckId>,
    /// About which kind of work.
    pub kind: Kind,
    /// What was to be done.
    pub title: String,
    /// What is the same for titles that are the same.
    pub title_key: String,
    /// What was found, best first.
    pub found: Vec<Found>,
    /// What became of it.
    pub settled: Settled,
    /// Why, in the words of whoever settled it.
    pub reason: Option<String>,
    /// The work that began with it.
    pub work: Option<WorkId>,
    /// When it was given.
    pub at: Timestamp,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
}

/// One piece of work that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// How much alike they are.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
    /// Whether somebody has to decide about it.
    pub escalated: bool,
}

/// What an agent makes of one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which one.
    pub candidate_id: String,
    /// Whether it is the same work.
    pub same_scope: bool,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What an agent made of all candidates of a check, when its work began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// In which team.
    pub workspace: WorkspaceId,
    /// Who judged.
    pub developer: DeveloperId,
    /// The look it is about.
    pub check: CheckId,
    /// The work that began.
    pub work: WorkId,
    /// One for each candidate.
    pub verdicts: Vec<Verdict>,
    /// When.
    pub at: Timestamp,
}

impl Warning {
    /// The ids of those that somebody has to decide about.
    pub fn escalated(&self) -> impl Iterator<Item = &str> {
        self.found.iter().filter(|found| found.escalated).map(|found| found.id.as_str())
    }
}
