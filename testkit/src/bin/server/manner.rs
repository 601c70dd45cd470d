//! How a server behaves, by the words of its command line.
//!
//! A plain word is a trait, `KEY=VALUE` a setting, and `FAULT@METHOD` what goes wrong with the requests of that method
//! (`start` for before the first, `*` for all). Words it does not know are refused, so that a test cannot misspell one.

use crate::era::Era;

/// Traits.
const TRAITS: &[&str] = &[
    "legacy",    // speaks only the handshake's era
    "modern",    // speaks only the stateless era
    "sticky",    // ends neither with its input nor when it is asked to
    "changing",  // has other tools in every list, and says so each time
    "malformed", // lists tools that are none among those that are
    "leaks",     // writes what it was given to both of its streams as it starts
    "streams",   // answers every request with a stream of events
    "no-get",    // answers 405 to GET
];

/// Settings.
const SETTINGS: &[&str] = &[
    "name",   // what it calls itself
    "wait",   // milliseconds before it begins
    "page",   // how many tools are in one page of the list
    "offers", // the only tools it lists, by name
    "plus",   // more tools, by name; each says whose it is
    "forget", // after how many requests it no longer knows a session
    "needs",  // the token it wants to see
    "to",     // where a redirect leads, and where the endpoint of events is said to be
    "ref",    // what the remote reference of a schema names
    "path",   // where it is served
];

/// What can go wrong with a request.
const FAULTS: &[&str] = &[
    "never",     // no answer
    "wrong-id",  // an answer to something else
    "twice",     // two answers
    "die",       // the program ends
    "garbage",   // what is no message, before the answer and after it
    "flood",     // very many notifications before the answer
    "huge",      // an answer of 50 MB
    "shapeless", // a result that is none
    "error",     // an error of the protocol
    "deaf",      // nothing is read any more
    "html",      // over HTTP: a page, with status 200
    "redirect",  // over HTTP: another address
    "cut",       // over HTTP: half an event, and the end
    "broken",    // over HTTP: status 500
    "empty",     // over HTTP: status 200 and nothing
    "endpoint",  // older HTTP with events: an endpoint elsewhere
];

/// The words.
pub(crate) struct Manner(Vec<String>);

impl Manner {
    /// Takes the words, or says which is none.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        let known = |word: &String| match (word.split_once('@'), word.split_once('=')) {
            (Some((fault, _)), _) => FAULTS.contains(&fault),
            (None, Some((key, _))) => SETTINGS.contains(&key),
            (None, None) => TRAITS.contains(&word.as_str()),
        };
        match words.iter().find(|word| !known(word)) {
            Some(word) => Err(format!("there is no word `{word}`")),
            None => Ok(Self(words.to_vec())),
        }
    }

    /// Whether it has that trait.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }

    /// A setting.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// A setting that is a number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.parse().ok()
    }

    /// A setting that is a list.
    pub(crate) fn list(&self, key: &str) -> Vec<&str> {
        self.value(key).map(|list| list.split(',').collect()).unwrap_or_default()
    }

    /// What goes wrong with that method.
    pub(crate) fn fault(&self, method: &str) -> Option<&str> {
        let faults = self.0.iter().filter_map(|word| word.split_once('@'));
        let about = |at: &str| at == method || (at == "*" && method != "start");
        faults.filter(|(_, at)| about(at)).map(|(fault, _)| fault).next()
    }

    /// Whether it speaks that era.
    pub(crate) fn speaks(&self, era: Era) -> bool {
        match era {
            Era::Legacy => !self.is("modern"),
            Era::Modern => !self.is("legacy"),
        }
    }

    /// What it calls itself.
    pub(crate) fn name(&self) -> &str {
        self.value("name").unwrap_or("fixture")
    }
}
