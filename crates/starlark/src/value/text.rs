//! Strings: Unicode text, counted and indexed by code point.

use super::Value;
use crate::fault::Outcome;
use crate::meter::{Hold, Meter};
use std::ops::Deref;
use std::rc::Rc;

/// What a string costs beside its bytes.
const OVERHEAD: usize = 80;

pub(crate) struct Text {
    written: Box<str>,
    /// In code points.
    length: usize,
    _hold: Hold,
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.written
    }
}

impl Text {
    /// In code points.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Whether bytes and code points are the same.
    pub(crate) fn is_plain(&self) -> bool {
        self.length == self.written.len()
    }

    /// The byte where that code point begins; the end if there is none.
    pub(crate) fn byte(&self, at: usize) -> usize {
        if self.is_plain() {
            return at.min(self.written.len());
        }
        self.written.char_indices().nth(at).map_or(self.written.len(), |(byte, _)| byte)
    }

    /// From one code point up to another.
    pub(crate) fn part(&self, from: usize, to: usize) -> &str {
        let (from, to) = (self.byte(from), self.byte(to));
        self.written.get(from..to).unwrap_or_default()
    }
}

impl Meter {
    pub(crate) fn text(self: &Rc<Self>, text: &str) -> Outcome<Value> {
        let hold = self.hold(text.len().saturating_add(OVERHEAD))?;
        self.copies(text.len())?;
        Ok(Value::Text(Rc::new(Text { written: text.into(), length: text.chars().count(), _hold: hold })))
    }

    pub(crate) fn writer(self: &Rc<Self>) -> Outcome<Writer> {
        Ok(Writer { text: String::new(), hold: self.hold(OVERHEAD)? })
    }
}

/// A string under way, paid for as it grows.
pub(crate) struct Writer {
    text: String,
    hold: Hold,
}

impl Writer {
    pub(crate) fn meter(&self) -> &Rc<Meter> {
        self.hold.meter()
    }

    /// Makes room for that many more bytes, paid for before.
    pub(crate) fn room(&mut self, more: usize) -> Outcome<()> {
        let (length, capacity) = (self.text.len(), self.text.capacity());
        let wanted = length.saturating_add(more);
        if wanted > capacity {
            let target = wanted.max(capacity.saturating_mul(2)).max(16);
            self.hold.grow(target - capacity)?;
            self.text.reserve_exact(target - length);
        }
        self.hold.meter().copies(more)
    }

    pub(crate) fn push(&mut self, text: &str) -> Outcome<()> {
        self.room(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    pub(crate) fn push_char(&mut self, c: char) -> Outcome<()> {
        self.room(c.len_utf8())?;
        self.text.push(c);
        Ok(())
    }

    /// The same text so many times.
    pub(crate) fn repeat(&mut self, text: &str, times: usize) -> Outcome<()> {
        self.room(text.len().saturating_mul(times))?;
        for _ in 0..if text.is_empty() { 0 } else { times } {
            self.text.push_str(text);
        }
        Ok(())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn finish(self) -> Value {
        let spare = self.text.capacity() - self.text.len();
        let text = self.text.into_boxed_str();
        self.hold.shrink(spare);
        Value::Text(Rc::new(Text { length: text.chars().count(), written: text, _hold: self.hold }))
    }
}
