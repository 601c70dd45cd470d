//! How often a password may be tried: a few times for one handle, and not without end for all of them together.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use covenant_model::team::Handle;
use covenant_model::time::Timestamp;
use parking_lot::Mutex;

/// How long a failure counts.
const WINDOW: Duration = Duration::from_mins(15);

/// How many may fail for one handle in that time.
const FOR_ONE: usize = 5;

/// How many may fail in all. Whoever has no failure of their own is let through: a flood of others' must not keep them out.
const IN_ALL: usize = 300;

/// Of how many handles failures are remembered; beyond that those with the fewest go, and of them the oldest.
const HANDLES: usize = 10_000;

/// The tries of late, by handle. A try counts as failed from its beginning, so that many at once are no way around; and also if
/// it came to nothing because others stood in line, which must not be told apart from a wrong password.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<Tries>);

#[derive(Default)]
struct Tries {
    of: HashMap<Handle, VecDeque<Timestamp>>,
    all: VecDeque<Timestamp>,
}

impl Attempts {
    /// Counts a try; otherwise how long until there may be another. Who has no handle that could be somebody's counts in all.
    pub(crate) fn begin(&self, handle: Option<&Handle>, now: Timestamp) -> Result<(), Duration> {
        let mut tries = self.0.lock();
        tries.forget(now);
        let own = handle.and_then(|handle| tries.of.get(handle));
        let spared = handle.is_some() && own.is_none();
        let flooded = tries.all.len() >= IN_ALL && !spared;
        let full = own.filter(|own| own.len() >= FOR_ONE).or(flooded.then_some(&tries.all));
        if let Some(first) = full.and_then(VecDeque::front) {
            return Err(WINDOW.saturating_sub(now.since(*first)).max(Duration::from_secs(1)));
        }
        tries.all.push_back(now);
        if tries.all.len() > IN_ALL {
            tries.all.pop_front();
        }
        if let Some(handle) = handle {
            if spared {
                tries.make_room();
            }
            tries.of.entry(handle.clone()).or_default().push_back(now);
        }
        Ok(())
    }

    /// Takes back what was counted of that handle: it was right in the end.
    pub(crate) fn succeeded(&self, handle: &Handle) {
        let mut tries = self.0.lock();
        let own = tries.of.remove(handle).unwrap_or_default();
        for moment in own {
            drop_one(&mut tries.all, moment);
        }
    }
}

fn drop_one(moments: &mut VecDeque<Timestamp>, at: Timestamp) {
    if let Some(place) = moments.iter().position(|it| *it == at) {
        moments.remove(place);
    }
}

impl Tries {
    fn make_room(&mut self) {
        if self.of.len() < HANDLES {
            return;
        }
        let least = self.of.iter().min_by_key(|(_, own)| (own.len(), own.back().copied()));
        if let Some(handle) = least.map(|(handle, _)| handle.clone()) {
            self.of.remove(&handle);
        }
    }

    fn forget(&mut self, now: Timestamp) {
        // A clock that went back must not lock anybody out for longer.
        let counts = |at: &Timestamp| *at <= now && now.since(*at) < WINDOW;
        self.all.retain(counts);
        self.of.retain(|_, own| {
            own.retain(counts);
            !own.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).plus(Duration::from_secs(seconds))
    }

    fn handle(text: &str) -> Handle {
        text.parse().unwrap()
    }

    #[test]
    fn five_may_fail_for_a_handle_in_a_quarter_of_an_hour() {
        let (attempts, ada) = (Attempts::default(), handle("ada"));
        for second in 0..5 {
            attempts.begin(Some(&ada), at(second)).unwrap();
        }
        assert_eq!(attempts.begin(Some(&ada), at(10)), Err(Duration::from_secs(890)));
        attempts.begin(Some(&handle("mia")), at(10)).unwrap();
        assert!(attempts.begin(Some(&ada), at(899)).is_err());
        attempts.begin(Some(&ada), at(900)).unwrap();
        assert!(attempts.begin(Some(&ada), at(900)).is_err(), "one each time one is forgotten");
    }

    #[test]
    fn who_is_right_begins_anew() {
        let (attempts, ada) = (Attempts::default(), handle("ada"));
        for _ in 0..20 {
            for second in 0..5 {
                attempts.begin(Some(&ada), at(second)).unwrap();
            }
            attempts.succeeded(&ada);
        }
        assert_eq!(attempts.0.lock().all.len(), 0);
    }

    #[test]
    fn not_without_end_in_all_whoever_is_named() {
        let attempts = Attempts::default();
        for number in 0..IN_ALL {
            let named = handle(&format!("dev{number}"));
            attempts.begin((number % 2 == 0).then_some(&named), at(1)).unwrap();
        }
        assert!(attempts.begin(None, at(2)).is_err());
        assert!(attempts.begin(Some(&handle("dev0")), at(2)).is_err(), "who has failed already waits");
        attempts.begin(Some(&handle("ada")), at(2)).unwrap();
        assert!(attempts.begin(Some(&handle("ada")), at(3)).is_err(), "and who has not is let through");
        attempts.begin(None, at(902)).unwrap();
    }

    #[test]
    fn a_flood_of_names_is_forgotten_before_those_who_are_guessed_at() {
        let (attempts, ada) = (Attempts::default(), handle("ada"));
        for _ in 0..5 {
            attempts.begin(Some(&ada), at(0)).unwrap();
        }
        for number in 0..HANDLES + 10 {
            attempts.begin(Some(&handle(&format!("dev{number}"))), at(1)).unwrap();
        }
        let tries = attempts.0.lock();
        assert_eq!((tries.of.len(), tries.all.len()), (HANDLES, IN_ALL));
        assert!(tries.of.contains_key(&ada));
    }

    #[test]
    fn a_clock_that_goes_back_locks_nobody_out() {
        let (attempts, ada) = (Attempts::default(), handle("ada"));
        for _ in 0..5 {
            attempts.begin(Some(&ada), at(100_000)).unwrap();
        }
        attempts.begin(Some(&ada), at(5)).unwrap();
    }
}
