//! What a counted grant allows at a moment, as numbers that one UPDATE can compare.
//!
//! The rate is kept as one moment per grant, `tat_us`: until when it is used up. A call is allowed if that moment
//! lies less than a burst ahead, and moves it one interval further. The sums are done here, without overflow.

use std::time::Duration;

use covenant_gate::ports::{Allowance, Reservation};
use covenant_model::time::Timestamp;

/// A moment further ahead than this, beyond a full burst, was not written by a clock that agrees with ours: the
/// clock was put back. Daemons that share a database may differ by less without gaining calls.
const SKEW_US: i64 = 10 * 60 * 1_000_000;

/// The allowance now, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// How many calls there may be in all.
    pub(super) most: i64,
    /// This moment; zero without a rate, so that it is never taken for the later one.
    pub(super) now: i64,
    /// How far one call moves `tat_us`.
    pub(super) interval: i64,
    /// Up to where `tat_us` allows a call.
    pub(super) latest: i64,
    /// Where `tat_us` stands when a whole burst was just used.
    pub(super) full: i64,
    /// From where on `tat_us` is not believed: the call is allowed, and the window begins anew as full.
    pub(super) absurd: i64,
}

/// How far one call moves `tat_us`: rounded up, so that a rate is never exceeded. Zero without a rate.
pub(super) fn interval(allowance: Allowance) -> i64 {
    let nanos = allowance.interval.map_or(0, |interval| interval.as_nanos());
    i64::try_from(nanos.div_ceil(1000)).unwrap_or(i64::MAX)
}

impl Window {
    pub(super) fn of(allowance: Allowance, now: Timestamp) -> Self {
        let most = allowance.max_calls.map_or(i64::MAX, |calls| i64::try_from(calls).unwrap_or(i64::MAX));
        let interval = interval(allowance);
        if interval == 0 {
            return Self { most, now: 0, interval, latest: i64::MAX, full: 0, absurd: i64::MAX };
        }
        let now = i64::try_from(now.millis()).unwrap_or(i64::MAX).saturating_mul(1000);
        // Half of what a number holds, so that `tat_us + interval` in SQL cannot overflow either.
        let interval = interval.min(i64::MAX / 4);
        let burst = i64::from(allowance.burst.max(1));
        let ahead = |calls: i64| now.saturating_add(interval.saturating_mul(calls)).min(i64::MAX / 2);
        let full = ahead(burst);
        Self { most, now, interval, latest: ahead(burst - 1), full, absurd: full.saturating_add(SKEW_US) }
    }

    /// Why the counters of a grant refuse a call; `None` if they allow one.
    pub(super) fn refusal(&self, used: i64, tat_us: i64) -> Option<Reservation> {
        if used >= self.most {
            return Some(Reservation::Spent);
        }
        let early = tat_us.saturating_sub(self.latest);
        let refused = early > 0 && tat_us <= self.absurd;
        refused.then(|| Reservation::TooSoon(Duration::from_micros(u64::try_from(early).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowance(max_calls: Option<u64>, interval: Option<Duration>, burst: u32) -> Allowance {
        Allowance { max_calls, interval, burst }
    }

    /// What the UPDATE does, in Rust.
    fn take(window: Window, used: &mut i64, tat: &mut i64) -> bool {
        let allowed = *used < window.most && (*tat <= window.latest || *tat > window.absurd);
        if allowed {
            *used += 1;
            *tat = if *tat > window.absurd {
                window.full
            } else if *tat < window.now {
                window.now + window.interval
            } else {
                *tat + window.interval
            };
        }
        allowed
    }

    proptest! {
        #[test]
        fn no_allowance_overflows(
            calls in any::<Option<u64>>(), nanos in any::<Option<u64>>(), burst in any::<u32>(),
            now in any::<u64>(), mut used in 0..i64::MAX / 2, mut tat in 0..i64::MAX / 2,
        ) {
            let allowance = allowance(calls, nanos.map(|nanos| Duration::from_nanos(nanos).saturating_mul(8)), burst);
            let window = Window::of(allowance, Timestamp::from_millis(now));
            let refused = window.refusal(used, tat).is_some();
            prop_assert_eq!(take(window, &mut used, &mut tat), !refused);
            prop_assert!(used >= 0 && tat >= 0);
        }

        #[test]
        fn a_rate_never_lets_more_through_than_burst_and_elapsed_intervals(
            interval in 1_u64..2_000, burst in 1_u32..6, gaps in prop::collection::vec(0_u64..1_500, 1..80),
        ) {
            let allowance = allowance(None, Some(Duration::from_millis(interval)), burst);
            let (mut used, mut tat, mut now) = (0, 0, 1_700_000_000_000_u64);
            let mut taken = Vec::new();
            for gap in gaps {
                now += gap;
                let window = Window::of(allowance, Timestamp::from_millis(now));
                match window.refusal(used, tat) {
                    Some(Reservation::TooSoon(wait)) => {
                        let wait = u64::try_from(wait.as_micros()).unwrap().div_ceil(1000);
                        prop_assert!((1..=interval).contains(&wait));
                        let later = Window::of(allowance, Timestamp::from_millis(now + wait));
                        prop_assert_eq!(later.refusal(used, tat), None, "the wait that was named suffices");
                        prop_assert!(!take(window, &mut used, &mut tat));
                    }
                    other => {
                        prop_assert_eq!(other, None);
                        prop_assert!(take(window, &mut used, &mut tat));
                        taken.push(now);
                    }
                }
            }
            for (index, from) in taken.iter().enumerate() {
                for (count, to) in taken[index..].iter().enumerate() {
                    prop_assert!(u64::try_from(count).unwrap() < u64::from(burst) + (to - from) / interval + 1);
                }
            }
        }
    }

    #[test]
    fn a_clock_that_was_put_back_by_a_year_does_not_lock_the_grant_for_a_year() {
        let allowance = allowance(None, Some(Duration::from_secs(1)), 1);
        let (mut used, mut tat) = (0, 0);
        assert!(take(Window::of(allowance, "2027-01-01".parse().unwrap()), &mut used, &mut tat));
        let earlier = Window::of(allowance, "2026-01-01".parse().unwrap());
        assert!(take(earlier, &mut used, &mut tat), "one call begins a new window");
        assert_eq!(earlier.refusal(used, tat), Some(Reservation::TooSoon(Duration::from_secs(1))));
    }
}
