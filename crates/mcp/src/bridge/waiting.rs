//! Which requests are unanswered, and since when.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::era::Era;
use crate::message::Id;

/// How many ids of answers that may still come are remembered.
const LATE: usize = 1024;

/// What a request is, as far as its answer differs where no daemon gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// It calls a tool, in that era.
    Call(Era),
    /// It wants anything else.
    Other,
}

/// The requests the client waits for.
pub(super) struct Waiting {
    since: HashMap<Id, (Option<Instant>, Want)>,
    late: HashSet<Id>,
    deadline: Duration,
}

/// What an answer is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Somebody waits for it, or it is not ours to judge.
    Wanted,
    /// It was given up, and answered so.
    Late,
}

impl Waiting {
    pub(super) fn new(deadline: Duration) -> Self {
        Self { since: HashMap::new(), late: HashSet::new(), deadline }
    }

    /// A request that will be given up in time.
    pub(super) fn expect(&mut self, id: Id, want: Want, now: Instant) {
        self.since.insert(id, (Some(now), want));
    }

    /// A request that is answered only when it ends, such as a subscription.
    pub(super) fn expect_at_last(&mut self, id: Id) {
        self.since.insert(id, (None, Want::Other));
    }

    /// The client does not wait for that one any more.
    pub(super) fn forget(&mut self, id: &Id) {
        self.since.remove(id);
    }

    /// An answer came.
    pub(super) fn answered(&mut self, id: &Id) -> Answer {
        if self.since.remove(id).is_none() && self.late.remove(id) { Answer::Late } else { Answer::Wanted }
    }

    /// Whether an answer is still to come in time.
    pub(super) fn is_owed(&self) -> bool {
        self.since.values().any(|(since, _)| since.is_some())
    }

    /// When the first of them is given up.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.since.values().filter_map(|(since, _)| *since).min().map(|since| since + self.deadline)
    }

    /// Gives up those whose time has passed.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(Id, Want)> {
        let deadline = self.deadline;
        let over = |since: Option<Instant>| since.is_some_and(|since| since + deadline <= now);
        let expired = self.since.extract_if(|_, (since, _)| over(*since));
        let expired: Vec<_> = expired.map(|(id, (_, want))| (id, want)).collect();
        if self.late.len() + expired.len() > LATE {
            self.late.clear();
        }
        self.late.extend(expired.iter().map(|(id, _)| id.clone()));
        expired
    }

    /// Nobody will answer any of them: all that waited.
    pub(super) fn give_up(&mut self) -> Vec<(Id, Want)> {
        self.late.clear();
        self.since.drain().map(|(id, (_, want))| (id, want)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        Id::of(text).unwrap()
    }

    #[test]
    fn a_request_is_given_up_after_its_deadline_and_its_answer_is_late() {
        let limit = Duration::from_secs(10);
        let mut waiting = Waiting::new(limit);
        let start = Instant::now();
        waiting.expect(id("1"), Want::Call(Era::Modern), start);
        waiting.expect(id("2"), Want::Other, start + Duration::from_secs(5));
        waiting.expect_at_last(id("3"));
        assert_eq!(waiting.next_deadline(), Some(start + limit));
        assert_eq!(waiting.expire(start + Duration::from_secs(9)), []);
        assert_eq!(waiting.expire(start + limit), [(id("1"), Want::Call(Era::Modern))]);
        assert_eq!(waiting.answered(&id("1")), Answer::Late);
        assert_eq!(waiting.answered(&id("1")), Answer::Wanted);
        assert_eq!(waiting.answered(&id("2")), Answer::Wanted);
        assert!(!waiting.is_owed());
        assert_eq!(waiting.give_up(), [(id("3"), Want::Other)]);
    }
}
