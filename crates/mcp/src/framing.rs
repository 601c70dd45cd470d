//! Bytes into lines: what a line is, how long it may be, and how much is held of one that never ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// What is read at once when much is there.
const READ: usize = 64 * 1024;

/// What a quiet connection holds.
const IDLE: usize = 4 * 1024;

/// What is kept of either end of a line that is too long.
const ENDS: usize = 256;

/// Which part of a line that is too long.
#[derive(Clone, Copy)]
enum Part {
    First,
    Middle,
    Last,
    Whole,
}

/// Collects bytes and gives them out in lines, without their ends.
#[derive(Debug)]
pub struct Lines {
    /// Zeroed room; what was read stands in `start..end`.
    room: Vec<u8>,
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    scanned: usize,
    limit: usize,
    skipping: bool,
    overlong: Option<Overlong>,
}

/// The ends of a line that is too long: who waits for it may be found there.
#[derive(Debug, Default)]
pub struct Overlong {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes so far.
    pub tail: Vec<u8>,
    /// Whether all of it went by.
    pub ended: bool,
}

/// What came out.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line that is not empty.
    Whole(&'a [u8]),
    /// A line went over the limit; the rest of it is thrown away.
    TooLong,
}

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// There are more bytes.
    More,
    /// There will be none.
    Finished,
}

impl Lines {
    /// Lines of at most that many bytes.
    pub fn new(limit: usize) -> Self {
        Self { room: Vec::new(), start: 0, end: 0, scanned: 0, limit, skipping: false, overlong: None }
    }

    /// The same, and the ends of lines that are too long are kept. Such a line is reported twice where its end comes
    /// later: when it went over the limit, and when it ended.
    pub fn keeping_ends(limit: usize) -> Self {
        Self { overlong: Some(Overlong::default()), ..Self::new(limit) }
    }

    /// The ends of the line that was last too long, where they are kept.
    pub fn overlong(&self) -> Option<&Overlong> {
        self.overlong.as_ref()
    }

    /// The next line that is there, if one is.
    pub fn take(&mut self) -> Option<Line<'_>> {
        loop {
            let unseen = self.room.get(self.scanned..self.end).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen).map(|at| self.scanned + at) else {
                self.scanned = self.end;
                return self.unended();
            };
            let (from, to) = (self.start, at);
            self.start = at + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                if self.overlong.is_some() {
                    self.note(from, to, Part::Last);
                    return Some(Line::TooLong);
                }
                continue;
            }
            if to - from > self.limit {
                self.note(from, to, Part::Whole);
                return Some(Line::TooLong);
            }
            if !is_blank(self.room.get(from..to).unwrap_or_default()) {
                return self.room.get(from..to).map(|line| Line::Whole(without_cr(line)));
            }
        }
    }

    /// What stands after the last line end, once no more will come.
    pub fn rest(&mut self) -> Option<Line<'_>> {
        let (from, to) = (self.start, self.end);
        (self.start, self.scanned) = (to, to);
        let rest = self.room.get(from..to).unwrap_or_default();
        (!self.skipping && !is_blank(rest)).then(|| Line::Whole(without_cr(rest)))
    }

    /// Whether a line has begun and not ended.
    pub fn is_unfinished(&self) -> bool {
        self.skipping || self.start < self.end
    }

    /// Reads more.
    pub fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        reader: Pin<&mut (impl AsyncRead + ?Sized)>,
    ) -> Poll<io::Result<Filled>> {
        self.make_room();
        let mut free = ReadBuf::new(self.room.get_mut(self.end..).unwrap_or_default());
        ready!(reader.poll_read(cx, &mut free))?;
        let count = free.filled().len();
        self.end += count;
        Poll::Ready(Ok(if count == 0 { Filled::Finished } else { Filled::More }))
    }

    /// A line without an end that is over the limit already: say so once, and hold nothing of it.
    fn unended(&mut self) -> Option<Line<'_>> {
        let over = self.end - self.start > self.limit;
        if self.skipping || over {
            let part = if self.skipping { Part::Middle } else { Part::First };
            self.note(self.start, self.end, part);
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
        (over && !std::mem::replace(&mut self.skipping, true)).then_some(Line::TooLong)
    }

    /// Keeps the ends of a line that is too long, of which that part is in the room.
    fn note(&mut self, from: usize, to: usize, part: Part) {
        let Some(overlong) = &mut self.overlong else { return };
        let bytes = self.room.get(from..to).unwrap_or_default();
        if matches!(part, Part::First | Part::Whole) {
            overlong.head.clear();
            overlong.tail.clear();
            overlong.head.extend(bytes.iter().take(ENDS));
        }
        overlong.ended = matches!(part, Part::Last | Part::Whole);
        overlong.tail.extend(bytes.get(bytes.len().saturating_sub(ENDS)..).unwrap_or_default());
        let surplus = overlong.tail.len().saturating_sub(ENDS);
        overlong.tail.drain(..surplus);
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end, self.scanned) = (0, 0, 0);
            if self.room.len() > READ {
                self.room.truncate(READ);
                self.room.shrink_to_fit();
            }
        }
        if self.end < self.room.len() {
            return;
        }
        if self.start > 0 {
            self.room.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.room.len() < READ || self.end * 2 >= self.room.len() {
            let larger = (self.room.len() * 2).clamp(IDLE, self.limit.saturating_add(READ));
            self.room.resize(larger.max(self.end + IDLE), 0);
        }
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests;
