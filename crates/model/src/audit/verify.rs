//! Whether a log is whole: fed its lines in order, says how far it is proved and what the first bad row is.
//!
//! A checkpoint stands directly after the row it covers, a tombstone before the first row. Whoever reads live files
//! merges the two files into that order; an export already has it.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

use super::checkpoint::{BadMark, Checkpoint, Tombstone};
use super::row::{BadRow, Chain, Hash, Row};

/// Where the lines come from, and so how they may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The files of a home: rows after the last checkpoint are allowed.
    Live,
    /// An export: it must end with a checkpoint of its last row.
    Export,
}

/// The first row that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBad {
    /// Which row.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether everything is as it should be.
    pub valid: bool,
    /// How many rows there are.
    pub rows: u64,
    /// The last row that a valid checkpoint covers; 0 if none does.
    pub verified_to: u64,
    /// Whether a checkpoint kept elsewhere was given and matches.
    pub anchored: bool,
    /// The first row that is not as it should be.
    pub first_bad: Option<FirstBad>,
    /// The last valid checkpoint.
    pub head: Option<Checkpoint>,
}

/// Verifies a log line by line, in memory that does not grow.
#[derive(Debug)]
pub struct Verifier {
    trusted: Vec<VerifyingKey>,
    source: Source,
    /// Rows of which checkpoints were kept elsewhere.
    anchors: BTreeMap<u64, Hash>,
    tombstone: Option<Tombstone>,
    /// The last good row; before the first one, nothing.
    chain: Option<Chain>,
    report: Report,
}

impl Verifier {
    /// A verifier that takes signatures by those keys only.
    pub fn new(trusted: &[VerifyingKey], source: Source) -> Self {
        let report =
            Report { valid: true, rows: 0, verified_to: 0, anchored: false, first_bad: None, head: None };
        Self {
            trusted: trusted.to_vec(),
            source,
            anchors: BTreeMap::new(),
            tombstone: None,
            chain: None,
            report,
        }
    }

    /// Holds the log against one more checkpoint that was kept elsewhere. All of them must fit: a log that was
    /// rewritten and went on fits the newest alone.
    pub fn anchored_by(mut self, anchor: &Checkpoint) -> Self {
        let seq = anchor.seq;
        if let Err(error) = anchor.verify(&self.trusted) {
            self.bad(seq, format!("the anchor for row {seq} proves nothing: {error}"));
        } else if self.anchors.insert(seq, anchor.hash).is_some_and(|other| other != anchor.hash) {
            self.bad(seq, format!("two anchors for row {seq} differ: the log was rewritten between them"));
        }
        self
    }

    /// Takes the next line, without its line end.
    pub fn feed(&mut self, line: &[u8]) {
        if line.starts_with(b"{\"seq\":") {
            self.report.rows += 1;
        }
        if self.report.first_bad.is_some() {
            return;
        }
        let fed = if line.starts_with(Checkpoint::BEGIN) {
            self.checkpoint(line)
        } else if line.starts_with(Tombstone::BEGIN) {
            self.tombstone(line)
        } else {
            self.row(line)
        };
        if let Err((seq, reason)) = fed {
            self.bad(seq, reason);
        }
    }

    /// Whether a bad row was found already: nothing later can change the verdict.
    pub fn is_decided(&self) -> bool {
        self.report.first_bad.is_some()
    }

    /// Notes something wrong with the row after the last good one, which the reader of the lines found.
    pub fn reject(&mut self, reason: &str) {
        self.bad(self.next(), reason.to_owned());
    }

    /// The verdict, once all lines were fed.
    pub fn finish(mut self) -> Report {
        if self.report.first_bad.is_none()
            && let Err((seq, reason)) = self.ended()
        {
            self.bad(seq, reason);
        }
        self.report
    }

    fn bad(&mut self, seq: u64, reason: String) {
        self.report.valid = false;
        self.report.first_bad.get_or_insert(FirstBad { seq, reason });
    }

    /// The end of what is known: the last good row, or the cut of the tombstone, or the beginning.
    fn end(&self) -> Chain {
        let cut = || self.tombstone.as_ref().map(|t| Chain::after(t.first_kept.saturating_sub(1), t.prev));
        self.chain.or_else(cut).unwrap_or_else(Chain::start)
    }

    fn next(&self) -> u64 {
        self.end().last().saturating_add(1)
    }

    fn row(&mut self, line: &[u8]) -> Result<(), (u64, String)> {
        let next = self.next();
        let mut chain = match self.chain {
            Some(chain) => chain,
            None => self.begin(&Row::read(line).map_err(|error| (next, error.to_string()))?)?,
        };
        chain.follow(line).map_err(|error| {
            let seq = if let BadRow::Link { seq, .. } | BadRow::Changed { seq } = error { seq } else { next };
            (
                seq,
                format!("{error}{}", if error == BadRow::Shape { format!(" {next}") } else { String::new() }),
            )
        })?;
        self.chain = Some(chain);
        let (seq, hash) = (chain.last(), chain.hash());
        if self.tombstone.as_ref().is_some_and(|t| t.first_kept == seq.saturating_add(1) && t.prev != hash) {
            return Err((seq, format!("row {seq} is not the row that the tombstone was signed for")));
        }
        self.hold_against_anchor(seq, hash)
    }

    /// Where the chain of the first row begins. A prune that was interrupted may have left rows before its cut.
    fn begin(&self, row: &Row<'_>) -> Result<Chain, (u64, String)> {
        let seq = row.seq;
        let gone = |from: u64, why: &str| {
            (from, format!("rows {from} to {} are missing{why}", seq.saturating_sub(1)))
        };
        match &self.tombstone {
            None if seq > 1 => Err(gone(1, " and no tombstone says that they were pruned")),
            Some(t) if seq > t.first_kept => {
                Err(gone(t.first_kept, ", and the tombstone does not cover them"))
            }
            Some(t) if seq < t.first_kept && seq > 1 => {
                let prev = row.prev().ok_or_else(|| (seq, BadRow::Shape.to_string()))?;
                Ok(Chain::after(seq - 1, prev))
            }
            Some(t) if seq == t.first_kept => Ok(Chain::after(seq.saturating_sub(1), t.prev)),
            _ => Ok(Chain::start()),
        }
    }

    fn hold_against_anchor(&mut self, seq: u64, hash: Hash) -> Result<(), (u64, String)> {
        let Some(anchor) = self.anchors.get(&seq) else { return Ok(()) };
        if *anchor != hash {
            let text = format!("row {seq} is not the row the anchor was taken of: the log was rewritten");
            return Err((seq, text));
        }
        self.report.anchored = true;
        Ok(())
    }

    fn checkpoint(&mut self, line: &[u8]) -> Result<(), (u64, String)> {
        let next = self.next();
        let mark = Checkpoint::read(line).map_err(|error| (next, error.to_string()))?;
        let forged =
            |error: BadMark| (mark.seq, format!("the checkpoint of row {} is forged: {error}", mark.seq));
        mark.verify(&self.trusted).map_err(forged)?;
        let end = self.end();
        if mark.seq < end.last() && self.chain.is_none() {
            return Ok(()); // it covers rows that were pruned since
        }
        if mark.seq > end.last() {
            let unexplained = self.chain.is_none() && self.tombstone.is_none();
            let why = if unexplained { " and no tombstone says that it was pruned" } else { "" };
            return Err((next, format!("row {next} is missing: a checkpoint covers row {}{why}", mark.seq)));
        }
        if mark.seq < end.last() {
            return Err((
                mark.seq,
                format!("the checkpoint of row {} stands after row {}", mark.seq, end.last()),
            ));
        }
        if mark.hash != end.hash() {
            let text = format!("row {} is not the row that its checkpoint was signed for", mark.seq);
            return Err((mark.seq, text));
        }
        self.report.verified_to = mark.seq;
        self.report.head = Some(mark);
        Ok(())
    }

    fn tombstone(&mut self, line: &[u8]) -> Result<(), (u64, String)> {
        let mark = Tombstone::read(line).map_err(|error| (self.next(), error.to_string()))?;
        let first = mark.first_kept;
        mark.verify(&self.trusted)
            .map_err(|error| (first, format!("the tombstone before row {first} is forged: {error}")))?;
        if self.chain.is_some() || self.tombstone.is_some() || first == 0 {
            return Err((self.next(), "a tombstone stands where none belongs".to_owned()));
        }
        let (seq, prev) = (first - 1, mark.prev);
        self.tombstone = Some(mark);
        self.hold_against_anchor(seq, prev)
    }

    fn ended(&mut self) -> Result<(), (u64, String)> {
        let (last, next) = (self.end().last(), self.next());
        if let Some(t) = self.tombstone.as_ref().filter(|t| next < t.first_kept) {
            return Err((next, format!("row {next} is missing: the tombstone keeps row {}", t.first_kept)));
        }
        if let Some((anchor, _)) = self.anchors.last_key_value().filter(|(seq, _)| **seq > last) {
            let text =
                format!("the tail was cut: the anchor covers row {anchor}, the log ends with row {last}");
            return Err((next, text));
        }
        let covered = self.report.head.as_ref().is_some_and(|head| head.seq == last);
        if self.source == Source::Export && !covered {
            let text = format!("the export is cut: it must end with a checkpoint of its last row, {last}");
            return Err((next, text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
