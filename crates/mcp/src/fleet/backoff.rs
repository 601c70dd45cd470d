//! When a server that failed is tried again, and when it is left alone.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How long a server must have answered until its past is forgotten.
const HEALTHY: Duration = Duration::from_mins(1);

/// So many failures within so long a time are too many.
const MOST: usize = 5;
const WITHIN: Duration = Duration::from_mins(1);

/// The first wait, which doubles with each failure, and the longest.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Another try, after that long.
    Again(Duration),
    /// None, until somebody asks.
    Quarantine,
}

/// What is remembered of failures.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: VecDeque<Instant>,
    waits: u32,
    tried_at_once: bool,
}

impl Backoff {
    /// It failed. `up_since` is when it began to answer, where it did; `chance` makes those that failed together come
    /// back apart.
    pub(super) fn failed(&mut self, now: Instant, up_since: Option<Instant>, chance: u8) -> After {
        if up_since.is_some_and(|since| now.duration_since(since) >= HEALTHY) {
            self.forgive();
        }
        self.failures.push_back(now);
        self.failures.retain(|at| now.duration_since(*at) < WITHIN);
        if self.failures.len() >= MOST {
            return After::Quarantine;
        }
        if up_since.is_some() && self.waits == 0 && !self.tried_at_once {
            self.tried_at_once = true;
            return After::Again(Duration::ZERO);
        }
        let wait = FIRST.saturating_mul(1 << self.waits.min(10)).min(LONGEST);
        self.waits = self.waits.saturating_add(1);
        // Three quarters of it are certain.
        After::Again(wait * 3 / 4 + wait / 4 * u32::from(chance) / 255)
    }

    /// Starts from the beginning.
    pub(super) fn forgive(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(after: After) -> Duration {
        match after {
            After::Again(wait) => wait,
            After::Quarantine => panic!("quarantined"),
        }
    }

    #[test]
    fn a_crash_of_a_healthy_server_is_tried_at_once_and_the_next_after_a_wait() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.failed(now, Some(now), 255), After::Again(Duration::ZERO));
        assert_eq!(wait(backoff.failed(now, Some(now), 255)), FIRST);
    }

    #[test]
    fn waits_double_up_to_the_longest_and_chance_takes_a_quarter_of_them() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let waits: Vec<_> = (0..12)
            .map(|failure| wait(backoff.failed(start + Duration::from_secs(40) * failure, None, 255)))
            .collect();
        assert_eq!(waits[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert_eq!(waits[11], LONGEST);
        let mut other = Backoff::default();
        assert_eq!(wait(other.failed(start, None, 0)), FIRST * 3 / 4);
    }

    #[test]
    fn five_failures_within_a_minute_are_too_many_and_a_minute_of_health_forgives() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        for _ in 0..4 {
            wait(backoff.failed(start, None, 0));
        }
        assert_eq!(backoff.failed(start + Duration::from_secs(59), None, 0), After::Quarantine);
        let later = start + Duration::from_secs(119);
        let up = start + Duration::from_secs(59);
        assert_eq!(backoff.failed(later, Some(up), 0), After::Again(Duration::ZERO));
    }

    #[test]
    fn a_server_that_comes_up_and_crashes_is_not_forgiven_for_having_come_up() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let ends: Vec<_> = (0..5).map(|_| backoff.failed(now, Some(now), 0)).collect();
        assert_eq!(ends[4], After::Quarantine);
    }
}
