//! When to post and when to try again.

use std::time::Duration;

use crate::outbound;

/// The spans of time that posting goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The least time between two posts.
    pub(super) step: Duration,
    /// After how long a new row is posted about.
    pub(super) every: Duration,
    /// After how many rows it is not waited for that long.
    pub(super) rows: u64,
    /// How long an answer may take.
    pub(super) patience: Duration,
    /// How long to wait after the first failure; it doubles with each.
    pub(super) shortest: Duration,
    /// How long to wait at most.
    pub(super) longest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(1),
            // As often as the log signs by itself.
            every: Duration::from_secs(10),
            rows: 256,
            patience: Duration::from_secs(10),
            shortest: Duration::from_secs(1),
            longest: Duration::from_mins(5),
        }
    }
}

impl Pace {
    /// How long to wait after a failure that so many came before.
    pub(super) fn wait(&self, failures: u32) -> Duration {
        outbound::backoff(self.shortest, self.longest, failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_a_second_to_five_minutes_less_at_most_half() {
        let pace = Pace::default();
        for (failures, seconds) in
            [(0, 1), (1, 2), (2, 4), (5, 32), (8, 256), (9, 300), (31, 300), (32, 300), (u32::MAX, 300)]
        {
            let whole = Duration::from_secs(seconds);
            for _ in 0..20 {
                let wait = pace.wait(failures);
                assert!(wait >= whole / 2 && wait <= whole, "{failures}: {wait:?}");
            }
        }
    }
}
