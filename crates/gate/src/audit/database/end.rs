//! The end of the chain as far as it is known, and what may stand beyond it: steps whose commit nobody confirmed.
//!
//! At most one of those happened, because all of them begin with the same row number. One that is not there yet may still
//! come, until a later commit takes its number.

use std::collections::{BTreeSet, VecDeque};

use covenant_model::audit::{Chain, Row};
use covenant_model::time::Timestamp;

use super::super::queue::{Batch, Track, Waiting};
use super::super::sink::Entry;
use super::super::sync::Head;

/// How many steps that are not there are still expected; older ones have long been given up by any database.
const EXPECTED: usize = 8;

/// Rows that are committed together.
pub(super) struct Step {
    /// The number of the first.
    pub(super) first: u64,
    /// The chain after the last.
    pub(super) chain: Chain,
    tracks: Vec<Track>,
    /// The bodies of those that start a call, with their numbers.
    pub(super) starts: Vec<(u64, Vec<u8>)>,
    /// Owed rows among them, until it is known whether they must be written again.
    owed: Vec<Waiting>,
}

/// The chain's end.
pub(super) struct End {
    chain: Chain,
    open: BTreeSet<u64>,
    doubts: Vec<Step>,
    /// Whether the database must be asked before anything else is written.
    unsure: bool,
}

/// What the database's own end says about the steps in doubt.
pub(super) struct Settled {
    /// The one that happened.
    pub(super) happened: Option<Step>,
    /// Owed rows that were not written.
    pub(super) owed: Vec<Waiting>,
}

impl End {
    pub(super) fn new(chain: Chain, open: BTreeSet<u64>) -> Self {
        Self { chain, open, doubts: Vec::new(), unsure: false }
    }

    pub(super) fn chain(&self) -> Chain {
        self.chain
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.unsure
    }

    pub(super) fn head(&self) -> Head {
        Head { chain: self.chain, oldest_open: self.open.first().copied() }
    }

    /// What the head will be after that step.
    pub(super) fn head_after(&self, step: &Step) -> Head {
        let mut open = self.open.clone();
        step.track(&mut open);
        Head { chain: step.chain, oldest_open: open.first().copied() }
    }

    /// Links all that waits to the chain. Nothing has changed yet.
    pub(super) fn link(&self, waiting: &VecDeque<Waiting>) -> (Vec<Entry>, Step) {
        let mut chain = self.chain;
        let first = chain.last().saturating_add(1);
        let mut step = Step { first, chain, tracks: Vec::new(), starts: Vec::new(), owed: Vec::new() };
        let mut entries = Vec::new();
        for (body, track) in waiting.iter().flat_map(|waiting| waiting.batch.bodies()) {
            let mut line = Vec::with_capacity(body.len() + 192);
            chain.link(body, &mut line);
            line.pop();
            if track == Track::Opens {
                step.starts.push((chain.last(), body.to_vec()));
            }
            step.tracks.push(track);
            let ts = Row::read(&line).ok().and_then(|row| row.ts());
            entries.push(Entry {
                seq: chain.last(),
                ts: ts.unwrap_or(Timestamp::from_millis(0)),
                line: String::from_utf8_lossy(&line).into_owned(),
            });
        }
        step.chain = chain;
        (entries, step)
    }

    /// The step was committed: no other can be any more.
    pub(super) fn take(&mut self, step: &Step) {
        step.track(&mut self.open);
        self.chain = step.chain;
        self.doubts.clear();
        self.unsure = false;
    }

    /// Nobody knows whether the step was committed.
    pub(super) fn doubt(&mut self, step: Step) {
        self.unsure = true;
        if self.doubts.iter().all(|doubt| doubt.chain != step.chain) {
            if self.doubts.len() >= EXPECTED {
                self.doubts.remove(0);
            }
            self.doubts.push(step);
        }
    }

    /// Keeps owed rows of the step doubted last until it is known what became of it.
    pub(super) fn hold(&mut self, owed: Vec<Waiting>) {
        if let Some(doubt) = self.doubts.last_mut() {
            doubt.owed = owed;
        }
    }

    /// Compares with what the database says its end is. `None` if somebody else wrote there.
    pub(super) fn settle(&mut self, found: Chain) -> Option<Settled> {
        let happened = self.doubts.iter().position(|doubt| doubt.chain == found);
        if happened.is_none() && found != self.chain {
            return None;
        }
        self.unsure = false;
        let happened = happened.map(|index| self.doubts.swap_remove(index));
        let owed = self.doubts.iter_mut().flat_map(|doubt| std::mem::take(&mut doubt.owed)).collect();
        if let Some(step) = &happened {
            self.take(step);
        }
        Some(Settled { happened, owed })
    }
}

impl Step {
    fn track(&self, open: &mut BTreeSet<u64>) {
        for (track, seq) in self.tracks.iter().zip(self.first..) {
            track.apply(seq, open);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }
}

/// How many rows those batches have.
pub(super) fn rows(batch: &Batch) -> u64 {
    u64::try_from(batch.rows()).unwrap_or(0)
}
