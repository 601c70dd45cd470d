//! What dropped values leave behind. It is dropped one by one, so that deep nesting never deepens the native stack.

use super::Value;
use super::table::Entry;

/// What one dropped value held.
pub(crate) enum Remains {
    Values(Vec<Value>),
    Entries(Vec<Option<Entry>>),
}

/// Remains that wait, and whether someone is at work on them.
#[derive(Default)]
pub(crate) struct Graveyard {
    waiting: Vec<Remains>,
    busy: bool,
}

impl Graveyard {
    /// Takes remains; `true` asks the caller to call [`next`](Self::next) until nothing is left.
    pub(crate) fn admit(&mut self, remains: Remains) -> bool {
        let empty = match &remains {
            Remains::Values(values) => values.is_empty(),
            Remains::Entries(entries) => entries.is_empty(),
        };
        if empty {
            return false;
        }
        self.waiting.push(remains);
        !std::mem::replace(&mut self.busy, true)
    }

    /// The next value to drop; `None` ends the work.
    pub(crate) fn next(&mut self) -> Option<(Option<Value>, Option<Entry>)> {
        loop {
            let found = match self.waiting.last_mut() {
                None => {
                    self.busy = false;
                    // Nothing waits: a large yard is not kept for the rest of the run.
                    self.waiting = Vec::new();
                    return None;
                }
                Some(Remains::Values(values)) => values.pop().map(|value| (Some(value), None)),
                Some(Remains::Entries(entries)) => entries.pop().map(|entry| (None, entry)),
            };
            match found {
                Some(found) => return Some(found),
                None => self.waiting.pop(),
            };
        }
    }
}
