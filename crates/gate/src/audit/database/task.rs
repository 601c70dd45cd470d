//! The one task that writes: takes all that waits, links it, commits it in one transaction, and tells everyone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use covenant_model::audit::Checkpoint;

use super::super::claim::Owing as _;
use super::super::queue::Waiting;
use super::super::sink::Kept;
use super::end::{End, Step, rows};
use super::{Asked, Lasts, Shared, Trouble};

/// How often a commit is tried before those who wait are refused.
const ATTEMPTS: u32 = 2;

/// Whether a checkpoint is wanted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Now,
    WhenDue,
}

/// The task and what only it knows.
pub(super) struct Task {
    pub(super) shared: Arc<Shared>,
    pub(super) end: End,
    covered: Option<Checkpoint>,
    covered_at: Instant,
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, end: End, covered: Option<Checkpoint>) -> Self {
        Self { shared, end, covered, covered_at: Instant::now() }
    }

    /// Its whole life.
    pub(super) async fn run(mut self) {
        loop {
            self.rest().await;
            let closing = self.shared.closed.load(Ordering::SeqCst);
            let (waiting, asked) = {
                let mut inbox = self.shared.inbox.lock();
                let mut taken = self.shared.taken.lock();
                *taken = taken.or_else(|| inbox.queue.oldest());
                (inbox.queue.take(), std::mem::take(&mut inbox.asked))
            };
            let sign = if closing || !asked.is_empty() { Sign::Now } else { Sign::WhenDue };
            let done = self.round(waiting, asked, sign).await;
            if !self.end.is_unsure() {
                // What was not committed then is back in the queue.
                *self.shared.taken.lock() = None;
            }
            if closing && self.is_over(done) {
                return;
            }
        }
    }

    /// Waits for something to do.
    async fn rest(&self) {
        loop {
            if self.shared.closed.load(Ordering::SeqCst) {
                return;
            }
            let lasts = self.shared.trouble.lock().as_ref().map(|trouble| trouble.lasts);
            let due = match lasts {
                Some(Lasts::Passes) => Some(self.shared.limits.retry),
                Some(Lasts::Stays) => None,
                None => self.sign_in(),
            };
            let due = async {
                match due {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => return,
                // While the database is gone, only the next look for it counts.
                () = self.shared.wake.notified() => if lasts != Some(Lasts::Passes) { return },
            }
        }
    }

    fn uncovered(&self, last: u64) -> u64 {
        last.saturating_sub(self.covered.as_ref().map_or(0, |mark| mark.seq))
    }

    fn sign_in(&self) -> Option<Duration> {
        let limit = self.shared.limits.checkpoint_every;
        let anything = self.uncovered(self.end.chain().last()) > 0;
        anything.then(|| limit.saturating_sub(self.covered_at.elapsed()))
    }

    /// Writes what waits and tells those who wait; whether that succeeded.
    async fn round(&mut self, waiting: VecDeque<Waiting>, asked: Vec<Asked>, sign: Sign) -> bool {
        let stays = self.shared.trouble.lock().clone().filter(|trouble| trouble.lasts == Lasts::Stays);
        let ready = match stays {
            Some(trouble) => Err(trouble),
            None => self.ready().await,
        };
        if let Err(trouble) = ready {
            let owed = self.refuse(waiting, asked, &trouble);
            self.shared.inbox.lock().queue.put_back(owed.into_iter());
            return false;
        }
        match self.commit(&waiting, sign).await {
            Ok(before) => self.tell_all(before, waiting, asked),
            Err(trouble) => {
                let owed = self.refuse(waiting, asked, &trouble);
                if self.end.is_unsure() {
                    self.end.hold(owed);
                } else {
                    self.shared.inbox.lock().queue.put_back(owed.into_iter());
                }
                return false;
            }
        }
        true
    }

    /// Sees to it that the end of the chain is known.
    async fn ready(&mut self) -> Result<(), Trouble> {
        if self.end.is_unsure()
            && let Some(step) = self.settle().await?
        {
            self.came_late(&step);
        }
        Ok(())
    }

    /// Commits everything; the number of the row before it.
    async fn commit(&mut self, waiting: &VecDeque<Waiting>, sign: Sign) -> Result<u64, Trouble> {
        let mut attempts = 1;
        loop {
            let before = self.end.chain().last();
            let (entries, step) = self.end.link(waiting);
            let mark = self.mark(&step, sign);
            if step.is_empty() && mark.is_none() {
                return Ok(before);
            }
            let marks = mark.iter().map(|mark| Kept { seq: mark.seq, line: mark.line() }).collect();
            let sent = self.answered(self.shared.store.append(entries, marks)).await;
            let trouble = match sent {
                Ok(()) => {
                    self.end.take(&step);
                    self.cover(mark);
                    return Ok(before);
                }
                Err(trouble) => trouble,
            };
            if !step.is_empty() {
                let chain = step.chain;
                self.end.doubt(step);
                match self.settle().await? {
                    Some(step) if step.chain == chain => {
                        self.cover(mark);
                        return Ok(before);
                    }
                    Some(other) => self.came_late(&other),
                    None => {}
                }
            }
            if attempts == ATTEMPTS {
                return Err(trouble);
            }
            attempts += 1;
        }
    }

    /// The checkpoint to commit with that step, if one is wanted or due.
    fn mark(&self, step: &Step, sign: Sign) -> Option<Checkpoint> {
        let last = step.chain.last();
        if self.covered.as_ref().is_some_and(|mark| mark.seq == last) {
            return None;
        }
        let limits = &self.shared.limits;
        let uncovered = self.uncovered(last);
        let due = uncovered >= limits.checkpoint_rows
            || uncovered > 0 && self.covered_at.elapsed() >= limits.checkpoint_every;
        let signed = || self.end.head_after(step).sign(&self.shared.key, self.shared.clock.now());
        (due || sign == Sign::Now).then(signed)
    }

    fn cover(&mut self, mark: Option<Checkpoint>) {
        if let Some(mark) = mark {
            self.covered = Some(mark);
            self.covered_at = Instant::now();
        }
    }

    /// Everything was committed.
    fn tell_all(&self, before: u64, waiting: VecDeque<Waiting>, asked: Vec<Asked>) {
        let head = self.end.head();
        *self.shared.head.lock() = head;
        self.shared
            .seen
            .send_if_modified(|seen| std::mem::replace(seen, head.chain.last()) != head.chain.last());
        self.shared.heal();
        let mut last = before;
        for Waiting { batch, caller } in waiting {
            last = last.saturating_add(rows(&batch));
            // A call whose caller went away meanwhile has started on paper only: that is written too.
            if let Some(caller) = caller
                && caller.send(Ok(last)).is_err()
            {
                self.shared.orphaned(&batch, last);
            }
        }
        for asked in asked {
            let mark = self.covered.clone().ok_or_else(|| "no checkpoint was written".to_owned());
            // Whoever no longer wants it does not get it.
            drop(asked.send(mark));
        }
    }

    /// Nothing was committed, as far as anyone knows: tells those who wait, and returns what is owed.
    fn refuse(&self, waiting: VecDeque<Waiting>, asked: Vec<Asked>, trouble: &Trouble) -> Vec<Waiting> {
        self.shared.broke(trouble);
        let mut owed = Vec::new();
        for Waiting { batch, caller } in waiting {
            match caller {
                Some(caller) => drop(caller.send(Err(trouble.told.clone()))),
                None => owed.push(Waiting { batch, caller }),
            }
        }
        for asked in asked {
            drop(asked.send(Err(trouble.told.clone())));
        }
        owed
    }

    /// Whether nothing is left to do before the end. Then nothing more is taken.
    fn is_over(&self, done: bool) -> bool {
        let mut inbox = self.shared.inbox.lock();
        if done && (inbox.queue.has_owed() || inbox.queue.has_callers() || !inbox.asked.is_empty()) {
            return false;
        }
        inbox.shut = true;
        let told = "it was closed";
        for Waiting { caller, .. } in inbox.queue.take() {
            if let Some(caller) = caller {
                drop(caller.send(Err(told.to_owned())));
            }
        }
        inbox.asked.clear();
        if !done {
            tracing::warn!("the audit log ends without a checkpoint");
        }
        true
    }
}
