//! Who writes: whoever gets the writer first writes for all who wait, and then looks again.
//!
//! No row is left behind. One who finds the writer taken has put its batch into the queue before it tried for the last
//! time, and one who lets go of the writer looks into the queue afterwards; both go through the queue's lock, so either
//! the second sees the batch, or the first finds the writer free.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use covenant_model::audit::{Decision, Event, Kind, OWN};
use covenant_model::redact::Redactor;
use ed25519_dalek::SigningKey;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::checkpoints::Checkpoints;
use super::claim::Owing;
use super::queue::{Answer, Batch, Queue, Waiting};
use super::sync::Sync;
use super::writer::{WriteError, Writer};
use crate::clock::Clock;

/// How long and how much; tests shorten them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) sync_after: Duration,
    pub(super) checkpoint_rows: u64,
    pub(super) checkpoint_every: Duration,
    pub(super) stall: Duration,
    pub(super) retry: Duration,
    pub(super) waiting_rows: usize,
    pub(super) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Half of what is promised: the other half is for the disk.
            sync_after: Duration::from_millis(50),
            checkpoint_rows: 256,
            checkpoint_every: Duration::from_secs(10),
            stall: Duration::from_secs(5),
            retry: Duration::from_secs(1),
            waiting_rows: 10_000,
            // Longer than a store waits for a connection: it knows better than we why there is none.
            patience: Duration::from_secs(7),
        }
    }
}

/// Since when the disk has been busy with one thing.
#[derive(Debug)]
pub(super) struct Busy {
    base: Instant,
    since: AtomicU64,
}

impl Busy {
    pub(super) fn new() -> Self {
        Self { base: Instant::now(), since: AtomicU64::new(0) }
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn during<T>(&self, act: impl FnOnce() -> T) -> T {
        self.since.store(self.millis() + 1, Ordering::Relaxed);
        let result = act();
        self.since.store(0, Ordering::Relaxed);
        result
    }

    pub(super) fn longer_than(&self, limit: Duration) -> bool {
        self.lasts() > limit
    }

    /// For how long by now; nothing if it is not busy.
    pub(super) fn lasts(&self) -> Duration {
        match self.since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis((self.millis() + 1).saturating_sub(since)),
        }
    }
}

/// What all clones of the log share, and its second thread.
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key: SigningKey,
    pub(super) writer: Mutex<Writer>,
    pub(super) queue: Mutex<Queue>,
    pub(super) sync: Sync,
    pub(super) checkpoints: Mutex<Checkpoints>,
    /// One prune at a time.
    pub(super) pruning: Mutex<()>,
    pub(super) seen: watch::Sender<u64>,
    pub(super) writing: Busy,
    pub(super) closed: AtomicBool,
    /// Why the last attempt to write failed; the flag spares the good case the lock.
    pub(super) fault: Mutex<Option<String>>,
    pub(super) faulty: AtomicBool,
}

/// How a batch was taken.
pub(super) enum Submitted {
    Done(Answer),
    Waiting(oneshot::Receiver<Answer>),
}

impl Shared {
    /// Writes a batch now, or leaves it to whoever writes now.
    pub(super) fn submit(&self, batch: Batch) -> Submitted {
        if let Some(mut writer) = self.writer.try_lock() {
            let (own, others) = self.drain(&mut writer, Some(&batch));
            drop(writer);
            self.answer(others);
            self.rest_after(&own);
            return Submitted::Done(own);
        }
        let (caller, answer) = oneshot::channel();
        let pushed =
            self.queue.lock().push(Waiting { batch, caller: Some(caller) }, self.limits.waiting_rows);
        if pushed.is_err() {
            return Submitted::Done(Err("too many rows wait to be written".to_owned()));
        }
        self.rest();
        Submitted::Waiting(answer)
    }

    /// Writes what waits, unless someone else does. What is owed is tried once; those who wait are never left waiting.
    pub(super) fn rest(&self) {
        self.rest_after(&Ok(0));
    }

    fn rest_after(&self, first: &Answer) {
        let mut failed = first.is_err();
        loop {
            let queue = self.queue.lock();
            let anything = queue.has_callers() || (queue.has_owed() && !failed);
            drop(queue);
            if !anything {
                return;
            }
            let Some(mut writer) = self.writer.try_lock() else { return };
            let (last, others) = self.drain(&mut writer, None);
            drop(writer);
            failed = last.is_err();
            self.answer(others);
        }
    }

    /// Does something with the writer that is not an append. It blocks: not for a thread that runs calls.
    pub(super) fn with_writer<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> T {
        let result = act(&mut self.writer.lock());
        self.rest();
        result
    }

    /// Writes everything that waits, and one batch more: what to tell its owner, and the others.
    fn drain(&self, writer: &mut Writer, own: Option<&Batch>) -> (Answer, VecDeque<(Waiting, Answer)>) {
        let waiting = self.queue.lock().take();
        let batches = waiting.iter().map(|waiting| &waiting.batch).chain(own);
        match self.writing.during(|| writer.write(batches)) {
            Ok(before) => {
                let head = writer.head();
                self.sync.wrote(head, writer.disk());
                self.seen.send_replace(head.chain.last());
                self.heal();
                let mut last = before;
                let answer = |waiting: Waiting| {
                    last = last.saturating_add(u64::try_from(waiting.batch.rows()).unwrap_or(0));
                    (waiting, Ok(last))
                };
                (Ok(head.chain.last()), waiting.into_iter().map(answer).collect())
            }
            Err(error) => {
                let told = self.broke(error);
                let (asked, owed): (Vec<_>, Vec<_>) =
                    waiting.into_iter().partition(|waiting| waiting.caller.is_some());
                self.queue.lock().put_back(owed.into_iter());
                (Err(told.clone()), asked.into_iter().map(|waiting| (waiting, Err(told.clone()))).collect())
            }
        }
    }

    /// Tells those who waited. A call whose caller went away meanwhile has started on paper only: that is written too.
    fn answer(&self, others: VecDeque<(Waiting, Answer)>) {
        for (Waiting { batch, caller }, answer) in others {
            let Some(caller) = caller else { continue };
            if let Err(Ok(last)) = caller.send(answer) {
                self.orphaned(&batch, last);
            }
        }
    }

    /// Takes note of a failure; what to tell.
    pub(super) fn broke(&self, error: WriteError) -> String {
        let told = match error {
            WriteError::Write(told) => told,
            WriteError::Sync(told) => {
                self.sync.fail(told.clone());
                told
            }
        };
        *self.fault.lock() = Some(told.clone());
        if !self.faulty.swap(true, Ordering::SeqCst) {
            tracing::error!(cause = told, "the audit log cannot be written: calls are refused");
            let reason = format!("the log could not be written from this moment until this row was: {told}");
            let event =
                Event { reason: Some(&reason), ..Event::new(OWN, OWN, Kind::LogRecovered, Decision::Done) };
            let batch = Batch::of(&[event], self.clock.now(), &Redactor::none());
            drop(self.queue.lock().push(Waiting { batch, caller: None }, usize::MAX));
            self.sync.retry_later();
        }
        told
    }

    fn heal(&self) {
        if self.faulty.load(Ordering::Relaxed) {
            *self.fault.lock() = None;
            self.faulty.store(false, Ordering::SeqCst);
            tracing::info!("the audit log can be written again");
        }
    }
}

impl Owing for Shared {
    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn owe(&self, batch: Batch) {
        let rows = u64::try_from(batch.rows()).unwrap_or(u64::MAX);
        let mut queue = self.queue.lock();
        if queue.push(Waiting { batch, caller: None }, self.limits.waiting_rows).is_err() {
            queue.lost = queue.lost.saturating_add(rows);
        }
        drop(queue);
        self.rest();
    }
}
