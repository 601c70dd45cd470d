//! What agents have used within the last hour: one credit for each second that a run has begun.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use covenant_model::time::Timestamp;
use parking_lot::Mutex;

/// As far back as a cap looks.
pub const HOUR: Duration = Duration::from_hours(1);

/// The credits of all agents, as far back as matters.
#[derive(Debug, Default)]
pub struct Account {
    used: Mutex<HashMap<String, VecDeque<(Timestamp, u64)>>>,
}

/// What a run of that length costs.
pub fn credits(took: Duration) -> u64 {
    let begun = took.as_secs() + u64::from(took.subsec_nanos() > 0);
    begun.max(1)
}

impl Account {
    /// Notes what a run cost, and says what its agent has used with it.
    pub fn charge(&self, agent: &str, credits: u64, now: Timestamp) -> u64 {
        let mut used = self.used.lock();
        let used = used.entry(agent.to_owned()).or_default();
        used.push_back((now, credits));
        forget(used, now);
        used.iter().map(|(_, credits)| credits).sum()
    }

    /// How long until that agent may run again under that cap; nothing if it may now.
    pub fn wait(&self, agent: &str, cap: u64, now: Timestamp) -> Option<Duration> {
        if cap == 0 {
            return None;
        }
        let mut used = self.used.lock();
        let used = used.get_mut(agent)?;
        forget(used, now);
        let mut total: u64 = used.iter().map(|(_, credits)| credits).sum();
        let mut wait = None;
        for (at, credits) in used.iter() {
            if total < cap {
                break;
            }
            total -= credits;
            wait = Some(HOUR.saturating_sub(now.since(*at)));
        }
        wait
    }
}

fn forget(used: &mut VecDeque<(Timestamp, u64)>, now: Timestamp) {
    while used.front().is_some_and(|(at, _)| now.since(*at) >= HOUR) {
        used.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000_000 + seconds * 1000)
    }

    #[test]
    fn a_second_that_was_begun_counts() {
        for (millis, cost) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (30_000, 30)] {
            assert_eq!(credits(Duration::from_millis(millis)), cost, "{millis}");
        }
    }

    #[test]
    fn what_was_used_counts_for_an_hour() {
        let account = Account::default();
        assert_eq!(account.charge("a@local", 3, at(0)), 3);
        assert_eq!(account.charge("a@local", 4, at(600)), 7);
        assert_eq!(account.charge("b@local", 1, at(600)), 1);
        assert_eq!(account.wait("a@local", 8, at(600)), None);
        assert_eq!(account.wait("a@local", 0, at(600)), None, "no cap");
        assert_eq!(account.wait("a@local", 7, at(600)), Some(Duration::from_mins(50)));
        assert_eq!(account.wait("a@local", 4, at(600)), Some(HOUR), "both must go");
        assert_eq!(account.wait("a@local", 7, at(3600)), None);
        assert_eq!(account.charge("a@local", 1, at(4200)), 1);
    }
}
