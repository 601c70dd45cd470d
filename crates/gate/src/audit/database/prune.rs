//! Removing what is old: a signed tombstone with the hash at the cut is committed before the first row goes.

use covenant_model::api::Pruned;
use covenant_model::audit::{Row, Tombstone};
use covenant_model::time::Timestamp;

use super::super::sink::Kept;
use super::DatabaseLog;
use crate::refusal::Fault;

impl DatabaseLog {
    /// Removes the rows before the first that is young enough, or belongs to a call that still runs.
    pub(in super::super) async fn prune(&self, before: Timestamp) -> Result<Pruned, Fault> {
        let shared = &*self.shared;
        let _alone = shared.pruning.lock().await;
        let Some(first) = shared.store.rows(1, 1).await?.into_iter().next().map(|row| row.seq) else {
            return Ok(Pruned { rows: 0, first_kept: shared.head.lock().chain.last().saturating_add(1) });
        };
        // The calls that run are asked for first: one that starts later has a row after these.
        let head = *shared.head.lock();
        let next = head.chain.last().saturating_add(1);
        let young = shared.store.first_since(before).await?.unwrap_or(next);
        let first_kept = young.min(next).min(head.oldest_open.unwrap_or(next));
        if first_kept <= first {
            return Ok(Pruned { rows: 0, first_kept: first });
        }
        let last = first_kept.saturating_sub(1);
        let broken = |why: &dyn std::fmt::Display| {
            Fault::new(format!("old audit rows could not be removed: row {last} {why}"), why)
        };
        let cut = shared.store.rows(last, 1).await?.into_iter().find(|row| row.seq == last);
        let cut = cut.ok_or_else(|| broken(&"is missing"))?;
        let hash = Row::read(cut.line.as_bytes()).and_then(|row| row.checked());
        let hash = hash.map_err(|bad| broken(&format!("is damaged: {bad}")))?;
        let rows = first_kept.saturating_sub(first);
        let tombstone = Tombstone::sign(&shared.key, first_kept, hash, rows, shared.clock.now());
        shared.store.bury(Kept { seq: first_kept, line: tombstone.line() }).await?;
        shared.store.remove_before(first_kept).await?;
        Ok(Pruned { rows, first_kept })
    }
}
