//! Starting from what the database holds. A commit is whole or not there, so nothing is ever repaired: what is not as it
//! was signed is said.

use std::collections::BTreeMap;

use covenant_model::audit::{Chain, Checkpoint, Row, Tombstone};
use ed25519_dalek::VerifyingKey;

use super::super::recover::OpenError;
use super::super::replay::{self, Damage, Replay};
use super::super::sink::{Ends, Kept, RowStore};
use crate::refusal::Fault;

/// How many rows are read at a time.
const PAGE: u32 = 1024;

/// The end of the chain as it was found.
pub(super) struct Found {
    pub(super) chain: Chain,
    /// Lines of the calls that never ended, by row.
    pub(super) open: BTreeMap<u64, Vec<u8>>,
    pub(super) checkpoint: Option<Checkpoint>,
}

/// Reads the chain from where its last checkpoint says, and finishes a prune that was interrupted.
pub(super) async fn find(store: &dyn RowStore, key: &VerifyingKey) -> Result<Found, OpenError> {
    let failed = |fault: Fault| OpenError::Store { place: store.place(), fault };
    let damaged = |Damage { row, reason }| OpenError::DamagedRows { place: store.place(), row, reason };
    let ends = store.ends().await.map_err(failed)?;
    let tombstone = tombstone(&ends).map_err(damaged)?;
    let checkpoint = checkpoint(&ends).map_err(damaged)?;
    replay::trust(tombstone.as_ref(), checkpoint.as_ref(), key).map_err(damaged)?;
    if let Some(mark) = &tombstone {
        store.remove_before(mark.first_kept).await.map_err(failed)?;
    }
    let mut replay = Replay::new(replay::floor(tombstone.as_ref()), checkpoint.as_ref());
    loop {
        let page = store.rows(replay.next(), PAGE).await.map_err(failed)?;
        for row in &page {
            follow(&mut replay, row).map_err(damaged)?;
        }
        if u32::try_from(page.len()).is_ok_and(|rows| rows < PAGE) {
            break;
        }
    }
    let chain = replay.end().map_err(damaged)?;
    Ok(Found { chain, open: replay.open, checkpoint })
}

fn follow(replay: &mut Replay<'_>, row: &Kept) -> Result<(), Damage> {
    let line = row.line.as_bytes();
    if !replay.has_begun() && !replay.begin(line) {
        let reason = format!("it is missing: row {} comes in its place", row.seq);
        return Err(Damage { row: replay.next(), reason });
    }
    replay.take(line).map_err(|bad| Damage { row: replay.next(), reason: bad.to_string() })
}

/// Where the chain ends, from its ends alone.
pub(super) fn end_of(ends: &Ends) -> Result<Chain, Damage> {
    let cut = replay::floor(tombstone(ends)?.as_ref());
    let Some(kept) = &ends.row else { return Ok(cut) };
    let hash = Row::read(kept.line.as_bytes()).and_then(|row| row.checked());
    let hash = hash.map_err(|bad| Damage { row: kept.seq, reason: bad.to_string() })?;
    let chain = Chain::after(kept.seq, hash);
    // Rows before a cut are being removed.
    Ok(if chain.last() < cut.last() { cut } else { chain })
}

fn tombstone(ends: &Ends) -> Result<Option<Tombstone>, Damage> {
    let read = |kept: &Kept| {
        let told = |bad| Damage { row: kept.seq, reason: format!("its tombstone cannot be read: {bad}") };
        Tombstone::read(kept.line.as_bytes()).map_err(told)
    };
    ends.tombstone.as_ref().map(read).transpose()
}

fn checkpoint(ends: &Ends) -> Result<Option<Checkpoint>, Damage> {
    let read = |kept: &Kept| {
        let told = |bad| Damage { row: kept.seq, reason: format!("its checkpoint cannot be read: {bad}") };
        Checkpoint::read(kept.line.as_bytes()).map_err(told)
    };
    ends.checkpoint.as_ref().map(read).transpose()
}
