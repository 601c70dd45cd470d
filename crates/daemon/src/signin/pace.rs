//! How often something may be done in a minute, whoever does it: beyond that everybody is told to come back, and nobody is kept out
//! for longer.

use std::collections::VecDeque;
use std::time::Duration;

use covenant_model::time::Timestamp;
use parking_lot::Mutex;

/// How long something counts.
const WINDOW: Duration = Duration::from_mins(1);

/// What was done in the last minute.
pub(crate) struct Pace {
    most: usize,
    done: Mutex<VecDeque<Timestamp>>,
}

impl Pace {
    /// At most that many a minute.
    pub(crate) fn of(most: usize) -> Self {
        Self { most, done: Mutex::default() }
    }

    /// Whether there may be one more now.
    pub(crate) fn has_room(&self, now: Timestamp) -> bool {
        let mut done = self.done.lock();
        // A clock that went back must not keep anybody out for longer.
        done.retain(|at| *at <= now && now.since(*at) < WINDOW);
        done.len() < self.most
    }

    /// Counts one. It is bounded by itself: what came before the last so many decides nothing.
    pub(crate) fn count(&self, now: Timestamp) {
        let mut done = self.done.lock();
        done.push_back(now);
        if done.len() > self.most {
            done.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_minute_and_a_clock_that_goes_back_keeps_nobody_out() {
        let at = |seconds| Timestamp::from_millis(1_800_000_000_000).plus(Duration::from_secs(seconds));
        let pace = Pace::of(2);
        for second in [100, 101] {
            assert!(pace.has_room(at(second)));
            pace.count(at(second));
        }
        assert!(!pace.has_room(at(159)) && pace.has_room(at(160)));
        pace.count(at(160));
        pace.count(at(160));
        assert!(!pace.has_room(at(161)) && pace.has_room(at(5)));
    }
}
