//! Follows rows read back, from where the last checkpoint says to the end, and gathers the calls that never ended.

use std::collections::BTreeMap;

use covenant_model::audit::{BadRow, Chain, Checkpoint, Kind, Record, Row, Tombstone};
use ed25519_dalek::VerifyingKey;

/// The walk to the end of a log.
pub(super) struct Replay<'a> {
    /// The first row that is read.
    start: u64,
    chain: Option<Chain>,
    floor: Chain,
    mark: Option<&'a Checkpoint>,
    /// Lines of the calls that never ended, by row.
    pub(super) open: BTreeMap<u64, Vec<u8>>,
}

/// Something is not as it was signed.
pub(super) struct Damage {
    pub(super) row: u64,
    pub(super) reason: String,
}

impl<'a> Replay<'a> {
    pub(super) fn new(floor: Chain, mark: Option<&'a Checkpoint>) -> Self {
        let base = floor.last().saturating_add(1);
        let start = mark.map_or(base, |mark| mark.open_from.min(mark.seq).max(base));
        let chain = (start == base).then_some(floor);
        Self { start, chain, floor, mark, open: BTreeMap::new() }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Whether the row it starts with, or the beginning of the log, is known.
    pub(super) fn has_begun(&self) -> bool {
        self.chain.is_some()
    }

    /// Begins with this row, if it is the one to begin with.
    pub(super) fn begin(&mut self, line: &[u8]) -> bool {
        if let Ok(row) = Row::read(line)
            && row.seq == self.start
        {
            self.chain = row.prev().map(|prev| Chain::after(row.seq.saturating_sub(1), prev));
            return true;
        }
        false
    }

    /// The number of the row that must come next.
    pub(super) fn next(&self) -> u64 {
        self.chain.map_or(self.start, |chain| chain.last().saturating_add(1))
    }

    /// Follows the next row.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), BadRow> {
        let mut chain = self.chain.unwrap_or(self.floor);
        chain.follow(line)?;
        if self.mark.is_some_and(|mark| mark.seq == chain.last() && mark.hash != chain.hash()) {
            return Err(BadRow::Changed { seq: chain.last() });
        }
        self.chain = Some(chain);
        let record = Record::read(line).ok_or(BadRow::Shape)?;
        if record.kind == Kind::CallStarted.as_str() {
            self.open.insert(chain.last(), line.to_vec());
        } else if let Some(started) = record.started {
            self.open.remove(&started);
        }
        Ok(())
    }

    /// Whether something signed covers the row that must come next.
    pub(super) fn is_covered(&self) -> bool {
        self.mark.is_some_and(|mark| mark.seq >= self.next())
    }

    /// The end, once there are no more rows.
    pub(super) fn end(&self) -> Result<Chain, Damage> {
        match self.mark.filter(|mark| mark.seq >= self.next()) {
            Some(mark) => {
                let reason = format!("it is missing, and a checkpoint covers row {}", mark.seq);
                Err(Damage { row: self.next(), reason })
            }
            None => Ok(self.chain.unwrap_or(self.floor)),
        }
    }
}

/// Where a log begins: after what was pruned.
pub(super) fn floor(tombstone: Option<&Tombstone>) -> Chain {
    tombstone.map_or_else(Chain::start, |mark| Chain::after(mark.first_kept.saturating_sub(1), mark.prev))
}

/// A planted tombstone would make us delete rows, a planted checkpoint would make us distrust them.
pub(super) fn trust(
    tombstone: Option<&Tombstone>,
    mark: Option<&Checkpoint>,
    key: &VerifyingKey,
) -> Result<(), Damage> {
    let trusted = std::slice::from_ref(key);
    if let Some(mark) = tombstone {
        mark.verify(trusted).map_err(|error| Damage {
            row: mark.first_kept,
            reason: format!("its tombstone is forged: {error}"),
        })?;
    }
    if let Some(mark) = mark {
        mark.verify(trusted).map_err(|error| Damage {
            row: mark.seq,
            reason: format!("its checkpoint is forged: {error}"),
        })?;
    }
    Ok(())
}
