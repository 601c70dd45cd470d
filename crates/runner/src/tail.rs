//! The tail of a program's standard error: its lines as they may be shown, and the last of them kept.
//!
//! Secrets are taken out of a whole line before anything is cut off it, so no border can hide a part of one. A line too
//! long to be held whole is judged by its beginning: it is shown only as far as taking out the secrets gives the same
//! text whether or not the last [`MARGIN`] bytes held are looked at. A secret that begins in what is shown has then been
//! seen to its end, as long as it is no longer than that.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use memchr::memchr;

use crate::nursery::Scrub;

/// The most that is shown of a line.
const SHOWN: usize = 8 * 1024;

/// The most that is held of a line.
const HELD: usize = 32 * 1024;

/// The longest secret that is found where a line is longer than that.
const MARGIN: usize = 8 * 1024;

/// The most that is kept of all lines.
const KEPT: usize = 16 * 1024;

/// The last lines.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    /// Keeps a line, and lets go of the oldest that are too many now.
    pub(crate) fn push(&self, line: String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += line.len() + 1;
        kept.lines.push_back(line);
        while kept.bytes > KEPT
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.bytes -= oldest.len() + 1;
        }
    }

    /// What is kept, as one text.
    pub(crate) fn text(&self) -> String {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines.make_contiguous().join("\n")
    }
}

/// Makes lines that may be shown of bytes as they come.
pub(crate) struct Cutter {
    scrub: Scrub,
    /// The present line, as far as it came and is held.
    held: Vec<u8>,
    /// Whether the present line was shown already, as far as it is.
    shown: bool,
}

impl Cutter {
    /// Takes secrets out like that.
    pub(crate) fn new(scrub: Scrub) -> Self {
        Self { scrub, held: Vec::new(), shown: false }
    }

    /// Takes the next bytes, and gives away each line they end.
    pub(crate) fn push(&mut self, mut bytes: &[u8], each: &mut impl FnMut(String)) {
        while let Some((line, rest)) = memchr(b'\n', bytes).and_then(|end| bytes.split_at_checked(end)) {
            self.add(line, each);
            self.end(each);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.add(bytes, each);
    }

    /// Gives away the last line, if it has no line feed.
    pub(crate) fn finish(&mut self, each: &mut impl FnMut(String)) {
        if !self.held.is_empty() {
            self.end(each);
        }
    }

    fn add(&mut self, bytes: &[u8], each: &mut impl FnMut(String)) {
        if self.shown {
            return;
        }
        let room = HELD - self.held.len();
        self.held.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if bytes.len() > room {
            each(self.beginning());
            self.held.clear();
            self.shown = true;
        }
    }

    fn end(&mut self, each: &mut impl FnMut(String)) {
        if !std::mem::take(&mut self.shown) {
            let line = self.scrubbed(self.held.len());
            let cut = line.floor_char_boundary(SHOWN);
            each(if cut < line.len() { shortened(&line, cut) } else { line });
        }
        self.held.clear();
    }

    /// What can be shown of a line that is too long to be held.
    fn beginning(&self) -> String {
        let (more, less) = (self.scrubbed(HELD), self.scrubbed(HELD - MARGIN));
        let same = more.bytes().zip(less.bytes()).take_while(|(one, other)| one == other).count();
        shortened(&more, more.floor_char_boundary(same.min(SHOWN)))
    }

    fn scrubbed(&self, length: usize) -> String {
        let line = self.held.get(..length).unwrap_or(&self.held);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (self.scrub)(&String::from_utf8_lossy(line))
    }
}

fn shortened(line: &str, cut: usize) -> String {
    format!("{}… (cut)", line.get(..cut).unwrap_or_default())
}

#[cfg(test)]
mod tests;
