//! A log in a database: one task links and commits for all who wait (`task`), and signs checkpoints as it goes. While the
//! database is gone nothing is promised and nothing is done; the task looks for it until it is back.

mod end;
mod open;
mod prune;
pub(super) mod read;
mod settle;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use covenant_model::audit::{Checkpoint, Decision, Event, Kind, OWN};
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use ed25519_dalek::SigningKey;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use self::end::End;
use self::task::Task;
use super::claim::{Claim, Owing};
use super::combine::Limits;
use super::log::unwritten;
use super::queue::{Batch, Queue, Waiting};
use super::recover::{OpenError, Opened};
use super::sink::RowStore;
use super::sync::Head;
use crate::clock::Clock;
use crate::refusal::Fault;

/// A log in a database.
pub(super) struct DatabaseLog {
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// Someone who wants a checkpoint of everything written so far.
type Asked = oneshot::Sender<Result<Checkpoint, String>>;

/// Why rows are not written.
#[derive(Debug, Clone)]
struct Trouble {
    told: String,
    cause: String,
    lasts: Lasts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// The next attempt may succeed.
    Passes,
    /// Only a person can help.
    Stays,
}

/// What waits for the task.
#[derive(Default)]
struct Inbox {
    queue: Queue,
    asked: Vec<Asked>,
    /// The task has ended: nothing is taken any more.
    shut: bool,
}

/// What callers and the task share.
struct Shared {
    store: Arc<dyn RowStore>,
    limits: Limits,
    clock: Arc<dyn Clock>,
    key: SigningKey,
    inbox: Mutex<Inbox>,
    wake: Notify,
    seen: watch::Sender<u64>,
    head: Mutex<Head>,
    trouble: Mutex<Option<Trouble>>,
    /// When the oldest rows were handed over that the task has taken and that are not known to be committed.
    taken: Mutex<Option<Timestamp>>,
    closed: AtomicBool,
    /// One prune at a time.
    pruning: tokio::sync::Mutex<()>,
}

impl DatabaseLog {
    /// Reads the chain's end back, and ends the calls that a crash left open.
    pub(super) async fn open(
        store: Arc<dyn RowStore>,
        key: SigningKey,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Result<(Self, Opened), OpenError> {
        let found = open::find(&*store, &key.verifying_key()).await?;
        let end = End::new(found.chain, found.open.keys().copied().collect());
        let shared = Arc::new(Shared {
            store,
            limits,
            clock,
            key,
            inbox: Mutex::default(),
            wake: Notify::new(),
            seen: watch::Sender::new(found.chain.last()),
            head: Mutex::new(end.head()),
            trouble: Mutex::new(None),
            taken: Mutex::new(None),
            closed: AtomicBool::new(false),
            pruning: tokio::sync::Mutex::new(()),
        });
        let interrupted = u64::try_from(found.open.len()).unwrap_or(u64::MAX);
        let opened = Opened { last: found.chain.last(), cut_bytes: 0, interrupted };
        shared.owe_ends(&found.open);
        let task = Task::new(Arc::clone(&shared), end, found.checkpoint);
        let task = Mutex::new(Some(tokio::spawn(task.run())));
        Ok((Self { shared, task }, opened))
    }

    pub(super) async fn append(&self, events: &[Event<'_>], redactor: &Redactor) -> Result<u64, Fault> {
        let shared = &*self.shared;
        if let Some(told) = shared.refuses() {
            return Err(unwritten(told));
        }
        if events.is_empty() {
            return Ok(shared.head.lock().chain.last());
        }
        let (caller, answer) = oneshot::channel();
        let batch = Batch::of(events, shared.clock.now(), redactor);
        shared.push(Waiting { batch, caller: Some(caller) }).map_err(unwritten)?;
        Claim::new(shared, events, redactor).wait(answer).await.map_err(unwritten)
    }

    pub(super) fn owe(&self, event: Event<'_>, redactor: &Redactor) {
        self.shared.owe(Batch::of(&[event], self.shared.clock.now(), redactor));
    }

    pub(super) fn health(&self) -> Result<(), String> {
        let Some(told) = self.shared.refuses() else { return Ok(()) };
        let losses = match self.shared.inbox.lock().queue.lost {
            0 => String::new(),
            lost => format!("; {lost} rows found no room to wait and are lost"),
        };
        Err(format!("audit: {told}{losses}"))
    }

    /// Rows that wait, or that are being committed.
    pub(super) fn lag(&self) -> Duration {
        let waiting = self.shared.inbox.lock().queue.oldest();
        let oldest = self.shared.taken.lock().or(waiting);
        oldest.map_or(Duration::ZERO, |since| self.shared.clock.now().since(since))
    }

    pub(super) async fn checkpoint(&self) -> Result<Checkpoint, Fault> {
        if let Some(told) = self.shared.refuses() {
            return Err(unwritten(told));
        }
        let (sender, answer) = oneshot::channel();
        self.shared.ask(sender);
        answer.await.unwrap_or_else(|_| Err("it was closed".to_owned())).map_err(unwritten)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.seen.subscribe()
    }

    pub(super) fn store(&self) -> &Arc<dyn RowStore> {
        &self.shared.store
    }

    pub(super) async fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.wake.notify_one();
        let task = self.task.lock().take();
        if let Some(task) = task {
            drop(task.await);
        }
    }
}

impl Drop for DatabaseLog {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl Shared {
    /// Why rows are not even tried.
    fn refuses(&self) -> Option<String> {
        if self.closed.load(Ordering::Relaxed) {
            return Some("it was closed".to_owned());
        }
        self.trouble.lock().as_ref().map(|trouble| trouble.told.clone())
    }

    fn push(&self, waiting: Waiting) -> Result<(), String> {
        let mut inbox = self.inbox.lock();
        if inbox.shut {
            return Err("it was closed".to_owned());
        }
        let rows = u64::try_from(waiting.batch.rows()).unwrap_or(u64::MAX);
        if let Err(waiting) = inbox.queue.push(waiting, self.limits.waiting_rows) {
            if waiting.caller.is_none() {
                inbox.queue.lost = inbox.queue.lost.saturating_add(rows);
            }
            return Err("too many rows wait to be written".to_owned());
        }
        drop(inbox);
        self.wake.notify_one();
        Ok(())
    }

    fn ask(&self, sender: Asked) {
        let mut inbox = self.inbox.lock();
        if !inbox.shut {
            inbox.asked.push(sender);
            self.wake.notify_one();
        }
    }

    /// Takes note of a failure.
    fn broke(&self, trouble: &Trouble) {
        if self.trouble.lock().replace(trouble.clone()).is_some() {
            return;
        }
        tracing::error!(
            cause = trouble.cause,
            "the audit log cannot be written: calls are refused: {}",
            trouble.told
        );
        let told = &trouble.told;
        let reason = format!("the log could not be written from this moment until this row was: {told}");
        let event =
            Event { reason: Some(&reason), ..Event::new(OWN, OWN, Kind::LogRecovered, Decision::Done) };
        let batch = Batch::of(&[event], self.clock.now(), &Redactor::none());
        drop(self.inbox.lock().queue.push(Waiting { batch, caller: None }, usize::MAX));
    }

    fn heal(&self) {
        if self.trouble.lock().take().is_some() {
            tracing::info!("the audit log can be written again");
        }
    }
}

impl Owing for Shared {
    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn owe(&self, batch: Batch) {
        // What finds no room is counted.
        drop(self.push(Waiting { batch, caller: None }));
    }
}
