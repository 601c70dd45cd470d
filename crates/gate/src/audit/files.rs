//! A log in files: the calling thread writes, a second thread makes durable and signs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use covenant_model::audit::{Checkpoint, Decision, Event, Kind, OWN};
use covenant_model::redact::Redactor;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::checkpoints::Checkpoints;
use super::claim::{Claim, Owing as _};
use super::combine::{Busy, Limits, Shared, Submitted};
use super::log::{Durability, Options, unwritten};
use super::queue::{Batch, Queue};
use super::recover::{self, OpenError, Opened};
use super::segment::Disks;
use super::sync::{self, Sync};
use super::writer::{End, Writer};
use crate::refusal::Fault;

/// A log in a directory.
pub(super) struct FileLog {
    shared: Arc<Shared>,
    dir: PathBuf,
    durability: Durability,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Held as long as we may write.
    _lock: std::fs::File,
}

impl FileLog {
    /// Opens the log, and brings it into order after a crash.
    pub(super) fn open(
        options: Options,
        limits: Limits,
        disks: Arc<dyn Disks>,
    ) -> Result<(Self, Opened), OpenError> {
        let Options { dir, key, durability, segment_bytes, clock, .. } = options;
        let found = recover::find(&dir, &key.verifying_key())?;
        let failed = |source| OpenError::Io { dir: dir.clone(), source };
        let checkpoints = Checkpoints::open(&dir, Arc::clone(&disks), found.ends.length).map_err(failed)?;
        let open = found.open.keys().copied().collect();
        let end = End { chain: found.chain, open, segment: found.segment, length: found.length };
        let writer = Writer::new(dir.clone(), disks, segment_bytes, end).map_err(failed)?;
        // The files may be new: their names must be on disk before anything in them counts.
        found.lock.sync_all().map_err(failed)?;
        let sync = Sync::new(writer.head(), found.ends.last, limits);
        let shared = Arc::new(Shared {
            limits,
            clock,
            key,
            writer: Mutex::new(writer),
            queue: Mutex::new(Queue::default()),
            sync,
            checkpoints: Mutex::new(checkpoints),
            pruning: Mutex::new(()),
            seen: watch::Sender::new(found.chain.last()),
            writing: Busy::new(),
            closed: AtomicBool::new(false),
            fault: Mutex::new(None),
            faulty: AtomicBool::new(false),
        });
        let interrupted = u64::try_from(found.open.len()).unwrap_or(u64::MAX);
        let opened = Opened { last: found.chain.last(), cut_bytes: found.cut_bytes, interrupted };
        owe_repairs(&shared, &opened, &found.open);
        let thread = std::thread::Builder::new().name("audit-sync".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || sync::run(&shared)
        });
        let thread = Mutex::new(Some(thread.map_err(failed)?));
        Ok((Self { shared, dir, durability, thread, _lock: found.lock }, opened))
    }

    pub(super) async fn append(&self, events: &[Event<'_>], redactor: &Redactor) -> Result<u64, Fault> {
        let shared = &*self.shared;
        if let Some(told) = shared.refuses() {
            return Err(unwritten(told));
        }
        if events.is_empty() {
            return Ok(shared.sync.head().chain.last());
        }
        let batch = Batch::of(events, shared.clock.now(), redactor);
        let mut claim = Claim::new(shared, events, redactor);
        let last = match shared.submit(batch) {
            Submitted::Done(answer) => answer.map_err(unwritten)?,
            Submitted::Waiting(answer) => claim.wait(answer).await.map_err(unwritten)?,
        };
        if self.durability == Durability::Strict {
            claim.written(last);
            match shared.sync.durable().await {
                Ok(outcome) => outcome.map_err(unwritten)?,
                Err(_) => return Err(unwritten("it was closed".to_owned())),
            }
        }
        claim.settle();
        Ok(last)
    }

    pub(super) fn owe(&self, event: Event<'_>, redactor: &Redactor) {
        self.shared.owe(Batch::of(&[event], self.shared.clock.now(), redactor));
    }

    pub(super) fn health(&self) -> Result<(), String> {
        let shared = &*self.shared;
        let fault = || shared.fault.lock().clone();
        match shared.refuses().or_else(fault).or_else(|| shared.sync.unsigned()) {
            Some(told) => Err(format!("audit: {told}{}", shared.losses())),
            None => Ok(()),
        }
    }

    /// Rows that wait, that are being written, or that are written and not on disk.
    pub(super) fn lag(&self) -> Duration {
        let shared = &*self.shared;
        let waiting = shared.queue.lock().oldest();
        let waiting = waiting.map_or(Duration::ZERO, |since| shared.clock.now().since(since));
        waiting.max(shared.writing.lasts()).max(shared.sync.lag())
    }

    pub(super) async fn checkpoint(&self) -> Result<Checkpoint, Fault> {
        match self.shared.sync.checkpoint().await {
            Ok(mark) => mark.map_err(unwritten),
            Err(_) => Err(unwritten("it was closed".to_owned())),
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.seen.subscribe()
    }

    pub(super) fn dir(&self) -> &std::path::Path {
        &self.dir
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) async fn close(&self) {
        let shared = Arc::clone(&self.shared);
        shared.closed.store(true, Ordering::SeqCst);
        shared.rest();
        if let Err(fault) = self.checkpoint().await {
            tracing::warn!(cause = fault.cause(), "the audit log ends without a checkpoint");
        }
        shared.sync.stop();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // It may be in the middle of a slow sync: wait where waiting blocks no one.
            drop(tokio::task::spawn_blocking(move || drop(thread.join())).await);
        }
    }
}

impl Drop for FileLog {
    fn drop(&mut self) {
        self.shared.sync.stop();
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

impl Shared {
    /// Why rows are not even tried.
    fn refuses(&self) -> Option<String> {
        if self.closed.load(Ordering::Relaxed) {
            return Some("it was closed".to_owned());
        }
        for (busy, what) in [(&self.writing, "write"), (&self.sync.syncing, "sync")] {
            if busy.longer_than(self.limits.stall) {
                let seconds = self.limits.stall.as_secs();
                return Some(format!("the disk has not finished a {what} for more than {seconds} s"));
            }
        }
        self.sync.failed()
    }

    fn losses(&self) -> String {
        match self.queue.lock().lost {
            0 => String::new(),
            lost => format!("; {lost} rows found no room to wait and are lost"),
        }
    }
}

fn owe_repairs(shared: &Shared, opened: &Opened, open: &BTreeMap<u64, Vec<u8>>) {
    if opened.cut_bytes > 0 {
        let reason = format!("{} bytes of a half-written end were cut off", opened.cut_bytes);
        shared.owe_event(Event {
            reason: Some(&reason),
            ..Event::new(OWN, OWN, Kind::LogRecovered, Decision::Done)
        });
    }
    shared.owe_ends(open);
}
