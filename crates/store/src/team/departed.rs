//! Developers who were removed: what they had open ends, a slice at a time.

use covenant_gate::refusal::Fault;
use covenant_model::id::DeveloperId;
use covenant_model::time::Timestamp;
use covenant_team::port::{Kept, TeamTx as _};

use super::TeamTransaction;
use super::likeness::Reach;
use crate::db::{DbError, Record, retried};
use crate::open::Store;

/// Those who were removed and have something open. Containers end with their last task.
const DEPARTED: &str = "SELECT id FROM developers d WHERE removed_at IS NOT NULL AND \
    (EXISTS (SELECT 1 FROM agent_sessions s WHERE s.developer_id = d.id AND s.ended_at IS NULL) \
     OR EXISTS (SELECT 1 FROM claims c WHERE c.developer_id = d.id AND c.ending IS NULL) \
     OR EXISTS (SELECT 1 FROM tasks t WHERE t.developer_id = d.id AND t.status IN ('planned', 'active', 'blocked')) \
     OR EXISTS (SELECT 1 FROM workstreams w WHERE w.developer_id = d.id AND w.auto_created = 0 \
                AND w.status IN ('planned', 'active', 'blocked')))";

impl Store {
    /// Ends what everybody who was removed still has open. Nobody waits for a turn where that is nothing.
    pub async fn settle_departed(&self, now: Timestamp) -> Result<(), Fault> {
        let rows = self.db.query(DEPARTED, Vec::new()).await?;
        let mut settled = Ok(());
        for row in &rows {
            // What cannot be ended of one keeps nothing of another's open.
            settled = settled.and(self.settle(&Record::of("developers", row).parse("id")?, now).await);
        }
        settled
    }

    /// Ends what somebody has open who was removed.
    pub async fn settle(&self, id: &DeveloperId, now: Timestamp) -> Result<(), Fault> {
        while retried(|| self.settle_slice(id, now)).await? {}
        Ok(())
    }

    async fn settle_slice(&self, id: &DeveloperId, now: Timestamp) -> Result<bool, DbError> {
        let mut tx = self.begin_in_turn(Reach::Changes).await?;
        match depart(&mut tx, id, now).await {
            Ok(false) => Ok(false),
            Ok(true) => tx.end().await.map(|()| true),
            Err(broken) => Err(tx.why(broken)),
        }
    }
}

async fn depart(tx: &mut TeamTransaction, id: &DeveloperId, now: Timestamp) -> Kept<bool> {
    let Some(member) = tx.member_with(id).await? else { return Ok(false) };
    tx.take_turn(&member.workspace).await?;
    // Somebody who was invited again while this waited is who they were, and what they have open is theirs.
    if tx.is_here(id).await? { Ok(false) } else { covenant_team::depart(tx, member, now).await }
}
