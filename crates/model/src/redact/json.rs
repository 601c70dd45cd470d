//! Redaction of JSON: what is replaced is the inside of strings and whole numbers, so the text stays valid.
//!
//! Two searches meet here. One is over the text as written, which also finds a secret that is itself a piece of JSON;
//! the other is over strings with their escapes decoded. Both are brought to places in the text as written, widened to
//! whole escapes, and everything else is copied byte for byte.

use std::borrow::Cow;
use std::cmp::Reverse;

use memchr::{memchr, memchr_iter, memchr2, memrchr};
use serde_json::{Map, Value};

use super::Redactor;
use super::scan::{Found, joined};
use super::search::Search;

/// A serialised text without secrets.
pub(super) fn redact_text<'t>(search: &Search, json: &'t str) -> Cow<'t, str> {
    let text = json.as_bytes();
    let written = joined(search.scan(text, 0, text.len()));
    if written.is_empty() && memchr(b'\\', text).is_none() {
        return Cow::Borrowed(json);
    }
    let mut walk = Walk { search, text, written: &written, decoded: Decoded::default(), edits: Vec::new() };
    walk.run();
    if walk.edits.is_empty() { Cow::Borrowed(json) } else { Cow::Owned(edited(search, json, &walk.edits)) }
}

/// One replacement.
enum Edit {
    /// Part of a string.
    Inside(Found),
    /// A number or a word outside of strings, which becomes a string.
    Bare(Found),
}

fn edited(search: &Search, json: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(json.len());
    let mut done = 0;
    for edit in edits {
        let (found, quote) = match edit {
            Edit::Inside(found) => (found, ""),
            Edit::Bare(found) => (found, "\""),
        };
        out.push_str(json.get(done..found.start).unwrap_or_default());
        out.extend([quote, search.label(found.label), quote]);
        done = found.end;
    }
    out.push_str(json.get(done..).unwrap_or_default());
    out
}

/// A walk over the text from string to string.
struct Walk<'w> {
    search: &'w Search,
    text: &'w [u8],
    /// What is still ahead of the stretches found in the text as written.
    written: &'w [Found],
    decoded: Decoded,
    edits: Vec<Edit>,
}

impl Walk<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(next) = self.worth_reading(at) {
            at = next;
            let rest = self.text.get(at..).unwrap_or_default();
            let start = memchr(b'"', rest).map_or(self.text.len(), |step| at + step);
            self.outside(at, start);
            let end = self.decoded.read(self.text, start + 1);
            self.string(start + 1, end);
            at = end + 1;
        }
    }

    /// Where to read on, not inside of a string: with nothing left as written, only strings with escapes matter.
    fn worth_reading(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
            if !self.written.is_empty() {
                return Some(at);
            }
            let step = memchr(b'\\', rest)?;
            let before = rest.get(..step)?;
            // An odd number of quotes: the last of them begins the string of the escape.
            if memchr_iter(b'"', before).count() % 2 == 1 {
                return memrchr(b'"', before).map(|quote| at + quote);
            }
            at += step + 1;
        }
    }

    /// The inside of a string, which `decoded` has just read.
    fn string(&mut self, start: usize, end: usize) {
        let mut places = self.written_in(start, end);
        if !self.decoded.escapes.is_empty() {
            for found in &mut places {
                self.decoded.widen(found);
            }
            let inside = &self.decoded.bytes;
            let decoded = self.search.scan(inside, 0, inside.len());
            places.extend(decoded.map(|found| self.decoded.as_written(found, start)));
            places.sort_by_key(|found| (found.start, Reverse(found.end)));
        }
        self.edits.extend(joined(places.into_iter()).into_iter().map(Edit::Inside));
    }

    /// What stands between two strings: structure, which stays, and bare words.
    fn outside(&mut self, start: usize, end: usize) {
        let places = self.written_in(start, end);
        if places.is_empty() {
            return;
        }
        let mut ahead = places.as_slice();
        let mut at = start;
        let gap = self.text.get(start..end).unwrap_or_default();
        for part in gap.split_inclusive(|&byte| is_structure(byte)) {
            let word = at..at + part.len() - usize::from(part.last().is_some_and(|&byte| is_structure(byte)));
            at += part.len();
            ahead = ahead.get(ahead.partition_point(|found| found.end <= word.start)..).unwrap_or_default();
            if let Some(found) = ahead.first()
                && found.start < word.end
                && !word.is_empty()
            {
                self.edits.push(Edit::Bare(Found { start: word.start, end: word.end, label: found.label }));
            }
        }
    }

    /// The stretches of the text as written that touch a range, cut to it.
    fn written_in(&mut self, start: usize, end: usize) -> Vec<Found> {
        while let Some((first, rest)) = self.written.split_first()
            && first.end <= start
        {
            self.written = rest;
        }
        let ahead = self.written.iter().take_while(|found| found.start < end);
        let cut = ahead.map(|f| Found { start: f.start.max(start), end: f.end.min(end), label: f.label });
        cut.filter(|found| found.start < found.end).collect()
    }
}

fn is_structure(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',') || byte.is_ascii_whitespace()
}

/// An escape, and the character it stands for.
struct Escape {
    /// Where it is in the text as written, and its bytes there.
    written: usize,
    width: usize,
    /// Where it is in the decoded string, and its bytes there.
    decoded: usize,
    length: usize,
}

/// A string with its escapes decoded; empty, and cheap, if it has none.
#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    escapes: Vec<Escape>,
}

impl Decoded {
    /// Reads the string whose inside begins at `start`, and says where it ends.
    fn read(&mut self, text: &[u8], start: usize) -> usize {
        self.bytes.clear();
        self.escapes.clear();
        let mut at = start;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let step = memchr2(b'"', b'\\', rest);
            let run = rest.get(..step.unwrap_or(rest.len())).unwrap_or_default();
            let escaped = step.is_some_and(|step| rest.get(step) == Some(&b'\\'));
            if escaped || !self.escapes.is_empty() {
                self.bytes.extend_from_slice(run);
            }
            at += run.len();
            if !escaped {
                return at;
            }
            let (character, width) = decode(text.get(at..).unwrap_or_default());
            let mut utf8 = [0; 4];
            let utf8 = character.encode_utf8(&mut utf8).as_bytes();
            self.escapes.push(Escape { written: at, width, decoded: self.bytes.len(), length: utf8.len() });
            self.bytes.extend_from_slice(utf8);
            at += width;
        }
    }

    /// Makes a place in the text as written begin and end with whole escapes.
    fn widen(&self, found: &mut Found) {
        let holding = |at: usize| {
            let after = self.escapes.partition_point(|escape| escape.written <= at);
            let escape = after.checked_sub(1).and_then(|index| self.escapes.get(index));
            escape.filter(|escape| at < escape.written + escape.width)
        };
        if let Some(escape) = holding(found.start) {
            found.start = escape.written;
        }
        if let Some(escape) = holding(found.end.saturating_sub(1)) {
            found.end = escape.written + escape.width;
        }
    }

    /// Brings a place in the decoded string back to the text as written, where the string's inside is at `start`.
    fn as_written(&self, found: Found, start: usize) -> Found {
        let place = |at: usize| {
            let after = self.escapes.partition_point(|escape| escape.decoded <= at);
            match after.checked_sub(1).and_then(|index| self.escapes.get(index)) {
                None => (start + at, start + at + 1),
                Some(e) if at < e.decoded + e.length => (e.written, e.written + e.width),
                Some(e) => {
                    let at = e.written + e.width + (at - e.decoded - e.length);
                    (at, at + 1)
                }
            }
        };
        let (first, _) = place(found.start);
        let (_, end) = place(found.end.saturating_sub(1));
        Found { start: first, end, label: found.label }
    }
}

/// The character an escape stands for, and the bytes it takes. What is no escape is a backslash.
fn decode(text: &[u8]) -> (char, usize) {
    let plain = match text.get(1) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'u') => return unit(text).map_or(('\\', 1), |first| character(first, text.get(6..))),
        _ => return ('\\', 1),
    };
    (plain, 2)
}

/// The UTF-16 unit that `\uXXXX` stands for.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, &digit| {
        let value = char::from(digit).to_digit(16).and_then(|value| u16::try_from(value).ok())?;
        Some(unit << 4 | value)
    })
}

/// The character of a unit, or of a pair of units; half a pair stands for no character.
fn character(first: u16, next: Option<&[u8]>) -> (char, usize) {
    let pair = |second| char::decode_utf16([first, second]).next().and_then(Result::ok);
    match char::from_u32(u32::from(first)) {
        Some(character) => (character, 6),
        None => match next.and_then(unit).and_then(pair) {
            Some(character) => (character, 12),
            None => (char::REPLACEMENT_CHARACTER, 6),
        },
    }
}

/// Redacts all names and texts of a value, and the numbers that hold a secret.
pub(super) fn redact_value(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            let text = number.to_string();
            if let Some(found) = redactor.search.scan(text.as_bytes(), 0, text.len()).next() {
                *value = Value::String(redactor.search.label(found.label).to_owned());
            }
        }
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(redactor, item)),
        Value::Object(members) => redact_members(redactor, members),
    }
}

fn redact_members(redactor: &Redactor, members: &mut Map<String, Value>) {
    members.values_mut().for_each(|member| redact_value(redactor, member));
    if members.keys().all(|name| matches!(redactor.redact(name), Cow::Borrowed(_))) {
        return;
    }
    for (name, member) in std::mem::take(members) {
        let mut name = redactor.redact(&name).into_owned();
        // Two names may have become one; neither member is lost.
        while members.contains_key(&name) {
            name.push('_');
        }
        members.insert(name, member);
    }
}
