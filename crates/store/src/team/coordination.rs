//! The part of a team's transaction that coordination needs: each is answered by the file that knows its table.

use covenant_model::id::{AgentSessionId, AskId, ClaimId, DeveloperId, MessageId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::coordination::{Claim, Concerning, Delivered, Message, MessageKind, Wait};
use covenant_team::port::{CoordinationTx, Kept};
use covenant_team::session::{Elsewhere, Looked};

use super::transaction::on;
use super::{TeamTransaction, claims, messages, worktrees};

impl CoordinationTx for TeamTransaction {
    async fn worktrees(&mut self, workspace: &WorkspaceId, of: Elsewhere<'_>, most: u32) -> Kept<Looked> {
        on!(self, worktrees::recent(workspace, of, most))
    }

    async fn claim(&mut self, id: &ClaimId) -> Kept<Option<Claim>> {
        on!(self, claims::find(id))
    }

    async fn open_claims(&mut self, workspace: &WorkspaceId, most: usize) -> Kept<Vec<Claim>> {
        on!(self, claims::open(workspace, most))
    }

    async fn own_claims(&mut self, developer: &DeveloperId) -> Kept<Vec<Claim>> {
        on!(self, claims::own(developer))
    }

    async fn add_claim(&mut self, claim: &Claim) -> Kept<()> {
        on!(self, claims::add(claim))
    }

    async fn save_claim(&mut self, claim: &Claim) -> Kept<()> {
        on!(self, claims::save(claim))
    }

    async fn renew_claims(&mut self, session: &AgentSessionId, now: Timestamp) -> Kept<u64> {
        on!(self, claims::renew(session, now))
    }

    async fn has_lapsed(&mut self, workspace: &WorkspaceId, now: Timestamp, latest: Timestamp) -> Kept<bool> {
        on!(self, claims::has_lapsed(workspace, now, latest))
    }

    async fn lapse(
        &mut self,
        workspace: &WorkspaceId,
        now: Timestamp,
        latest: Timestamp,
    ) -> Kept<Vec<Claim>> {
        on!(self, claims::lapse(workspace, now, latest))
    }

    async fn untold(&mut self, developer: &DeveloperId, most: u32) -> Kept<Vec<Claim>> {
        on!(self, claims::untold(developer, most))
    }

    async fn mark_told(&mut self, id: &ClaimId, at: Timestamp) -> Kept<()> {
        on!(self, claims::mark_told(id, at))
    }

    async fn waits(&mut self, claim: &ClaimId) -> Kept<Vec<Wait>> {
        on!(self, claims::waits(claim))
    }

    async fn save_wait(&mut self, wait: &Wait) -> Kept<()> {
        on!(self, claims::save_wait(wait))
    }

    async fn send(&mut self, message: &Message) -> Kept<()> {
        on!(self, messages::send(message))
    }

    async fn ask(&mut self, id: &AskId) -> Kept<Option<Message>> {
        on!(self, messages::ask(id))
    }

    async fn replies(&mut self, ask: &AskId, most: usize) -> Kept<Vec<Message>> {
        on!(self, messages::replies(ask, most))
    }

    async fn close(&mut self, id: &MessageId, at: Timestamp) -> Kept<()> {
        on!(self, messages::close(id, at))
    }

    async fn open_messages(
        &mut self,
        workspace: &WorkspaceId,
        kind: MessageKind,
        concerning: Concerning<'_>,
        most: u32,
    ) -> Kept<Vec<Message>> {
        on!(self, messages::open(workspace, kind, concerning, most))
    }

    async fn recent_messages(
        &mut self,
        workspace: &WorkspaceId,
        kind: MessageKind,
        most: u32,
    ) -> Kept<Vec<Message>> {
        on!(self, messages::recent(workspace, kind, most))
    }

    async fn inbox(&mut self, developer: &DeveloperId, most: u32) -> Kept<Vec<Delivered>> {
        on!(self, messages::inbox(developer, most))
    }

    async fn unread_inbox(&mut self, developer: &DeveloperId, most: u32) -> Kept<Vec<Delivered>> {
        on!(self, messages::unread_inbox(developer, most))
    }

    async fn unread(&mut self, developer: &DeveloperId, most: u32) -> Kept<u64> {
        on!(self, messages::unread(developer, most))
    }

    async fn mark_read(&mut self, developer: &DeveloperId, id: &MessageId, at: Timestamp) -> Kept<bool> {
        on!(self, messages::mark_read(developer, id, at))
    }
}
