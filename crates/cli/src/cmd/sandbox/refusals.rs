//! What the proxy refused a program, said to whoever tries it. Many clients show only the number of such an answer, and in
//! a daemon the sentence goes to the log; here there is none.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::play::Teller;
use crate::print;

/// Who says what was refused.
const SOURCE: &str = "covenant::egress";

/// The most sentences that are kept. The proxy says no more than that either.
const KEPT: usize = 128;

/// What was refused so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals(Arc<Mutex<Vec<String>>>);

impl Refusals {
    /// Listens from now on, and passes on what is said at once if there is somebody for that.
    pub(super) fn listen(teller: Option<Teller>) -> Self {
        let refusals = Self::default();
        let listener = Listener { refusals: refusals.clone(), teller };
        // Only a process with a log of its own has somebody else who listens, and no command is that.
        let _ = tracing::subscriber::set_global_default(listener);
        refusals
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, sentence: String) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KEPT {
            known.push(sentence);
        }
    }
}

struct Listener {
    refusals: Refusals,
    teller: Option<Teller>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == SOURCE && *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let Message(sentence) = message;
        if let Some(teller) = &self.teller {
            let sentence = sentence.clone();
            teller.own(move || print::warn(&sentence));
        }
        self.refusals.add(sentence);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The sentence of an event; whose run it was is known here.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a `String` cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_proxy_are_heard_and_nothing_else() {
        let refusals = Refusals::default();
        let listener = Listener { refusals: refusals.clone(), teller: None };
        tracing::subscriber::with_default(listener, || {
            tracing::info!(target: "covenant::egress", run = "x", host = "h", "a connection was refused: {}", 1);
            tracing::debug!(target: "covenant::egress", "chatter");
            tracing::info!(target: "child", "a line of its own");
        });
        assert_eq!(refusals.all(), ["a connection was refused: 1"]);
    }
}
