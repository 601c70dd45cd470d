//! What a team needs kept, as one transaction sees it. `store` implements it on both databases, and runs `perform` in it.
//!
//! "Not found" is `Ok(None)`. Ids of other teams are found too: whether they may be used is a rule's to say.

mod coordination;
pub mod survey;

use std::future::Future;

use covenant_model::id::{
    AgentSessionId, CheckId, ContextId, DeveloperId, NoteId, RANDOM_BYTES, TaskId, WarningId, WorkspaceId,
    WorkstreamId,
};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;

pub use self::coordination::CoordinationTx;

use crate::event::{Event, GivenFeedback};
use crate::overlap::{Among, Match, Query};
use crate::session::{Companion, Session, SharedContext, Snapshot};
use crate::warning::{Judgement, Warning};
use crate::work::{Brief, Kind, Work, WorkId};

/// Something broke: the operation is not done, and its transaction is rolled back.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// A member of a team, as operations see one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// What it is called by.
    pub id: DeveloperId,
    /// In which team.
    pub workspace: WorkspaceId,
    /// Its name among people.
    pub handle: String,
    /// Whether others see it only as `@private`.
    pub private: bool,
}

/// A look at what others do, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What it is called by.
    pub id: CheckId,
    /// In which team.
    pub workspace: WorkspaceId,
    /// Who looked.
    pub developer: DeveloperId,
    /// For which kind of work.
    pub kind: Kind,
    /// What was to be done.
    pub brief: Brief,
    /// What is the same for titles that are the same.
    pub title_key: String,
    /// The planned work it was about, where it was named.
    pub planned: Option<WorkId>,
    /// What it warned of.
    pub warning: Option<WarningId>,
    /// When.
    pub at: Timestamp,
}

/// A decision or a blocker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is called by.
    pub id: NoteId,
    /// In which team.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub developer: DeveloperId,
    /// In which session.
    pub session: Option<AgentSessionId>,
    /// `decision` or `blocker`.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
    /// The work it is about.
    pub work: Option<WorkId>,
    /// When.
    pub at: Timestamp,
}

/// What is answered.
pub type Kept<T> = Result<T, Broken>;

/// One transaction on a team's records.
pub trait TeamTx: survey::Survey + CoordinationTx + Send {
    /// Random bytes for an id.
    fn draw(&mut self) -> Kept<[u8; RANDOM_BYTES]>;

    /// Who that principal is in a team, if it is a member of one.
    fn member(&mut self, principal: &Principal) -> impl Future<Output = Kept<Option<Member>>> + Send;
    /// The member of that team with that handle.
    fn member_called(
        &mut self,
        workspace: &WorkspaceId,
        handle: &str,
    ) -> impl Future<Output = Kept<Option<Member>>> + Send;
    /// The member with that id.
    fn member_with(&mut self, id: &DeveloperId) -> impl Future<Output = Kept<Option<Member>>> + Send;
    /// Waits until nobody else changes that team's work, keeps others from it until the end of the transaction, and numbers
    /// the changes that follow.
    fn take_turn(&mut self, workspace: &WorkspaceId) -> impl Future<Output = Kept<()>> + Send;

    /// A task or a workstream.
    fn work(&mut self, id: &WorkId) -> impl Future<Output = Kept<Option<Work>>> + Send;
    /// What that developer made by a call with that key.
    fn work_by_key(
        &mut self,
        kind: Kind,
        developer: &DeveloperId,
        key: &str,
    ) -> impl Future<Output = Kept<Option<Work>>> + Send;
    /// The open tasks of a workstream, oldest first, at most so many.
    fn open_tasks(
        &mut self,
        workstream: &WorkstreamId,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<TaskId>>> + Send;
    /// How many open tasks a workstream has, counted up to [`survey::COUNTED`].
    fn open_task_count(&mut self, workstream: &WorkstreamId) -> impl Future<Output = Kept<u64>> + Send;
    /// Keeps new work.
    fn add_work(&mut self, work: &Work) -> impl Future<Output = Kept<()>> + Send;
    /// Keeps work that changed.
    fn save_work(&mut self, work: &Work) -> impl Future<Output = Kept<()>> + Send;

    /// The work of a team that is most like what is looked for, best first, at most so much and none below the warn floor, as
    /// it was when the turn was taken; without a turn, as it is. Containers are not among it.
    fn alike(
        &mut self,
        workspace: &WorkspaceId,
        query: &Query,
        among: &Among<'_, WorkId>,
        most: usize,
    ) -> impl Future<Output = Kept<Vec<Match<WorkId>>>> + Send;
    /// The open tasks and workstreams of a team that mean to touch one of those files, as of the same moment.
    fn touching(
        &mut self,
        workspace: &WorkspaceId,
        files: &[String],
    ) -> impl Future<Output = Kept<Vec<WorkId>>> + Send;
    /// The running workstream of that developer, a container or not, that is most like what is looked for, if one is.
    fn stream_for(
        &mut self,
        workspace: &WorkspaceId,
        developer: &DeveloperId,
        query: &Query,
    ) -> impl Future<Output = Kept<Option<WorkstreamId>>> + Send;

    /// Keeps a warning; open ones of the same developer for the same title are superseded by it.
    fn add_warning(&mut self, warning: &Warning) -> impl Future<Output = Kept<()>> + Send;
    /// A warning.
    fn warning(&mut self, id: &WarningId) -> impl Future<Output = Kept<Option<Warning>>> + Send;
    /// Whether whoever began one of the two judged that the other is other work.
    fn is_judged_distinct(&mut self, one: &WorkId, other: &WorkId)
    -> impl Future<Output = Kept<bool>> + Send;
    /// The open warnings of a developer that were given as that work was planned.
    fn warnings_about(
        &mut self,
        developer: &DeveloperId,
        work: &WorkId,
    ) -> impl Future<Output = Kept<Vec<Warning>>> + Send;
    /// Keeps what became of a warning.
    fn settle_warning(&mut self, warning: &Warning) -> impl Future<Output = Kept<()>> + Send;
    /// Keeps what was made of the candidates of a check.
    fn add_judgement(&mut self, judgement: &Judgement) -> impl Future<Output = Kept<()>> + Send;

    /// Keeps a check.
    fn add_check(&mut self, check: &Check) -> impl Future<Output = Kept<()>> + Send;
    /// The check of that id.
    fn check(&mut self, id: &CheckId) -> impl Future<Output = Kept<Option<Check>>> + Send;
    /// The newest check of that developer for that kind of work with that title, none later than `until`; where `planned` is
    /// given, about that one.
    fn latest_check(
        &mut self,
        developer: &DeveloperId,
        kind: Kind,
        title_key: &str,
        planned: Option<&WorkId>,
        until: Timestamp,
    ) -> impl Future<Output = Kept<Option<Check>>> + Send;

    /// A session.
    fn session(&mut self, id: &AgentSessionId) -> impl Future<Output = Kept<Option<Session>>> + Send;
    /// Keeps a new session.
    fn add_session(&mut self, session: &Session) -> impl Future<Output = Kept<()>> + Send;
    /// Notes when a session was heard of, and when it was over.
    fn save_session(&mut self, session: &Session) -> impl Future<Output = Kept<()>> + Send;
    /// Keeps how a repository looks, in place of what was known of the same repository, branch and worktree by the same session.
    fn save_snapshot(&mut self, snapshot: &Snapshot) -> impl Future<Output = Kept<()>> + Send;
    /// Keeps a companion's sign of life; what it does not say stays.
    fn save_companion(&mut self, companion: &Companion) -> impl Future<Output = Kept<()>> + Send;

    /// A context.
    fn context(&mut self, id: &ContextId) -> impl Future<Output = Kept<Option<SharedContext>>> + Send;
    /// The contexts of a team that count at that moment, the newest first: of everybody, or of one; at most so many.
    fn contexts(
        &mut self,
        workspace: &WorkspaceId,
        of: Option<&DeveloperId>,
        now: Timestamp,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<SharedContext>>> + Send;
    /// Keeps a new context in place of that developer's earlier ones for the same repository and branch.
    fn publish(&mut self, context: &SharedContext) -> impl Future<Output = Kept<Vec<ContextId>>> + Send;
    /// Withdraws a context.
    fn revoke(&mut self, id: &ContextId, at: Timestamp) -> impl Future<Output = Kept<()>> + Send;

    /// Keeps a note.
    fn add_note(&mut self, note: &Note) -> impl Future<Output = Kept<()>> + Send;

    /// Writes down what changed.
    fn add_changes(&mut self, events: &[Event]) -> impl Future<Output = Kept<()>> + Send;
    /// Writes down that a call was made.
    fn add_usage(&mut self, event: &Event) -> impl Future<Output = Kept<()>> + Send;
    /// Writes down what an agent was told.
    fn add_feedback(&mut self, feedback: &GivenFeedback) -> impl Future<Output = Kept<()>> + Send;
    /// What a developer was told, the newest first, at most so many; of one kind, if that is wanted.
    fn feedback(
        &mut self,
        developer: &DeveloperId,
        tone: Option<&str>,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<GivenFeedback>>> + Send;
}
