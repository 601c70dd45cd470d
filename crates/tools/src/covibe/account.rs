//! Keeps account of calls that came to nothing: each is written down, and of a flood, and of strangers, the number.

mod tally;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Clock;
use covenant_model::envelope::Status;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_team::event::Unserved;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::Records;
use tally::{Tally, Whose};

/// How many are written down at a time; more are a flood, of which the number is kept.
const AT_A_TIME: u32 = 64;

/// How many calls that came too often are written down in a second: whoever is held to a limit may not write as much as they
/// like for that. Of more the number is kept.
const LIMITED: u32 = 10;

/// What such calls are called.
const LIMITED_CODE: &str = "rate_limited";

/// How many are remembered that could not be written down; of more the number is.
const UNWRITTEN: usize = 1024;

/// How long a call that broke waits until it is written down that it did.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the end waits for what is being written down.
const LAST: Duration = Duration::from_secs(2);

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

/// A call, as it is to be written down.
#[derive(Clone)]
struct Note {
    whose: Whose,
    call: Unserved,
    at: Timestamp,
    /// How many calls it stands for.
    calls: u64,
}

/// What writes them down. Whoever holds one lets it [settle](Self::settle) every so often, and [close](Self::close) at the end.
pub struct Account {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    room: Semaphore,
    pace: Mutex<Pace>,
    /// How many were not written down one by one.
    tally: Tally,
    /// What could not be written down, and may be when the database is back.
    unwritten: Mutex<VecDeque<Note>>,
    /// Held by whoever writes the numbers down, so that the end comes after them.
    settling: tokio::sync::Mutex<()>,
}

impl Account {
    /// One that writes into those records.
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let pace = Mutex::new(Pace { since: clock.now(), written: 0 });
        let (room, tally) = (Semaphore::new(AT_A_TIME as usize), Tally::default());
        let (unwritten, settling) = (Mutex::default(), tokio::sync::Mutex::default());
        Arc::new(Self { records, clock, room, pace, tally, unwritten, settling })
    }

    pub(super) fn records(&self) -> &dyn Records {
        &*self.records
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Writes down that a call was made which came to nothing; of calls by nobody we know the first, until the numbers are.
    pub async fn note(&self, principal: Option<Principal>, call: Unserved) {
        self.enter(Whose { principal, door: None, code: call.code }, call).await;
    }

    /// The same of a call that broke. What broke may be the database: nobody waits for that twice.
    pub(super) async fn broke(self: &Arc<Self>, principal: Principal, call: String) {
        let (status, details) = (Status::Error, Map::new());
        // Its session is not looked up: that may be what broke.
        let call = Unserved { call, status, code: "broken", session: None, details };
        let account = Arc::clone(self);
        let noted = tokio::spawn(async move { account.note(Some(principal), call).await });
        // It goes on by itself.
        drop(tokio::time::timeout(PATIENCE, noted).await);
    }

    /// Writes down that somebody we do not know sent something by that door, and why it came to nothing: the first, and
    /// otherwise the number.
    pub async fn stranger(&self, door: &'static str, code: &'static str) {
        let whose = Whose { principal: None, door: Some(door), code };
        let call = whose.calls(1);
        self.enter(whose, call).await;
    }

    async fn enter(&self, whose: Whose, mut call: Unserved) {
        if whose.principal.is_none() && !self.tally.begins(&whose) {
            return;
        }
        let is_due = whose.code != LIMITED_CODE || self.pace.lock().takes(self.clock.now());
        let Some(_room) = is_due.then(|| self.room.try_acquire().ok()).flatten() else {
            self.tally.add(whose, 1);
            return;
        };
        let before = self.tally.take(&whose);
        if before > 0 {
            call.details.insert("calls_before".to_owned(), Value::from(before));
        }
        let note = Note { whose, call, at: self.clock.now(), calls: before.saturating_add(1) };
        if !self.write(&note).await {
            self.keep(note);
        }
    }

    /// Keeps what could not be written down.
    fn keep(&self, note: Note) {
        let mut unwritten = self.unwritten.lock();
        if unwritten.len() < UNWRITTEN {
            unwritten.push_back(note);
        } else {
            self.tally.add(note.whose, note.calls);
        }
    }

    /// Writes down what was not yet: the numbers, and what could not be.
    pub async fn settle(&self) {
        let _alone = self.settling.lock().await;
        let at = self.clock.now();
        let numbers = self.tally.take_all().into_iter().map(|(whose, calls)| {
            let call = whose.calls(calls);
            Note { whose, call, at, calls }
        });
        let mut gone = false;
        for note in numbers {
            // A database that does not take one takes none, and each attempt takes its time.
            gone = gone || !self.write(&note).await;
            if gone {
                self.tally.add(note.whose, note.calls);
            }
        }
        let unwritten = std::mem::take(&mut *self.unwritten.lock());
        for note in unwritten {
            gone = gone || !self.write(&note).await;
            if gone {
                self.keep(note);
            }
        }
    }

    /// The same, for the last time: what is being written down is waited for.
    pub async fn close(&self) {
        let under_way = tokio::time::timeout(LAST, self.room.acquire_many(AT_A_TIME)).await;
        self.settle().await;
        drop(under_way);
    }

    /// Whether it is written down.
    async fn write(&self, note: &Note) -> bool {
        let Note { whose, call, at, .. } = note.clone();
        let written = self.records.unserved(whose.principal, call, at).await;
        let written = written.inspect_err(|fault| {
            tracing::error!(
                cause = fault.cause(),
                "a call of a team's tool could not be written down: {fault}"
            );
        });
        written.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use covenant_gate::ports::Answer;
    use covenant_gate::{Fault, SystemClock};
    use covenant_team::{Outcome, Request};

    use super::*;

    /// What was written down: whose call, why it came to nothing, and of how many it is told. Closed, it takes nothing.
    #[derive(Default)]
    struct Book {
        written: Mutex<Vec<String>>,
        closed: AtomicBool,
    }

    impl Records for Book {
        fn perform(&self, _request: Request) -> Answer<'_, Outcome> {
            unreachable!("only calls that come to nothing are noted here")
        }

        fn unserved(&self, principal: Option<Principal>, call: Unserved, _at: Timestamp) -> Answer<'_, ()> {
            if self.closed.load(Ordering::SeqCst) {
                return Box::pin(async { Err(Fault::new("it cannot be written", "the book is closed")) });
            }
            let who = principal.as_ref().map_or("nobody", Principal::as_str);
            let mut words = vec![who.to_owned(), call.call, call.code.to_owned()];
            words.extend(call.details.iter().map(|(name, value)| format!("{name}={value}")));
            self.written.lock().push(words.join(" "));
            Box::pin(async { Ok(()) })
        }
    }

    struct Desk {
        book: Arc<Book>,
        account: Arc<Account>,
    }

    impl Desk {
        fn new() -> Self {
            let book = Arc::new(Book::default());
            let account = Account::new(Arc::clone(&book) as Arc<dyn Records>, Arc::new(SystemClock));
            Self { book, account }
        }

        async fn note(&self, name: &str, code: &'static str) {
            let principal = (name != "nobody").then(|| format!("dev:{name}").parse::<Principal>().unwrap());
            let (call, status) = ("covibe_task".to_owned(), Status::Error);
            let call = Unserved { call, status, code, session: None, details: Map::new() };
            self.account.note(principal, call).await;
        }

        /// What was written down since the last time, in the order of the alphabet.
        fn written(&self) -> Vec<String> {
            let mut written = std::mem::take(&mut *self.book.written.lock());
            written.sort();
            written
        }
    }

    #[tokio::test]
    async fn of_a_flood_the_number_is_told_of_whoever_made_it() {
        let desk = Desk::new();
        let all = desk.account.room.acquire_many(AT_A_TIME).await.unwrap();
        for name in ["ada", "bob", "ada", "cleo"] {
            desk.note(name, "not_granted").await;
        }
        drop(all);
        for name in ["eve", "ada", "bob", "ada"] {
            desk.note(name, "not_granted").await;
        }
        let told = [
            "dev:ada covibe_task not_granted",
            "dev:ada covibe_task not_granted calls_before=2",
            "dev:bob covibe_task not_granted calls_before=1",
            "dev:eve covibe_task not_granted",
        ];
        assert_eq!(desk.written(), told);
        desk.account.settle().await;
        assert_eq!(desk.written(), ["dev:cleo covibe not_granted count=1"], "she did not call again");
        desk.account.settle().await;
        assert!(desk.written().is_empty());
    }

    #[tokio::test]
    async fn of_strangers_the_first_is_told_at_once_and_the_others_together() {
        let desk = Desk::new();
        for _ in 0..3 {
            desk.account.stranger("port", "malformed").await;
            desk.account.stranger("port", "unauthenticated").await;
            desk.note("nobody", "unauthenticated").await;
        }
        desk.account.stranger("socket", "malformed").await;
        let first = [
            "nobody covibe malformed count=1 source=\"port\"",
            "nobody covibe malformed count=1 source=\"socket\"",
            "nobody covibe unauthenticated count=1 source=\"port\"",
            "nobody covibe_task unauthenticated",
        ];
        assert_eq!(desk.written(), first);
        desk.account.close().await;
        let more = [
            "nobody covibe malformed count=2 source=\"port\"",
            "nobody covibe unauthenticated count=2",
            "nobody covibe unauthenticated count=2 source=\"port\"",
        ];
        assert_eq!(desk.written(), more);
        desk.account.stranger("port", "malformed").await;
        assert_eq!(desk.written(), first[..1], "a minute later there is a first again");
    }

    #[tokio::test]
    async fn what_cannot_be_written_down_is_when_it_can() {
        let desk = Desk::new();
        desk.book.closed.store(true, Ordering::SeqCst);
        let ada: Principal = "dev:ada".parse().unwrap();
        desk.account.broke(ada, "covibe_task.start".to_owned()).await;
        for name in ["bob", "nobody", "nobody"] {
            desk.note(name, "denied").await;
        }
        desk.account.settle().await;
        assert!(desk.written().is_empty());
        for _ in 3..UNWRITTEN + 2 {
            desk.note("cleo", "denied").await;
        }
        desk.book.closed.store(false, Ordering::SeqCst);
        desk.account.settle().await;
        let mut written = desk.written();
        let cleos = written.extract_if(.., |line| *line == "dev:cleo covibe_task denied").count();
        let told = [
            "dev:ada covibe_task.start broken",
            "dev:bob covibe_task denied",
            "dev:cleo covibe denied count=2",
            "nobody covibe denied count=1",
            "nobody covibe_task denied",
        ];
        assert_eq!((written, cleos), (told.map(str::to_owned).to_vec(), UNWRITTEN - 3));
        desk.account.settle().await;
        assert!(desk.written().is_empty(), "each is once");
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
