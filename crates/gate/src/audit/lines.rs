//! Lines of a file in large blocks, borrowed, with a limit on their length.

use std::io::{self, Read};

const BLOCK: usize = 1 << 19;

/// No line of ours comes near this; a longer one is somebody else's.
pub(super) const LONGEST: usize = 1 << 18;

/// A line without its line end.
pub(super) struct Line<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the next line begins, counted from the first line read.
    pub(super) end: u64,
    /// Whether its line end was there.
    pub(super) whole: bool,
}

/// Reads lines until the end, and goes on if more was written since.
pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// How much of what waits was searched for a line end already.
    searched: usize,
    consumed: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BLOCK], begin: 0, filled: 0, searched: 0, consumed: 0 }
    }

    /// The next line; a last one without its end too.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        match self.next_whole_length()? {
            Some(length) => Ok(Some(self.take(length, true))),
            None if self.filled > self.begin => Ok(Some(self.take(self.filled - self.begin, false))),
            None => Ok(None),
        }
    }

    /// The next line that has its end; half a line stays for later.
    pub(super) fn next_whole(&mut self) -> io::Result<Option<Line<'_>>> {
        let length = self.next_whole_length()?;
        Ok(length.map(|length| self.take(length, true)))
    }

    fn take(&mut self, length: usize, whole: bool) -> Line<'_> {
        let from = self.begin;
        let used = length + usize::from(whole);
        self.begin += used;
        self.searched = 0;
        self.consumed = self.consumed.saturating_add(u64::try_from(used).unwrap_or(u64::MAX));
        let bytes = self.buffer.get(from..from + length).unwrap_or_default();
        Line { bytes, end: self.consumed, whole }
    }

    fn next_whole_length(&mut self) -> io::Result<Option<usize>> {
        loop {
            let waiting = self.buffer.get(self.begin..self.filled).unwrap_or_default();
            let fresh = waiting.get(self.searched..).unwrap_or_default();
            let found = memchr::memchr(b'\n', fresh).map(|at| at + self.searched);
            if found.unwrap_or(waiting.len()) > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than any row"));
            }
            if found.is_some() {
                return Ok(found);
            }
            self.searched = waiting.len();
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        if self.filled == self.buffer.len() {
            self.buffer.copy_within(self.begin..self.filled, 0);
            self.filled -= self.begin;
            self.begin = 0;
        }
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let read = loop {
            match self.source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.filled += read;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.bytes.to_vec(), line.whole));
        }
        found
    }

    #[test]
    fn lines_across_blocks_come_whole_and_a_last_half_line_is_told_apart() {
        let line = vec![b'x'; 100_000];
        let mut text = Vec::new();
        for _ in 0..50 {
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        text.extend_from_slice(b"half");
        let found = all(&text);
        assert_eq!(found.len(), 51);
        assert!(found[..50].iter().all(|(bytes, whole)| *whole && *bytes == line));
        assert_eq!(found[50], (b"half".to_vec(), false));
    }

    #[test]
    fn a_line_without_end_is_refused_instead_of_kept_in_memory() {
        assert!(Lines::new(&vec![b'x'; LONGEST + 2][..]).next().is_err());
    }
}
