//! How many calls of one server are under way at a time, and how many wait for their turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// For each call under way, so many may wait.
const WAITING: usize = 4;

/// The turns of one server.
#[derive(Debug)]
pub(super) struct Slots {
    turns: Semaphore,
    most: usize,
    waiting: AtomicUsize,
}

/// Why a call has no turn. Each is a clause that can follow the server's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoTurn {
    /// Too many wait.
    #[error(
        "is busy: {} under way and {waiting} wait, which is all that `max_in_flight` allows; \
         try again later, or raise `max_in_flight` in its entry",
        if *under_way == 1 { "1 call is".to_owned() } else { format!("{under_way} calls are") }
    )]
    Full {
        /// How many are under way.
        under_way: usize,
        /// How many wait.
        waiting: usize,
    },
    /// It waited too long.
    #[error(
        "is busy: the call waited {} s for one of {under_way} to end (`max_in_flight`); try again later, or raise \
         `max_in_flight` in its entry",
        waited.as_secs_f64()
    )]
    Waited {
        /// How many are under way.
        under_way: usize,
        /// How long.
        waited: Duration,
    },
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self { turns: Semaphore::new(most), most, waiting: AtomicUsize::new(0) }
    }

    /// A turn, now or within that time.
    pub(super) async fn enter(&self, within: Duration) -> Result<SemaphorePermit<'_>, NoTurn> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        let most_waiting = self.most.saturating_mul(WAITING);
        let waits = Waits::begin(&self.waiting);
        if waits.before >= most_waiting {
            return Err(NoTurn::Full { under_way: self.most, waiting: most_waiting });
        }
        let waited = NoTurn::Waited { under_way: self.most, waited: within };
        timeout(within, self.turns.acquire()).await.ok().and_then(Result::ok).ok_or(waited)
    }
}

/// One that waits, until it is dropped.
struct Waits<'s> {
    all: &'s AtomicUsize,
    before: usize,
}

impl<'s> Waits<'s> {
    fn begin(all: &'s AtomicUsize) -> Self {
        Self { all, before: all.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_wait_for_their_turn_and_too_many_are_refused_at_once() {
        let slots = Slots::new(2);
        let first = slots.enter(Duration::ZERO).await.unwrap();
        let _second = slots.enter(Duration::ZERO).await.unwrap();
        let waiting = join_all((0..8).map(|_| slots.enter(Duration::from_mins(1))));
        let ninth = async {
            let refused = slots.enter(Duration::from_mins(1)).await.unwrap_err();
            assert_eq!(refused, NoTurn::Full { under_way: 2, waiting: 8 });
            assert!(
                refused.to_string().starts_with("is busy: 2 calls are under way and 8 wait"),
                "{refused}"
            );
            let alone = NoTurn::Full { under_way: 1, waiting: 4 }.to_string();
            assert!(alone.starts_with("is busy: 1 call is under way and 4 wait"), "{alone}");
            drop(first);
        };
        let (turns, ()) = tokio::join!(waiting, ninth);
        // Each turn is held until all have answered, so one of them got the turn that was given back.
        assert_eq!(turns.iter().filter(|turn| turn.is_ok()).count(), 1);
        assert_eq!(slots.waiting.load(Ordering::Relaxed), 0);
    }
}
