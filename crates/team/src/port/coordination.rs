//! What teammates need kept to coordinate: claims, who waits for them, and messages. Part of the transaction of every call.

use std::future::Future;

use covenant_model::id::{AgentSessionId, AskId, ClaimId, DeveloperId, MessageId, WorkspaceId};
use covenant_model::time::Timestamp;

use super::Kept;
use crate::coordination::{Claim, Concerning, Delivered, Message, MessageKind, Wait};
use crate::session::{Elsewhere, Looked};

/// The part of a transaction that coordination needs.
pub trait CoordinationTx: Send {
    /// How a team's repositories look, at most so many, and no more bytes of them than one call is worth.
    fn worktrees(
        &mut self,
        workspace: &WorkspaceId,
        of: Elsewhere<'_>,
        most: u32,
    ) -> impl Future<Output = Kept<Looked>> + Send;

    /// A claim, whether or not it ended.
    fn claim(&mut self, id: &ClaimId) -> impl Future<Output = Kept<Option<Claim>>> + Send;
    /// The claims of a team that did not end, those that expire first first; at most so many.
    fn open_claims(
        &mut self,
        workspace: &WorkspaceId,
        most: usize,
    ) -> impl Future<Output = Kept<Vec<Claim>>> + Send;
    /// The claims of a developer that did not end.
    fn own_claims(&mut self, developer: &DeveloperId) -> impl Future<Output = Kept<Vec<Claim>>> + Send;
    /// Keeps a new claim.
    fn add_claim(&mut self, claim: &Claim) -> impl Future<Output = Kept<()>> + Send;
    /// Keeps a claim that changed: its paths, until when, for how long, and how it ended.
    fn save_claim(&mut self, claim: &Claim) -> impl Future<Output = Kept<()>> + Send;
    /// Renews the claims of a session, each for as long as it says, and shortens none. How many.
    fn renew_claims(
        &mut self,
        session: &AgentSessionId,
        now: Timestamp,
    ) -> impl Future<Output = Kept<u64>> + Send;
    /// Whether a claim of that team that did not end expires until `now`, or only after `latest`.
    fn has_lapsed(
        &mut self,
        workspace: &WorkspaceId,
        now: Timestamp,
        latest: Timestamp,
    ) -> impl Future<Output = Kept<bool>> + Send;
    /// Ends these, as expired; which those were.
    fn lapse(
        &mut self,
        workspace: &WorkspaceId,
        now: Timestamp,
        latest: Timestamp,
    ) -> impl Future<Output = Kept<Vec<Claim>>> + Send;
    /// The expired claims of a developer that its agents were not told of, at most so many.
    fn untold(&mut self, developer: &DeveloperId, most: u32)
    -> impl Future<Output = Kept<Vec<Claim>>> + Send;
    /// Notes that the agents of its developer were told of an expired claim.
    fn mark_told(&mut self, id: &ClaimId, at: Timestamp) -> impl Future<Output = Kept<()>> + Send;

    /// Who waits for a claim, whoever came first first.
    fn waits(&mut self, claim: &ClaimId) -> impl Future<Output = Kept<Vec<Wait>>> + Send;
    /// Notes that somebody waits for a claim, in place of what was noted of the same before; for no paths, not any more.
    fn save_wait(&mut self, wait: &Wait) -> impl Future<Output = Kept<()>> + Send;

    /// Keeps a message and puts it in inboxes: its receiver's, or everybody's; in its sender's as read.
    fn send(&mut self, message: &Message) -> impl Future<Output = Kept<()>> + Send;
    /// The ask with that id.
    fn ask(&mut self, id: &AskId) -> impl Future<Output = Kept<Option<Message>>> + Send;
    /// What was said to an ask, the oldest first, at most so many.
    fn replies(&mut self, ask: &AskId, most: usize) -> impl Future<Output = Kept<Vec<Message>>> + Send;
    /// Notes that nothing is left to do for a message. If that was so before, it stays so since then.
    fn close(&mut self, id: &MessageId, at: Timestamp) -> impl Future<Output = Kept<()>> + Send;
    /// The messages of that kind for which something is left to do, the newest first, at most so many.
    fn open_messages(
        &mut self,
        workspace: &WorkspaceId,
        kind: MessageKind,
        concerning: Concerning<'_>,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Message>>> + Send;
    /// The messages of that kind in a team, the newest first, at most so many.
    fn recent_messages(
        &mut self,
        workspace: &WorkspaceId,
        kind: MessageKind,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Message>>> + Send;
    /// What is in an inbox, the newest first, at most so many.
    fn inbox(
        &mut self,
        developer: &DeveloperId,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Delivered>>> + Send;
    /// What is unread in an inbox, the newest first, at most so many.
    fn unread_inbox(
        &mut self,
        developer: &DeveloperId,
        most: u32,
    ) -> impl Future<Output = Kept<Vec<Delivered>>> + Send;
    /// How much is unread in an inbox, counted up to so many.
    fn unread(&mut self, developer: &DeveloperId, most: u32) -> impl Future<Output = Kept<u64>> + Send;
    /// Notes that a message in an inbox was read; `false` if it was read before, or is not there. Of several who read at once, one
    /// is told that it was unread.
    fn mark_read(
        &mut self,
        developer: &DeveloperId,
        id: &MessageId,
        at: Timestamp,
    ) -> impl Future<Output = Kept<bool>> + Send;
}
