//! What must not leave: finds every known secret, in every form it is likely to be written in, and names it instead.
//!
//! The forms of a secret are in `forms`; `filter`, `search` and `scan` find them all in one pass; `json` keeps a JSON
//! text valid while it is redacted, `stream` works across the borders of chunks. It does not decide what is a
//! secret, nor where redaction happens.
//!
//! The rule, the same everywhere: at each place the longest form that begins there counts; stretches that overlap
//! become one, and so do stretches of the same secret that touch; each is replaced by `[REDACTED:NAME]` with the
//! name of the secret that begins first. Our own tokens need not be known: their shape is enough.

mod filter;
mod forms;
mod json;
mod scan;
mod search;
mod stream;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use self::scan::{Cover, joined};
use self::search::Search;
pub use self::stream::Stream;

/// The secrets of one moment, ready to be found. Immutable: share it, and swap it whole when the secrets change.
pub struct Redactor {
    search: Search,
}

impl Redactor {
    /// Knows the given secrets, each a name and a value. Of two with the same value the first gives the name.
    ///
    /// A value of fewer than [`crate::secret::SHORTEST`] characters, or of white space only, is left out: it would
    /// black out ordinary text. Whoever takes secrets in refuses such a value with a reason.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { search: Search::new(secrets) }
    }

    /// Knows no secret by value; our own tokens are still found.
    pub fn none() -> Self {
        Self::new([])
    }

    /// The text without secrets; borrowed if it held none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(into_text(bytes)),
        }
    }

    /// The bytes without secrets, whether or not they are text; borrowed if they held none.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let mut places = self.search.scan(bytes, 0, bytes.len()).peekable();
        if places.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut cover = Cover::default();
        for found in places {
            cover.take(&self.search, bytes, found, &mut out);
        }
        cover.plain(bytes, bytes.len(), &mut out);
        Cow::Owned(out)
    }

    /// A part of the bytes without secrets, those included that begin before it or end behind it.
    pub fn redact_part(&self, bytes: &[u8], part: Range<usize>) -> Vec<u8> {
        let mut out = Vec::with_capacity(part.len());
        let (mut done, last) = (part.start, part.end.min(bytes.len()));
        for found in joined(self.search.scan(bytes, 0, bytes.len())) {
            let (start, end) = (found.start.max(done), found.end.min(last));
            if start < end {
                out.extend_from_slice(bytes.get(done..start).unwrap_or_default());
                out.extend_from_slice(self.search.label(found.label).as_bytes());
                done = end;
            }
        }
        out.extend_from_slice(bytes.get(done..last).unwrap_or_default());
        out
    }

    /// A text for a message: without secrets, and only then cut to that many characters.
    pub fn shown(&self, text: &str, most: usize) -> String {
        let clean = self.redact(text);
        let mut shown: String = clean.chars().take(most).collect();
        if shown.len() < clean.len() {
            shown.push('…');
        }
        shown
    }

    /// Redacts all names and texts of a JSON value; a number that holds a secret becomes a text.
    pub fn redact_value(&self, value: &mut Value) {
        json::redact_value(self, value);
    }

    /// A serialised JSON text without secrets; still valid JSON if it was, and borrowed if it held none.
    ///
    /// Escapes are decoded before the comparison, so `\u0061` hides nothing. A secret that is itself a piece of JSON
    /// is found where it is written across several values; the texts and numbers it touches are replaced.
    pub fn redact_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        json::redact_text(&self.search, json)
    }

    /// Begins to redact something that arrives in chunks.
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream::new(Arc::clone(self))
    }

    /// The bytes of memory this holds.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.search.memory()
    }

    /// How many forms are searched for.
    pub fn forms(&self) -> usize {
        self.search.forms()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.forms()).finish_non_exhaustive()
    }
}

/// Forms are whole characters, so what is left of a text is one.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned())
}
