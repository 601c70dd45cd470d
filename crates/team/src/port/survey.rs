//! What a look at a whole team needs kept: lists that are bounded and newest first. None may cost more because a team has a
//! long past.

use std::future::Future;

use covenant_model::id::{
    AgentSessionId, CheckId, DeveloperId, SummaryId, WarningId, WorkspaceId, WorkstreamId,
};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};

use super::{Kept, Member, Note};
use crate::audit::Audit;
use crate::input::NoteKind;
use crate::session::{Session, SharedContext};
use crate::warning::Settled;
use crate::work::{Kind, Priority, Status, TaskType, Work, WorkId};

/// How far things are counted: more than so many are told as so many.
pub const COUNTED: u64 = 10_000;

/// Work as a list shows it: without the texts that say at length what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is called by.
    pub id: WorkId,
    /// Who does it.
    pub developer: DeveloperId,
    /// In which session it was planned or started.
    pub session: Option<AgentSessionId>,
    /// In a line.
    pub title: String,
    /// How it stands.
    pub status: Status,
    /// What sort of work it is, if it is a task.
    pub task_type: Option<TaskType>,
    /// How soon it is wanted, if it is a task.
    pub priority: Option<Priority>,
    /// What it belongs to, if it is a task.
    pub workstream: Option<WorkstreamId>,
    /// What came of it.
    pub result_summary: Option<String>,
    /// Why it was given up, or is stuck.
    pub reason: Option<String>,
    /// When it was begun.
    pub started_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
}

impl Listed {
    /// That work.
    pub fn of(work: &Work) -> Self {
        use crate::work::Form;
        let (task_type, priority, workstream) = match &work.form {
            Form::Task { task_type, priority, workstream } => {
                (Some(*task_type), Some(*priority), workstream.clone())
            }
            Form::Workstream { .. } => (None, None, None),
        };
        Self {
            id: work.id.clone(),
            developer: work.developer.clone(),
            session: work.session.clone(),
            title: work.brief.title.clone(),
            status: work.status,
            task_type,
            priority,
            workstream,
            result_summary: work.result_summary.clone(),
            reason: work.reason.clone(),
            started_at: work.started_at,
            updated_at: work.updated_at,
        }
    }
}

/// A warning of overlap, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warned {
    /// What it warned with.
    pub id: WarningId,
    /// Who was warned.
    pub developer: DeveloperId,
    /// Of which kind the work was that was looked for.
    pub kind: Kind,
    /// What that was called.
    pub title: String,
    /// What became of it.
    pub settled: Settled,
    /// By which look; a plan gives one without.
    pub check: Option<CheckId>,
    /// Whether somebody had to decide about what was found.
    pub escalated: bool,
    /// When.
    pub at: Timestamp,
}

/// One week of a team, told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it is called by.
    pub id: SummaryId,
    /// Of which team.
    pub workspace: WorkspaceId,
    /// For whom: private developers are hidden from whoever that is not.
    pub developer: DeveloperId,
    /// In which session.
    pub session: Option<AgentSessionId>,
    /// From when.
    pub since: Timestamp,
    /// The text.
    pub markdown: String,
    /// How many there were of each.
    pub counts: Map<String, Value>,
    /// Until when, which is when it was asked for.
    pub at: Timestamp,
}

/// Something that can be listed, of one team. Containers are nowhere among it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// Work of that kind that stands so, and changed last no earlier than that.
    Work(Kind, Status, Timestamp),
    /// Notes of that kind since then.
    Notes(NoteKind, Timestamp),
    /// Sessions that were heard of since then.
    Seen(Timestamp),
    /// Sessions that were not ended, and last heard of since the first moment and before the second.
    Silent(Timestamp, Timestamp),
    /// Warnings since then, but for those that a later look took the place of.
    Warned(Timestamp),
    /// Contexts that count at that moment.
    Contexts(Timestamp),
    /// Audits since then.
    Audits(Timestamp),
}

/// Whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'w> {
    /// A whole team's.
    Team(&'w WorkspaceId),
    /// One developer's.
    Own(&'w DeveloperId),
}

/// The lists of a team, each newest first and at most so many.
pub trait Survey: Send {
    /// How many there are of that, up to [`COUNTED`].
    fn number(&mut self, workspace: &WorkspaceId, of: Shelf) -> impl Future<Output = Kept<u64>> + Send;
    /// The members with these ids, as many as there are.
    fn members_with(&mut self, ids: &[DeveloperId]) -> impl Future<Output = Kept<Vec<Member>>> + Send;
    /// Work of that kind that stands so and changed no earlier than that, without containers.
    fn listed(
        &mut self,
        whose: Whose<'_>,
        kind: Kind,
        status: Status,
        since: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Listed>>> + Send;
    /// How these pieces of work stand, as many as there are, in no order.
    fn standing(&mut self, ids: &[WorkId]) -> impl Future<Output = Kept<Vec<Listed>>> + Send;
    /// Running work of that kind that stands so, with everything that is said of it, without containers.
    fn running(
        &mut self,
        workspace: &WorkspaceId,
        kind: Kind,
        status: Status,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Work>>> + Send;
    /// Notes of that kind since then.
    fn notes(
        &mut self,
        workspace: &WorkspaceId,
        kind: NoteKind,
        since: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Note>>> + Send;
    /// Sessions that were heard of since then.
    fn seen(
        &mut self,
        workspace: &WorkspaceId,
        since: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Session>>> + Send;
    /// Sessions that were not ended, and last heard of since the first moment and before the second.
    fn silent(
        &mut self,
        whose: Whose<'_>,
        since: Timestamp,
        before: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Session>>> + Send;
    /// The newest context that a developer published and neither withdrew nor replaced, whether or not it still counts.
    fn newest_context(
        &mut self,
        developer: &DeveloperId,
    ) -> impl Future<Output = Kept<Option<SharedContext>>> + Send;
    /// Warnings since then: of a team all that no later look took the place of, of a developer those that are open and came of a
    /// look; what was planned in spite of one is among their plans.
    fn warned(
        &mut self,
        whose: Whose<'_>,
        since: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Warned>>> + Send;
    /// Keeps an audit.
    fn add_audit(&mut self, audit: &Audit) -> impl Future<Output = Kept<()>> + Send;
    /// Audits since then.
    fn audits(
        &mut self,
        workspace: &WorkspaceId,
        since: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Audit>>> + Send;
    /// Keeps a summary.
    fn add_summary(&mut self, summary: &Summary) -> impl Future<Output = Kept<()>> + Send;
}
