//! What waits to be written: batches of formatted rows, some with a caller who waits, some owed by no one.

use std::collections::{BTreeSet, VecDeque};

use covenant_model::audit::{Event, Kind};
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use tokio::sync::oneshot;

/// What a caller who waits is told: the number of its last row, or why nothing was written.
pub(super) type Answer = Result<u64, String>;

/// What a row means for the set of calls that are running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Track {
    Nothing,
    Opens,
    Closes(u64),
}

impl Track {
    fn of(event: &Event<'_>) -> Self {
        match (event.kind, event.started) {
            (Kind::CallStarted, _) => Self::Opens,
            (_, Some(started)) => Self::Closes(started),
            _ => Self::Nothing,
        }
    }

    /// Notes what a row with that number means.
    pub(super) fn apply(self, seq: u64, open: &mut BTreeSet<u64>) {
        match self {
            Self::Nothing => {}
            Self::Opens => drop(open.insert(seq)),
            Self::Closes(started) => drop(open.remove(&started)),
        }
    }
}

/// The bodies of rows that are written together.
#[derive(Debug)]
pub(super) struct Batch {
    at: Timestamp,
    text: Vec<u8>,
    ends: Vec<(usize, Track)>,
}

impl Batch {
    /// Formats events; only numbers and hashes are still missing then.
    pub(super) fn of(events: &[Event<'_>], at: Timestamp, redactor: &Redactor) -> Self {
        let (text, ends) = (Vec::with_capacity(events.len() * 384), Vec::with_capacity(events.len()));
        let mut batch = Self { at, text, ends };
        for event in events {
            event.write_body(at, redactor, &mut batch.text);
            batch.ends.push((batch.text.len(), Track::of(event)));
        }
        batch
    }

    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Each row's body and meaning.
    pub(super) fn bodies(&self) -> impl Iterator<Item = (&[u8], Track)> {
        let mut begin = 0;
        self.ends.iter().map(move |(end, track)| {
            let body = self.text.get(begin..*end).unwrap_or_default();
            begin = *end;
            (body, *track)
        })
    }
}

/// A batch, and who waits for it.
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) caller: Option<oneshot::Sender<Answer>>,
}

/// Batches in the order in which they will be written.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    owed_rows: usize,
    asked_rows: usize,
    /// Owed rows that found no room.
    pub(super) lost: u64,
}

impl Queue {
    /// Adds a batch, unless that many rows of its sort wait already.
    pub(super) fn push(&mut self, waiting: Waiting, most: usize) -> Result<(), Waiting> {
        let rows = if waiting.caller.is_some() { &mut self.asked_rows } else { &mut self.owed_rows };
        if *rows + waiting.batch.rows() > most {
            return Err(waiting);
        }
        *rows += waiting.batch.rows();
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// Takes everything.
    pub(super) fn take(&mut self) -> VecDeque<Waiting> {
        (self.owed_rows, self.asked_rows) = (0, 0);
        std::mem::take(&mut self.waiting)
    }

    /// Puts owed batches that could not be written back in front, in their order.
    pub(super) fn put_back(&mut self, owed: impl DoubleEndedIterator<Item = Waiting>) {
        for waiting in owed.rev() {
            self.owed_rows += waiting.batch.rows();
            self.waiting.push_front(waiting);
        }
    }

    /// When the rows that waited longest were handed over.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.waiting.front().map(|waiting| waiting.batch.at)
    }

    pub(super) fn has_owed(&self) -> bool {
        self.owed_rows > 0
    }

    pub(super) fn has_callers(&self) -> bool {
        self.asked_rows > 0
    }
}
