//! Bytes into lines: what a line is, how long it may be, and how much is held of one that never ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// What is read at once when much is there.
const READ: usize = 64 * 1024;

/// What a quiet connection holds.
const IDLE: usize = 4 * 1024;

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
        Self { room: Vec::new(), start: 0, end: 0, scanned: 0, limit, skipping: false }
    }

    /// The next line that is there, if one is.
    pub fn take(&mut self) -> Option<Line<'_>> {
        loop {
            let unseen = self.room.get(self.scanned..self.end).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen).map(|at| self.scanned + at) else {
                self.scanned = self.end;
                return self.overlong();
            };
            let (from, to) = (self.start, at);
            self.start = at + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if to - from > self.limit {
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
    fn overlong(&mut self) -> Option<Line<'_>> {
        let over = self.end - self.start > self.limit;
        if self.skipping || over {
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
        (over && !std::mem::replace(&mut self.skipping, true)).then_some(Line::TooLong)
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the chunks, and takes all lines after each.
    fn lines(limit: usize, chunks: &[&[u8]]) -> (Vec<Result<Vec<u8>, ()>>, usize) {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        let mut most = 0;
        let keep = |line: Line<'_>| match line {
            Line::Whole(line) => Ok(line.to_vec()),
            Line::TooLong => Err(()),
        };
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for chunk in chunks {
            let mut reader = *chunk;
            while !reader.is_empty() {
                assert!(lines.poll_fill(&mut cx, Pin::new(&mut reader)).is_ready());
                while let Some(line) = lines.take() {
                    out.push(keep(line));
                }
                most = most.max(lines.room.len());
            }
        }
        out.extend(lines.rest().map(keep));
        (out, most)
    }

    fn whole(lines: &[&str]) -> Vec<Result<Vec<u8>, ()>> {
        lines.iter().map(|line| Ok(line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn lines_come_out_whole_however_they_went_in() {
        let chunks: [&[u8]; 5] = [b"on", b"e\ntwo\r\n\n \t\r\nthr", b"ee", b"\nla", b"st"];
        assert_eq!(lines(100, &chunks).0, whole(&["one", "two", "three", "last"]));
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_the_next_is_served() {
        let long = [b'x'; 50];
        let chunks: [&[u8]; 5] = [b"a\n", &long, &long, b"xx\nb\n", b"12345678901\nc"];
        let mut expected = whole(&["a", "b", "c"]);
        expected.insert(1, Err(()));
        expected.insert(3, Err(()));
        assert_eq!(lines(10, &chunks).0, expected);
    }

    #[test]
    fn a_line_that_never_ends_is_not_held() {
        let chunk = vec![b'x'; 256 * 1024];
        let chunks = vec![chunk.as_slice(); 64];
        let (out, most) = lines(1024 * 1024, &chunks);
        assert_eq!(out, [Err(())]);
        assert!(most <= 1024 * 1024 + READ, "{most}");
    }

    #[test]
    fn a_quiet_connection_gives_its_room_back() {
        let mut long = vec![b'x'; 1024 * 1024];
        long.push(b'\n');
        let mut lines = Lines::new(4 * 1024 * 1024);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut reader = long.as_slice();
        while !reader.is_empty() {
            assert!(lines.poll_fill(&mut cx, Pin::new(&mut reader)).is_ready());
        }
        assert!(matches!(lines.take(), Some(Line::Whole(line)) if line.len() == 1024 * 1024));
        assert!(lines.poll_fill(&mut cx, Pin::new(&mut b"a\n".as_slice())).is_ready());
        assert!(lines.room.capacity() <= READ);
    }

    proptest! {
        #[test]
        fn any_split_of_any_bytes_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..400),
            cuts in proptest::collection::vec(0_usize..400, 0..6),
            limit in 1_usize..60,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(lines(limit, &chunks).0, lines(limit, &[&bytes]).0);
        }
    }
}
