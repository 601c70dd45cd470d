//! Whose turn it is: so many run at a time; of those who wait, the most urgent first, and among equals who came first.
//!
//! What a run dispatches itself waits in a line of its own, one for each depth: in one line it could wait for the place that its
//! own issuer holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use covenant_model::intent::Priority;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The most that wait, in all lines.
pub(super) const LONGEST: usize = 1024;

/// The most that wait of anyone but the operator: nobody takes up all the room.
pub(super) const SHARE: usize = LONGEST / 4;

/// Who waits: by urgency, and then in the order they came.
type Turn = (Reverse<Priority>, u64);

/// The lines.
pub(super) struct Queue {
    lines: Mutex<Lines>,
    /// How many may run at a time in each. Asked whenever somebody comes or goes: it can change while they wait.
    concurrency: Box<dyn Fn() -> usize + Send + Sync>,
}

#[derive(Default)]
struct Lines {
    by_depth: BTreeMap<u32, Line>,
    came: u64,
}

#[derive(Default)]
struct Line {
    running: usize,
    waiting: BTreeMap<Turn, oneshot::Sender<()>>,
}

/// Leave to run. To drop it lets the next one run.
pub(super) struct Place {
    queue: Arc<Queue>,
    depth: u32,
}

/// A turn that has not come. To drop it leaves the line.
struct Waiting {
    queue: Arc<Queue>,
    depth: u32,
    turn: Turn,
    called: oneshot::Receiver<()>,
}

impl Queue {
    /// Lines in each of which so many run at a time.
    pub(super) fn new(concurrency: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self { lines: Mutex::default(), concurrency: Box::new(concurrency) }
    }

    fn at_once(&self) -> usize {
        (self.concurrency)().max(1)
    }

    /// Whether nobody else can be taken in.
    pub(super) fn is_full(&self) -> bool {
        self.lines.lock().by_depth.values().map(|line| line.waiting.len()).sum::<usize>() >= LONGEST
    }

    /// A place, once it is this one's turn.
    pub(super) async fn place(self: &Arc<Self>, depth: u32, priority: Priority) -> Place {
        let concurrency = self.at_once();
        let waiting = {
            let mut lines = self.lines.lock();
            lines.came += 1;
            let turn = (Reverse(priority), lines.came);
            let line = lines.by_depth.entry(depth).or_default();
            let (call, called) = oneshot::channel();
            line.waiting.insert(turn, call);
            line.advance(concurrency);
            Waiting { queue: Arc::clone(self), depth, turn, called }
        };
        waiting.called().await
    }

    fn leave(&self, depth: u32) {
        let concurrency = self.at_once();
        let mut lines = self.lines.lock();
        if let Some(line) = lines.by_depth.get_mut(&depth) {
            line.running = line.running.saturating_sub(1);
            line.advance(concurrency);
            if line.running == 0 && line.waiting.is_empty() {
                lines.by_depth.remove(&depth);
            }
        }
    }
}

impl Line {
    /// Calls those whose turn it is.
    fn advance(&mut self, concurrency: usize) {
        while self.running < concurrency {
            let Some((_, call)) = self.waiting.pop_first() else { return };
            if call.send(()).is_ok() {
                self.running += 1;
            }
        }
    }
}

impl Waiting {
    async fn called(mut self) -> Place {
        // The sender goes away only with the line, which holds it until we are called.
        let _ = (&mut self.called).await;
        // From here on the place holds the turn, and not whoever waited for it.
        self.called = oneshot::channel().1;
        Place { queue: Arc::clone(&self.queue), depth: self.depth }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(line) = self.queue.lines.lock().by_depth.get_mut(&self.depth) {
            line.waiting.remove(&self.turn);
        }
        // Called, and gone before it could take its place.
        if self.called.try_recv().is_ok() {
            self.queue.leave(self.depth);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.leave(self.depth);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_urgent_go_first_and_equals_as_they_came() {
        let queue = Arc::new(Queue::new(|| 1));
        let held = queue.place(0, Priority::Low).await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (name, priority) in
            [("a", Priority::Low), ("b", Priority::Normal), ("c", Priority::High), ("d", Priority::High)]
        {
            let (queue, told) = (Arc::clone(&queue), Arc::clone(&told));
            let mut waits = Box::pin(async move {
                let _place = queue.place(0, priority).await;
                told.lock().push(name);
            });
            // In line, in this order.
            assert!((&mut waits).now_or_never().is_none());
            tasks.push(tokio::spawn(waits));
        }
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*told.lock(), ["c", "d", "b", "a"]);
        assert!(queue.lines.lock().by_depth.is_empty());
    }

    #[tokio::test]
    async fn who_leaves_the_line_holds_nobody_up() {
        let queue = Arc::new(Queue::new(|| 1));
        let held = queue.place(0, Priority::Normal).await;
        let mut first = Box::pin(queue.place(0, Priority::High));
        let mut second = Box::pin(queue.place(0, Priority::Normal));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(held);
        // It was called, and goes without having looked.
        drop(first);
        drop(second.await);
        assert!(queue.lines.lock().by_depth.is_empty());
    }

    #[tokio::test]
    async fn what_a_run_dispatches_does_not_wait_for_the_place_of_that_run() {
        let queue = Arc::new(Queue::new(|| 1));
        let _outer = queue.place(0, Priority::Normal).await;
        let _inner = queue.place(1, Priority::Normal).await;
        assert!(queue.place(1, Priority::High).now_or_never().is_none());
    }

    #[tokio::test]
    async fn how_many_run_at_a_time_can_change_while_others_wait() {
        let most = Arc::new(std::sync::atomic::AtomicUsize::new(1));
        let asked = Arc::clone(&most);
        let queue = Arc::new(Queue::new(move || asked.load(std::sync::atomic::Ordering::Relaxed)));
        let held = queue.place(0, Priority::Normal).await;
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(queue.place(0, Priority::Normal))).collect();
        assert!(waits.iter_mut().all(|waits| waits.now_or_never().is_none()));
        most.store(2, std::sync::atomic::Ordering::Relaxed);
        drop(held);
        let mut third = waits.pop().unwrap();
        let mut both: Vec<Place> =
            waits.into_iter().filter_map(futures_util::FutureExt::now_or_never).collect();
        assert_eq!(both.len(), 2, "more at once for those who waited already");
        most.store(1, std::sync::atomic::Ordering::Relaxed);
        drop(both.pop());
        assert!((&mut third).now_or_never().is_none(), "and fewer");
        drop(both);
        assert!(third.now_or_never().is_some());
        assert!(queue.lines.lock().by_depth.is_empty());
    }
}
