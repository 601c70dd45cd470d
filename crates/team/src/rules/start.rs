//! Whether work may start: only after a look at what others do, for the same title, a short while ago.

use std::time::Duration;

use covenant_model::time::Timestamp;

use crate::port::Check;

/// How long a check counts.
pub const RECENT: Duration = Duration::from_mins(10);

/// How long work that is over is still told of.
pub const PAST: Duration = Duration::from_hours(14 * 24);

/// What is said to whoever wants to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// Start.
    Go,
    /// Nobody looked for this title.
    CheckFirst,
    /// Somebody looked, too long ago.
    CheckAgain,
}

/// Whether work may start, by the newest check for its title.
pub fn may_start(check: Option<&Check>, now: Timestamp) -> Leave {
    match check {
        None => Leave::CheckFirst,
        Some(check) if is_recent(check.at, now) => Leave::Go,
        Some(_) => Leave::CheckAgain,
    }
}

/// Whether a check of that moment counts. One that lies as far ahead, by a clock that was put back since, does not either.
pub fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.since(at).max(at.since(now)) <= RECENT
}

/// Until when a check of that moment counts.
pub fn counts_until(at: Timestamp) -> Timestamp {
    at.plus(RECENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_counts_for_ten_minutes_whichever_way_the_clock_goes() {
        let at = Timestamp::from_millis(10_000_000);
        let seconds = Duration::from_secs;
        for (later, recent) in [(0, true), (599, true), (600, true), (601, false), (86_400, false)] {
            assert_eq!(is_recent(at, at.plus(seconds(later))), recent, "{later} s later");
            assert_eq!(is_recent(at.plus(seconds(later)), at), recent, "{later} s earlier");
        }
    }
}
