//! Keeps account of calls that came to nothing: each is written down, and of a flood the number.

use std::collections::HashMap;
use std::sync::Arc;
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

/// For how many callers that number is kept apart; those of more are counted as nobody's.
const CALLERS: usize = 1024;

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
    /// How many calls of each caller were not written down one by one.
    uncounted: Mutex<HashMap<Option<Principal>, u64>>,
}

impl Account {
    pub(super) fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let pace = Mutex::new(Pace { since: clock.now(), written: 0 });
        Arc::new(Self { records, clock, room: Semaphore::new(AT_A_TIME), pace, uncounted: Mutex::default() })
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
            self.count(principal, 1);
            return;
        };
        let more = self.uncounted.lock().remove(&principal).unwrap_or(0);
        if more > 0 {
            call.details.insert("calls_before".to_owned(), Value::from(more));
        }
        if let Err(fault) = self.records.unserved(principal.clone(), call, self.clock.now()).await {
            self.count(principal, more.saturating_add(1));
            tracing::error!(
                cause = fault.cause(),
                "a call of a team's tool could not be written down: {fault}"
            );
        }
    }

    /// Keeps that so many calls of that caller were not written down, until one is.
    fn count(&self, principal: Option<Principal>, calls: u64) {
        let mut uncounted = self.uncounted.lock();
        let known = uncounted.len() < CALLERS || uncounted.contains_key(&principal);
        let count = uncounted.entry(principal.filter(|_| known)).or_default();
        *count = count.saturating_add(calls);
    }
}

#[cfg(test)]
mod tests {
    use covenant_gate::SystemClock;
    use covenant_gate::ports::Answer;
    use covenant_model::envelope::Status;
    use covenant_team::{Outcome, Request};
    use serde_json::Map;

    use super::*;

    /// What was written down: whose call, and of how many before it.
    #[derive(Default)]
    struct Book(Mutex<Vec<(Option<Principal>, u64)>>);

    impl Records for Book {
        fn perform(&self, _request: Request) -> Answer<'_, Outcome> {
            unreachable!("only calls that come to nothing are noted here")
        }

        fn unserved(&self, principal: Option<Principal>, call: Unserved, _at: Timestamp) -> Answer<'_, ()> {
            let before = call.details.get("calls_before").and_then(Value::as_u64).unwrap_or(0);
            self.0.lock().push((principal, before));
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn of_a_flood_the_number_is_told_of_whoever_made_it() {
        let book = Arc::new(Book::default());
        let account = Account::new(Arc::clone(&book) as Arc<dyn Records>, Arc::new(SystemClock));
        let who = |name: &str| Some(format!("dev:{name}").parse::<Principal>().unwrap());
        let note = async |name: &str| {
            let (call, status) = ("covibe_task".to_owned(), Status::Error);
            let call = Unserved { call, status, code: "denied", session: None, details: Map::new() };
            account.note(who(name), call).await;
        };
        let all = account.room.acquire_many(u32::try_from(AT_A_TIME).unwrap()).await.unwrap();
        for name in ["ada", "bob", "ada"] {
            note(name).await;
        }
        drop(all);
        for name in ["eve", "ada", "bob", "ada"] {
            note(name).await;
        }
        let told = [("eve", 0), ("ada", 2), ("bob", 1), ("ada", 0)].map(|(name, before)| (who(name), before));
        assert_eq!(*book.0.lock(), told);
    }

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
