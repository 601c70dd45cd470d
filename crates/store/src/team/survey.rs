//! The lists of a team, as a transaction reads them: each from the file that knows its rows.

use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::audit::Audit;
use covenant_team::input::NoteKind;
use covenant_team::port::survey::{Listed, Shelf, Summary, Survey, Warned, Whose};
use covenant_team::port::{Kept, Member, Note};
use covenant_team::session::{Session, SharedContext};
use covenant_team::work::{Kind, Status, Work, WorkId};

use super::transaction::{TeamTransaction, on};
use super::{audits, checks, contexts, members, sessions, shelves, warnings, work};

impl Survey for TeamTransaction {
    async fn number(&mut self, workspace: &WorkspaceId, of: Shelf) -> Kept<u64> {
        on!(self, shelves::number(workspace, of))
    }

    async fn members_with(&mut self, ids: &[DeveloperId]) -> Kept<Vec<Member>> {
        on!(self, members::these(ids))
    }

    async fn listed(
        &mut self,
        whose: Whose<'_>,
        kind: Kind,
        status: Status,
        since: Timestamp,
        most: u32,
    ) -> Kept<Vec<Listed>> {
        on!(self, shelves::listed(whose, kind, status, since, most))
    }

    async fn standing(&mut self, ids: &[WorkId]) -> Kept<Vec<Listed>> {
        on!(self, shelves::standing(ids))
    }

    async fn running(
        &mut self,
        workspace: &WorkspaceId,
        kind: Kind,
        status: Status,
        most: u32,
    ) -> Kept<Vec<Work>> {
        on!(self, work::standing(workspace, kind, status, Timestamp::default(), most))
    }

    async fn notes(
        &mut self,
        workspace: &WorkspaceId,
        kind: NoteKind,
        since: Timestamp,
        most: u32,
    ) -> Kept<Vec<Note>> {
        on!(self, checks::notes(workspace, kind, since, most))
    }

    async fn seen(&mut self, workspace: &WorkspaceId, since: Timestamp, most: u32) -> Kept<Vec<Session>> {
        on!(self, sessions::seen(workspace, since, most))
    }

    async fn silent(
        &mut self,
        whose: Whose<'_>,
        since: Timestamp,
        before: Timestamp,
        most: u32,
    ) -> Kept<Vec<Session>> {
        on!(self, sessions::silent(whose, since, before, most))
    }

    async fn newest_context(&mut self, developer: &DeveloperId) -> Kept<Option<SharedContext>> {
        on!(self, contexts::newest(developer))
    }

    async fn warned(&mut self, whose: Whose<'_>, since: Timestamp, most: u32) -> Kept<Vec<Warned>> {
        on!(self, warnings::newest(whose, since, most))
    }

    async fn add_audit(&mut self, audit: &Audit) -> Kept<()> {
        on!(self, audits::add(audit))
    }

    async fn audits(&mut self, workspace: &WorkspaceId, since: Timestamp, most: u32) -> Kept<Vec<Audit>> {
        on!(self, audits::newest(workspace, since, most))
    }

    async fn add_summary(&mut self, summary: &Summary) -> Kept<()> {
        on!(self, audits::add_summary(summary))
    }
}
