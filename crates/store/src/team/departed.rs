//! Developers who were removed: what they had open ends, a slice at a time.

use covenant_gate::refusal::Fault;
use covenant_model::id::DeveloperId;
use covenant_model::time::Timestamp;
use covenant_team::port::{Kept, TeamTx as _};

use super::TeamTransaction;
use super::likeness::Reach;
use crate::db::{DbError, Record, retried};
use crate::open::Store;

const DEPARTED: &str = "SELECT id FROM developers WHERE removed_at IS NOT NULL";

impl Store {
    /// Ends what everybody who was removed still has open. Costs next to nothing where that is nothing.
    pub async fn settle_departed(&self, now: Timestamp) -> Result<(), Fault> {
        let rows = self.db.query(DEPARTED, Vec::new()).await?;
        for row in &rows {
            self.settle(&Record::of("developers", row).parse("id")?, now).await?;
        }
        Ok(())
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
    match tx.member_with(id).await? {
        Some(member) => covenant_team::depart(tx, member, now).await,
        None => Ok(false),
    }
}
