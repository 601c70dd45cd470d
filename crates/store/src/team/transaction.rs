//! One transaction on teams' records: it remembers its turn, and the first thing that broke.

use std::sync::Arc;

use covenant_gate::random;
use covenant_gate::refusal::Fault;
use covenant_model::id::{
    AgentSessionId, CheckId, ContextId, DeveloperId, RANDOM_BYTES, TaskId, WarningId, WorkspaceId,
    WorkstreamId,
};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_team::event::{Event, GivenFeedback};
use covenant_team::overlap::{Among, Match, Query};
use covenant_team::port::{Broken, Check, Kept, Member, Note, TeamTx};
use covenant_team::session::{Companion, Session, SharedContext, Snapshot};
use covenant_team::warning::{Judgement, Warning};
use covenant_team::work::{Kind, Work, WorkId};

use super::likeness::{Known, Likeness, Reach};
use super::{checks, contexts, events, members, sessions, warnings, work};
use crate::db::{DbError, Record, Tx};

pub(super) const TURN: &str = "UPDATE workspaces SET turn = turn + 1 WHERE id = $1 RETURNING id, turn";

/// Runs one of the functions below on the transaction, and remembers what broke.
macro_rules! on {
    ($this:ident, $($function:ident)::+ ( $($argument:expr),* )) => {{
        let done = $($function)::+(&mut $this.tx, $($argument),*).await;
        $this.kept(done)
    }};
}
pub(super) use on;

/// A transaction on the records of teams. Dropped without a commit, it never happened.
pub struct TeamTransaction {
    pub(super) tx: Tx,
    likeness: Arc<Likeness>,
    /// How much of a team's work may be read in it, while others wait.
    reach: Reach,
    /// Who calls, once that was looked up.
    caller: Option<DeveloperId>,
    turn: Option<(WorkspaceId, u64)>,
    broke: Option<DbError>,
}

impl TeamTransaction {
    pub(super) fn on(tx: Tx, likeness: Arc<Likeness>, reach: Reach) -> Self {
        Self { tx, likeness, reach, caller: None, turn: None, broke: None }
    }

    /// Makes it happen.
    pub async fn commit(self) -> Result<(), Fault> {
        Ok(self.end().await?)
    }

    /// Whether that developer was not removed.
    pub(super) async fn is_here(&mut self, id: &DeveloperId) -> Kept<bool> {
        on!(self, members::is_here(id))
    }

    /// Makes it happen, unless something in it broke, whether or not whoever asked for that made anything of it.
    pub(super) async fn end(self) -> Result<(), DbError> {
        match self.broke {
            Some(error) => Err(error),
            None => self.tx.commit().await,
        }
    }

    /// What broke.
    pub(super) fn why(self, broken: Broken) -> DbError {
        self.broke.unwrap_or(DbError::Failed(broken.0))
    }

    /// Remembers what broke.
    pub(super) fn kept<T>(&mut self, done: Result<T, DbError>) -> Kept<T> {
        done.map_err(|error| {
            let broken = Broken(error.to_string());
            self.broke.get_or_insert(error);
            broken
        })
    }

    /// The number of the changes to that work.
    fn number(&self, work: &Work) -> Result<u64, DbError> {
        match &self.turn {
            Some((workspace, turn)) if *workspace == work.workspace => Ok(*turn),
            _ => {
                let (id, workspace) = (&work.id, &work.workspace);
                Err(DbError::Failed(format!("{id} is changed without a turn of {workspace}")))
            }
        }
    }

    async fn turn(&mut self, workspace: &WorkspaceId) -> Result<(), DbError> {
        if self.turn.as_ref().is_some_and(|(taken, _)| taken == workspace) {
            return Ok(());
        }
        if let Some((taken, _)) = &self.turn {
            // Two who take two turns each, in different orders, would wait for each other.
            return Err(DbError::Failed(format!("a turn of {taken} and one of {workspace} are asked for")));
        }
        let rows = self.tx.query(TURN, vec![workspace.as_str().into()]).await?;
        let Some(row) = rows.first() else {
            return Err(DbError::Failed(format!("workspace {workspace} is not there")));
        };
        let turn = Record::of("workspaces", row).count("turn")?;
        if let Some(caller) = &self.caller
            && !members::is_here(&mut self.tx, caller).await?
        {
            // Whoever was removed while they waited begins nothing more: tried again, it is a call by nobody.
            return Err(DbError::Conflict(format!("{caller} was removed")));
        }
        self.turn = Some((workspace.clone(), turn));
        Ok(())
    }

    /// What is known of a team's work, brought up to date, and asked something.
    async fn known<T>(
        &mut self,
        workspace: &WorkspaceId,
        since: Option<Timestamp>,
        ask: impl FnOnce(&Known) -> T,
    ) -> Result<T, DbError> {
        let turn = match &self.turn {
            Some((taken, turn)) if taken == workspace => Some(*turn),
            _ => None,
        };
        let team = self.likeness.of(workspace);
        let mut known = team.known.lock().await;
        known.catch_up(&mut self.tx, workspace, turn, since, self.reach).await?;
        Ok(ask(&known))
    }

    async fn add_numbered(&mut self, work: &Work) -> Result<(), DbError> {
        let turn = self.number(work)?;
        work::add(&mut self.tx, work, turn).await
    }

    async fn save_numbered(&mut self, work: &Work) -> Result<(), DbError> {
        let turn = self.number(work)?;
        work::save(&mut self.tx, work, turn).await
    }
}

impl TeamTx for TeamTransaction {
    fn draw(&mut self) -> Kept<[u8; RANDOM_BYTES]> {
        let drawn = random::bytes();
        self.kept(drawn.map_err(|fault: Fault| DbError::Failed(format!("{fault}: {}", fault.cause()))))
    }

    async fn member(&mut self, principal: &Principal) -> Kept<Option<Member>> {
        let member = on!(self, members::member(principal))?;
        self.caller = member.as_ref().map(|member| member.id.clone());
        Ok(member)
    }

    async fn member_called(&mut self, workspace: &WorkspaceId, handle: &str) -> Kept<Option<Member>> {
        on!(self, members::called(workspace, handle))
    }

    async fn member_with(&mut self, id: &DeveloperId) -> Kept<Option<Member>> {
        on!(self, members::with(id))
    }

    async fn take_turn(&mut self, workspace: &WorkspaceId) -> Kept<()> {
        let done = self.turn(workspace).await;
        self.kept(done)
    }

    async fn work(&mut self, id: &WorkId) -> Kept<Option<Work>> {
        on!(self, work::find(id))
    }

    async fn work_by_key(&mut self, kind: Kind, developer: &DeveloperId, key: &str) -> Kept<Option<Work>> {
        on!(self, work::by_key(kind, developer, key))
    }

    async fn open_tasks(&mut self, workstream: &WorkstreamId, most: u32) -> Kept<Vec<TaskId>> {
        on!(self, work::open_tasks(workstream, most))
    }

    async fn open_task_count(&mut self, workstream: &WorkstreamId) -> Kept<u64> {
        on!(self, work::open_task_count(workstream))
    }

    async fn add_work(&mut self, work: &Work) -> Kept<()> {
        let done = self.add_numbered(work).await;
        self.kept(done)
    }

    async fn save_work(&mut self, work: &Work) -> Kept<()> {
        let done = self.save_numbered(work).await;
        self.kept(done)
    }

    async fn alike(
        &mut self,
        workspace: &WorkspaceId,
        query: &Query,
        among: &Among<'_, WorkId>,
        most: usize,
    ) -> Kept<Vec<Match<WorkId>>> {
        let done =
            self.known(workspace, Some(among.ended_since), |known| known.alike(query, among, most)).await;
        self.kept(done)
    }

    async fn touching(&mut self, workspace: &WorkspaceId, files: &[String]) -> Kept<Vec<WorkId>> {
        let done = self.known(workspace, None, |known| known.touching(files)).await;
        self.kept(done)
    }

    async fn stream_for(
        &mut self,
        workspace: &WorkspaceId,
        developer: &DeveloperId,
        query: &Query,
    ) -> Kept<Option<WorkstreamId>> {
        let done = self.known(workspace, None, |known| known.stream_for(developer, query)).await;
        self.kept(done)
    }

    async fn add_warning(&mut self, warning: &Warning) -> Kept<()> {
        on!(self, warnings::add(warning))
    }

    async fn warning(&mut self, id: &WarningId) -> Kept<Option<Warning>> {
        on!(self, warnings::find(id))
    }

    async fn is_judged_distinct(&mut self, one: &WorkId, other: &WorkId) -> Kept<bool> {
        on!(self, warnings::is_judged_distinct(one, other))
    }

    async fn warnings_about(&mut self, developer: &DeveloperId, work: &WorkId) -> Kept<Vec<Warning>> {
        on!(self, warnings::about(developer, work))
    }

    async fn settle_warning(&mut self, warning: &Warning) -> Kept<()> {
        on!(self, warnings::settle(warning))
    }

    async fn add_judgement(&mut self, judgement: &Judgement) -> Kept<()> {
        on!(self, warnings::judge(judgement))
    }

    async fn add_check(&mut self, check: &Check) -> Kept<()> {
        on!(self, checks::add(check))
    }

    async fn check(&mut self, id: &CheckId) -> Kept<Option<Check>> {
        on!(self, checks::find(id))
    }

    async fn latest_check(
        &mut self,
        developer: &DeveloperId,
        kind: Kind,
        title_key: &str,
        planned: Option<&WorkId>,
        until: Timestamp,
    ) -> Kept<Option<Check>> {
        on!(self, checks::latest(developer, kind, title_key, planned, until))
    }

    async fn session(&mut self, id: &AgentSessionId) -> Kept<Option<Session>> {
        on!(self, sessions::find(id))
    }

    async fn add_session(&mut self, session: &Session) -> Kept<()> {
        on!(self, sessions::add(session))
    }

    async fn save_session(&mut self, session: &Session) -> Kept<()> {
        on!(self, sessions::save(session))
    }

    async fn save_snapshot(&mut self, snapshot: &Snapshot) -> Kept<()> {
        on!(self, sessions::save_snapshot(snapshot))
    }

    async fn save_companion(&mut self, companion: &Companion) -> Kept<()> {
        on!(self, sessions::save_companion(companion))
    }

    async fn context(&mut self, id: &ContextId) -> Kept<Option<SharedContext>> {
        on!(self, contexts::find(id))
    }

    async fn contexts(
        &mut self,
        workspace: &WorkspaceId,
        of: Option<&DeveloperId>,
        now: Timestamp,
        most: u32,
    ) -> Kept<Vec<SharedContext>> {
        on!(self, contexts::current(workspace, of, now, most))
    }

    async fn publish(&mut self, context: &SharedContext) -> Kept<Vec<ContextId>> {
        on!(self, contexts::publish(context))
    }

    async fn revoke(&mut self, id: &ContextId, at: Timestamp) -> Kept<()> {
        on!(self, contexts::revoke(id, at))
    }

    async fn add_note(&mut self, note: &Note) -> Kept<()> {
        on!(self, checks::add_note(note))
    }

    async fn add_changes(&mut self, events: &[Event]) -> Kept<()> {
        on!(self, events::add_changes(events))
    }

    async fn add_usage(&mut self, event: &Event) -> Kept<()> {
        on!(self, events::add_usage(event))
    }

    async fn add_feedback(&mut self, feedback: &GivenFeedback) -> Kept<()> {
        on!(self, events::add_feedback(feedback))
    }

    async fn feedback(
        &mut self,
        developer: &DeveloperId,
        tone: Option<&str>,
        most: u32,
    ) -> Kept<Vec<GivenFeedback>> {
        on!(self, events::feedback(developer, tone, most))
    }
}
