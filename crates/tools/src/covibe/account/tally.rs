//! How many calls were not written down one by one: by whose they were, and why they came to nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use covenant_model::envelope::Status;
use covenant_model::principal::Principal;
use covenant_team::event::Unserved;
use parking_lot::Mutex;
use serde_json::Map;

/// For how many callers numbers are kept apart; those of more are counted as nobody's.
const CALLERS: usize = 1024;

/// What calls are called of which only the number is known.
const CALLS: &str = "covibe";

/// What calls have in common that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Whose {
    /// Who made them; nobody we know, or nobody in particular.
    pub(super) principal: Option<Principal>,
    /// By which door strangers came who named no tool.
    pub(super) door: Option<&'static str>,
    /// Why they came to nothing.
    pub(super) code: &'static str,
}

impl Whose {
    /// So many of them, as they are written down.
    pub(super) fn calls(&self, count: u64) -> Unserved {
        let mut details = Map::new();
        if let Some(door) = self.door {
            details.insert("source".to_owned(), door.into());
        }
        details.insert("count".to_owned(), count.into());
        Unserved { call: CALLS.to_owned(), status: Status::Error, code: self.code, session: None, details }
    }
}

/// The numbers since they were last written down.
#[derive(Default)]
pub(super) struct Tally(Mutex<HashMap<Whose, u64>>);

impl Tally {
    /// Whether it is the first of strangers since then, who is written down; another is counted.
    pub(super) fn begins(&self, whose: &Whose) -> bool {
        match self.0.lock().entry(whose.clone()) {
            Entry::Vacant(first) => {
                first.insert(0);
                true
            }
            Entry::Occupied(mut more) => {
                *more.get_mut() = more.get().saturating_add(1);
                false
            }
        }
    }

    /// Counts so many.
    pub(super) fn add(&self, whose: Whose, calls: u64) {
        let mut numbers = self.0.lock();
        let known = numbers.len() < CALLERS || numbers.contains_key(&whose);
        let principal = whose.principal.filter(|_| known);
        let count = numbers.entry(Whose { principal, ..whose }).or_default();
        *count = count.saturating_add(calls);
    }

    /// How many there are of somebody, to be written down now.
    pub(super) fn take(&self, whose: &Whose) -> u64 {
        // That a stranger was written down is remembered until all are.
        if whose.principal.is_some() { self.0.lock().remove(whose).unwrap_or(0) } else { 0 }
    }

    /// All of them, to be written down now.
    pub(super) fn take_all(&self) -> Vec<(Whose, u64)> {
        std::mem::take(&mut *self.0.lock()).into_iter().filter(|(_, calls)| *calls > 0).collect()
    }
}
