//! The words of servers as they may be shown: secrets are taken out first, and only then is anything cut. Half a secret
//! is found by nobody. Whatever shortens what a server said does it here.

use std::fmt;
use std::sync::Arc;

use covenant_gate::Gate;
use covenant_model::redact::Redactor;

/// The longest secret that is found where only the beginning of a text is held.
const MARGIN: usize = 8 * 1024;

/// Takes out what is secret at that moment, and then cuts.
#[derive(Clone)]
pub struct Scrub(Arc<dyn Fn() -> Arc<Redactor> + Send + Sync>);

/// What is held of a text: all of it, or how it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// There was more.
    pub goes_on: bool,
}

impl Held {
    /// The beginning of those bytes, and of what came after them where it goes on. Four times the longest secret is
    /// enough for any clause.
    pub fn of(bytes: &[u8], goes_on: bool) -> Self {
        let held = bytes.get(..MARGIN * 4).unwrap_or(bytes);
        Self { bytes: held.to_vec(), goes_on: goes_on || held.len() < bytes.len() }
    }
}

impl Scrub {
    /// By what that says is secret, whenever it is asked.
    pub fn new(secrets: impl Fn() -> Arc<Redactor> + Send + Sync + 'static) -> Self {
        Self(Arc::new(secrets))
    }

    /// By what the gate hides.
    pub fn of(gate: &Arc<Gate>) -> Self {
        let gate = Arc::clone(gate);
        Self::new(move || gate.redactor())
    }

    /// The text without secrets, cut to that many characters.
    pub fn shown(&self, text: &str, most: usize) -> String {
        (self.0)().shown(text, most)
    }

    /// The same in one line, without what moves a terminal's cursor.
    pub fn quoted(&self, text: &str, most: usize) -> String {
        let redactor = (self.0)();
        let clean = redactor.redact(text);
        let words = clean.split_whitespace().flat_map(|word| [" ", word]).skip(1);
        let line: String = words.flat_map(str::chars).filter(|letter| !letter.is_control()).collect();
        // What was taken out may have kept the parts of a secret from each other.
        redactor.shown(&line, most)
    }

    /// The same of what is held. Where it goes on, its end is left out: a secret may begin there that cannot be seen.
    pub fn beginning(&self, held: &Held, most: usize) -> String {
        let redactor = (self.0)();
        let text = String::from_utf8_lossy(&held.bytes);
        let clean = redactor.redact(&text);
        let sure = if held.goes_on { clean.len().saturating_sub(MARGIN) } else { clean.len() };
        self.quoted(clean.get(..clean.floor_char_boundary(sure)).unwrap_or_default(), most)
    }

    /// Whether there is a secret in that text.
    pub fn finds(&self, text: &str) -> bool {
        matches!((self.0)().redact(text), std::borrow::Cow::Owned(_))
    }
}

impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrub")
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod cuts;

/// For tests: one secret is known.
#[cfg(test)]
pub(crate) mod known {
    use std::sync::LazyLock;

    use super::{Arc, Redactor, Scrub};

    pub(crate) const SECRET: &str = "correct-horse-battery-staple-0123456789";

    pub(crate) fn scrub() -> &'static Scrub {
        static SCRUB: LazyLock<Scrub> = LazyLock::new(|| {
            let redactor = Arc::new(Redactor::new([("TOKEN", SECRET)]));
            Scrub::new(move || Arc::clone(&redactor))
        });
        &SCRUB
    }

    /// Nothing of the secret that is longer than what chance writes.
    pub(crate) fn assert_hidden(text: &str) {
        for part in SECRET.as_bytes().windows(6) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!text.contains(part), "`{part}` is in: {text}");
        }
    }

    /// A secret across every border within reach of that many characters.
    pub(crate) fn straddling(most: usize) -> impl Iterator<Item = String> {
        let begins = [most.saturating_sub(SECRET.len() - 1), most.saturating_sub(7), most];
        begins.into_iter().map(|before| format!("{}{SECRET}", "x".repeat(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::known::{SECRET, assert_hidden, scrub, straddling};
    use super::*;

    #[test]
    fn quotes_are_short_and_in_one_line() {
        assert_eq!(scrub().quoted("  a\n\tb\u{7}  c ", 200), "a b c");
        assert_eq!(scrub().quoted(&"x".repeat(500), 200), format!("{}…", "x".repeat(200)));
    }

    #[test]
    fn a_secret_across_the_cut_is_taken_out_whole() {
        for text in straddling(200) {
            for shown in [scrub().shown(&text, 200), scrub().quoted(&text, 200)] {
                assert_hidden(&shown);
                assert!(shown.chars().count() <= 201, "{shown}");
            }
        }
        let apart = SECRET.replace("horse", "ho\u{7}rse");
        assert_hidden(&scrub().quoted(&apart, 200));
    }

    #[test]
    fn of_a_text_that_goes_on_nothing_is_shown_in_which_a_secret_may_have_begun() {
        for before in [0, 100, MARGIN, MARGIN * 4 - SECRET.len(), MARGIN * 4 - 7] {
            let text = format!("{}{SECRET}{}", " ".repeat(before), "y".repeat(MARGIN * 4));
            for end in [before + 7, before + SECRET.len() - 1, text.len()] {
                let held = Held::of(&text.as_bytes()[..end], end < text.len());
                assert_hidden(&scrub().beginning(&held, 200));
            }
        }
        let whole = Held::of(b"no such key", false);
        assert_eq!(scrub().beginning(&whole, 200), "no such key");
    }
}
