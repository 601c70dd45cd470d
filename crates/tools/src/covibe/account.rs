//! Keeps account of calls that came to nothing: each is written down, and of a flood the number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use covenant_gate::Clock;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_team::event::Unserved;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Records;

/// How many are written down at a time; more are a flood, of which the number is kept.
const AT_A_TIME: usize = 64;

/// How many calls that came too often are written down in a second: whoever is held to a limit may not write as much as they
/// like for that. Of more the number is kept.
const LIMITED: u32 = 10;

/// What such calls are called.
const LIMITED_CODE: &str = "rate_limited";

/// How many of those were written down lately.
struct Pace {
    since: Timestamp,
    written: u32,
}

impl Pace {
    /// Whether one more may be written down. A clock that was put back begins anew.
    fn takes(&mut self, now: Timestamp) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) || now < self.since {
            *self = Self { since: now, written: 0 };
        }
        self.written = self.written.saturating_add(1);
        self.written <= LIMITED
    }
}

/// What writes them down.
pub(super) struct Account {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    room: Semaphore,
    pace: Mutex<Pace>,
    uncounted: AtomicU64,
}

impl Account {
    pub(super) fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let pace = Mutex::new(Pace { since: clock.now(), written: 0 });
        let (room, uncounted) = (Semaphore::new(AT_A_TIME), AtomicU64::new(0));
        Arc::new(Self { records, clock, room, pace, uncounted })
    }

    pub(super) fn records(&self) -> &dyn Records {
        &*self.records
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Writes down that a call was made which came to nothing.
    pub(super) async fn note(&self, principal: Option<Principal>, mut call: Unserved) {
        let is_due = call.code != LIMITED_CODE || self.pace.lock().takes(self.clock.now());
        let Some(_room) = is_due.then(|| self.room.try_acquire().ok()).flatten() else {
            self.uncounted.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let more = self.uncounted.swap(0, Ordering::Relaxed);
        if more > 0 {
            call.details.insert("calls_before".to_owned(), Value::from(more));
        }
        if let Err(fault) = self.records.unserved(principal, call, self.clock.now()).await {
            self.uncounted.fetch_add(more.saturating_add(1), Ordering::Relaxed);
            tracing::error!(
                cause = fault.cause(),
                "a call of a team's tool could not be written down: {fault}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_calls_that_came_too_often_few_are_written_down_each_second() {
        let noon = Timestamp::from_millis(1_800_000_000_000);
        let mut pace = Pace { since: noon, written: 0 };
        let mut written = |now| (0..1000).filter(|_| pace.takes(now)).count();
        assert_eq!(written(noon), 10);
        assert_eq!(written(noon.plus(Duration::from_millis(999))), 0);
        assert_eq!(written(noon.plus(Duration::from_secs(1))), 10);
        assert_eq!(written(noon.minus(Duration::from_hours(1))), 10, "the clock was put back");
    }
}
