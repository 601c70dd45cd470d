//! The second thread: makes what was written durable, and signs checkpoints of what is. Asleep when there is nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_model::audit::{Chain, Checkpoint};
use covenant_model::time::Timestamp;
use ed25519_dalek::SigningKey;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::combine::{Busy, Limits, Shared};
use super::segment::Disk;
use super::writer::cannot_sync;

/// The end of the log, as of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) chain: Chain,
    /// The row of the oldest call that is still running.
    pub(super) oldest_open: Option<u64>,
}

impl Head {
    pub(super) fn sign(&self, key: &SigningKey, now: Timestamp) -> Checkpoint {
        let (seq, hash) = (self.chain.last(), self.chain.hash());
        Checkpoint::sign(key, seq, hash, now, self.oldest_open.unwrap_or(seq))
    }
}

/// Someone who waits until everything written so far is on disk.
type Durable = oneshot::Sender<Result<(), String>>;

/// Someone who wants a checkpoint of everything written so far.
type Asked = oneshot::Sender<Result<Checkpoint, String>>;

struct State {
    head: Head,
    dirty: Vec<Arc<dyn Disk>>,
    dirty_since: Option<Instant>,
    /// The same of what is being made durable now, or could not be.
    syncing_since: Option<Instant>,
    waiting: Vec<Durable>,
    asked: Vec<Asked>,
    covered: Option<Checkpoint>,
    covered_at: Instant,
    /// Something failed that is worth another try then.
    retry_at: Option<Instant>,
    failed: Option<String>,
    unsigned: Option<String>,
    stopped: bool,
}

/// What is to be done next.
struct Job {
    head: Head,
    dirty: Vec<Arc<dyn Disk>>,
    waiting: Vec<Durable>,
    asked: Vec<Asked>,
    retry: bool,
}

/// The state both sides share.
pub(super) struct Sync {
    state: Mutex<State>,
    wake: Condvar,
    pub(super) syncing: Busy,
    limits: Limits,
}

impl Sync {
    pub(super) fn new(head: Head, covered: Option<Checkpoint>, limits: Limits) -> Self {
        let state = State {
            head,
            dirty: Vec::new(),
            dirty_since: None,
            syncing_since: None,
            waiting: Vec::new(),
            asked: Vec::new(),
            covered,
            covered_at: Instant::now(),
            retry_at: None,
            failed: None,
            unsigned: None,
            stopped: false,
        };
        Self { state: Mutex::new(state), wake: Condvar::new(), syncing: Busy::new(), limits }
    }

    /// Notes a write. Wakes the thread only if it had nothing to do.
    pub(super) fn wrote(&self, head: Head, disk: &Arc<dyn Disk>) {
        let mut state = self.state.lock();
        state.head = head;
        if !state.dirty.last().is_some_and(|last| Arc::ptr_eq(last, disk)) {
            state.dirty.push(Arc::clone(disk));
        }
        if state.dirty_since.is_none() {
            state.dirty_since = Some(Instant::now());
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Resolves once everything written so far is on disk.
    pub(super) fn durable(&self) -> oneshot::Receiver<Result<(), String>> {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().waiting.push(sender);
        self.wake.notify_one();
        receiver
    }

    /// Resolves to a checkpoint of everything written so far.
    pub(super) fn checkpoint(&self) -> oneshot::Receiver<Result<Checkpoint, String>> {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().asked.push(sender);
        self.wake.notify_one();
        receiver
    }

    pub(super) fn head(&self) -> Head {
        self.state.lock().head
    }

    /// The disk lost what it took. That does not pass.
    pub(super) fn fail(&self, told: String) {
        self.state.lock().failed.get_or_insert(told);
    }

    pub(super) fn failed(&self) -> Option<String> {
        self.state.lock().failed.clone()
    }

    /// How long ago the first row was written that is not on disk.
    pub(super) fn lag(&self) -> Duration {
        let state = self.state.lock();
        state.syncing_since.or(state.dirty_since).map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Why the last checkpoint could not be written.
    pub(super) fn unsigned(&self) -> Option<String> {
        self.state.lock().unsigned.clone()
    }

    /// Has the thread try again what is owed, after a while.
    pub(super) fn retry_later(&self) {
        let at = Instant::now() + self.limits.retry;
        self.state.lock().retry_at.get_or_insert(at);
        self.wake.notify_one();
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_one();
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            let now = Instant::now();
            let urgent = !state.waiting.is_empty() || !state.asked.is_empty();
            match state.due_at(&self.limits) {
                _ if urgent => break,
                Some(due) if due <= now => break,
                Some(due) => drop(self.wake.wait_until(&mut state, due)),
                None => self.wake.wait(&mut state),
            }
        }
        let dirty_since = state.dirty_since.take();
        state.syncing_since = state.syncing_since.or(dirty_since);
        let retry = state.retry_at.take_if(|at| *at <= Instant::now()).is_some();
        Some(Job {
            head: state.head,
            dirty: std::mem::take(&mut state.dirty),
            waiting: std::mem::take(&mut state.waiting),
            asked: std::mem::take(&mut state.asked),
            retry,
        })
    }
}

impl State {
    fn uncovered(&self) -> u64 {
        let covered = self.covered.as_ref().map_or(0, |mark| mark.seq);
        self.head.chain.last().saturating_sub(covered)
    }

    fn due_at(&self, limits: &Limits) -> Option<Instant> {
        let sync = self.dirty_since.map(|since| since + limits.sync_after);
        // After a failure only the retry counts, or this would spin.
        let quiet = self.retry_at.is_some() || self.failed.is_some();
        let sign = (self.uncovered() > 0 && !quiet).then(|| self.covered_at + limits.checkpoint_every);
        [sync, sign, self.retry_at].into_iter().flatten().min()
    }
}

/// The thread's whole life.
pub(super) fn run(shared: &Shared) {
    while let Some(job) = shared.sync.next() {
        if job.retry {
            shared.rest();
            if shared.faulty.load(std::sync::atomic::Ordering::SeqCst) {
                shared.sync.retry_later();
            }
        }
        let synced = shared.sync.syncing.during(|| job.dirty.iter().try_for_each(|disk| disk.sync()));
        if let Err(error) = synced {
            let told = cannot_sync(&"the audit log", &error);
            tracing::error!(cause = told, "the audit log is not durable: calls are refused");
            shared.sync.fail(told);
        } else {
            shared.sync.state.lock().syncing_since = None;
        }
        let outcome = shared.sync.failed().map_or(Ok(()), Err);
        for waiting in job.waiting {
            drop(waiting.send(outcome.clone()));
        }
        let signed = outcome.and_then(|()| sign_if_due(shared, job.head, !job.asked.is_empty()));
        for asked in job.asked {
            let none = || Err("no checkpoint was written".to_owned());
            drop(asked.send(signed.clone().and_then(|mark| mark.map_or_else(none, Ok))));
        }
    }
}

/// Signs the head if it is wanted or due; what covers it then.
fn sign_if_due(shared: &Shared, head: Head, asked: bool) -> Result<Option<Checkpoint>, String> {
    let mut state = shared.sync.state.lock();
    let covered = state.covered.as_ref().filter(|mark| mark.seq == head.chain.last());
    if let Some(mark) = covered {
        return Ok(Some(mark.clone()));
    }
    let limits = &shared.limits;
    let due = state.uncovered() >= limits.checkpoint_rows
        || state.covered_at.elapsed() >= limits.checkpoint_every
        || state.unsigned.is_some();
    if !due && !asked {
        return Ok(None);
    }
    state.covered_at = Instant::now();
    drop(state);
    let mark = head.sign(&shared.key, shared.clock.now());
    let written = shared.sync.syncing.during(|| shared.checkpoints.lock().append(&mark));
    let mut state = shared.sync.state.lock();
    match written {
        Ok(()) => {
            state.covered = Some(mark.clone());
            state.unsigned = None;
            Ok(Some(mark))
        }
        Err(told) => {
            if state.unsigned.replace(told.clone()).is_none() {
                tracing::error!(cause = told, "a checkpoint could not be written");
            }
            state.retry_at.get_or_insert(Instant::now() + limits.retry);
            Err(told)
        }
    }
}
