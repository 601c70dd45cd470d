//! What is under way for a few minutes and ends with its first use: known by a secret that one browser holds, and bounded.

use std::collections::HashMap;
use std::time::Duration;

use covenant_gate::{Fault, random};
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_model::token::{self, TokenHash};
use parking_lot::Mutex;

/// How many are remembered. Beyond that the oldest goes: whoever floods us must be quicker than a person is.
const MOST: usize = 10_000;

/// Things that are under way.
pub(crate) struct Pending<T> {
    lasts: Duration,
    held: Mutex<HashMap<TokenHash, (Timestamp, T)>>,
}

impl<T> Pending<T> {
    /// None yet; each will last that long.
    pub(crate) fn lasting(lasts: Duration) -> Self {
        Self { lasts, held: Mutex::default() }
    }

    /// Remembers something; what it is known by from now on, which is nowhere else.
    pub(crate) fn begin(&self, what: T, now: Timestamp) -> Result<Secret, Fault> {
        let secret = token::from_random(random::bytes()?);
        let hash = token::hash(secret.reveal());
        let hash = hash.ok_or_else(|| Fault::new("a secret could not be made", "its shape is wrong"))?;
        let mut held = self.held.lock();
        if held.len() >= MOST {
            held.retain(|_, (since, _)| self.counts(*since, now));
        }
        if held.len() >= MOST
            && let Some(oldest) = held.iter().min_by_key(|(_, (since, _))| *since).map(|(hash, _)| *hash)
        {
            held.remove(&oldest);
        }
        held.insert(hash, (now, what));
        Ok(secret)
    }

    /// Takes what is known by that, once; nothing if its time is over.
    pub(crate) fn take(&self, secret: &str, now: Timestamp) -> Option<T> {
        let (since, what) = self.held.lock().remove(&token::hash(secret)?)?;
        self.counts(since, now).then_some(what)
    }

    /// A clock that went back must keep nothing alive for longer.
    fn counts(&self, since: Timestamp, now: Timestamp) -> bool {
        since <= now && now.since(since) < self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn what_is_under_way_ends_with_its_first_use_and_in_time() {
        let pending = Pending::lasting(Duration::from_mins(5));
        let secret = pending.begin("one", at(0)).unwrap();
        assert_eq!(pending.take("cv_else", at(1)), None);
        assert_eq!(pending.take(secret.reveal(), at(1)), Some("one"));
        assert_eq!(pending.take(secret.reveal(), at(1)), None, "used");
        let late = pending.begin("two", at(0)).unwrap();
        assert_eq!(pending.take(late.reveal(), at(300)), None, "over");
        let early = pending.begin("three", at(10)).unwrap();
        assert_eq!(pending.take(early.reveal(), at(9)), None, "a clock that went back");
    }

    #[test]
    fn of_too_many_the_oldest_goes() {
        let pending = Pending::lasting(Duration::from_mins(5));
        let first = pending.begin(0, at(0)).unwrap();
        let second = pending.begin(1, at(1)).unwrap();
        for number in 2..=MOST {
            pending.begin(number, at(2)).unwrap();
        }
        assert_eq!(pending.held.lock().len(), MOST);
        assert_eq!(
            (pending.take(first.reveal(), at(3)), pending.take(second.reveal(), at(3))),
            (None, Some(1))
        );
        for number in 0..=MOST {
            pending.begin(number, at(400)).unwrap();
        }
        assert_eq!(pending.held.lock().len(), MOST, "what is over makes room first");
    }
}
