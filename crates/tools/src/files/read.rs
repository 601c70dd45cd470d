//! Reading: a whole file up to a size, or a range of its lines however large it is.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::fs::OFlags;

use super::{FileError, FileKind, Metadata, Root, Why};

/// How far into a file lines are looked for.
const FARTHEST: u64 = 4 << 30;

/// How much is read around lines, for whoever looks for what reaches into them: longer than any form of a secret that is
/// looked for.
const AROUND: usize = 4096;

/// Which lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first, counted from one.
    pub first: u64,
    /// How many at most.
    pub count: u64,
    /// How many bytes of them at most.
    pub bytes: usize,
}

/// Lines of a file, with their ends as they are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// Some of what stands before them, and after.
    pub around: (Vec<u8>, Vec<u8>),
    /// How many there are, the last perhaps cut.
    pub count: u64,
    /// Whether the last one goes on: it alone has more bytes than were wanted.
    pub cut: bool,
    /// The number of the line that comes next, if one does.
    pub next: Option<u64>,
    /// How many lines the file has, where its end was seen.
    pub total: Option<u64>,
}

impl Root {
    /// The bytes of a file, unless it has more than that many.
    pub fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, FileError> {
        self.named(path, |place| whole(self.opened(&place.whole(), OFlags::RDONLY)?, most))
    }

    /// A range of lines. `going` is asked now and then whether to go on.
    pub fn read_lines(&self, path: &str, range: Range, going: &dyn Fn() -> bool) -> Result<Lines, FileError> {
        self.named(path, |place| {
            let (file, _) = regular(self.opened(&place.whole(), OFlags::RDONLY)?)?;
            lines(BufReader::with_capacity(1 << 16, file.take(FARTHEST)), range, going)
        })
    }
}

/// A handle that turned out to be a regular file.
pub(super) fn regular(handle: OwnedFd) -> Result<(File, Metadata), Why> {
    let found = Metadata::of(&rustix::fs::fstat(&handle)?);
    match found.kind {
        FileKind::File => Ok((File::from(handle), found)),
        FileKind::Directory => Err(Why::Directory),
        FileKind::Link | FileKind::Other => Err(Why::Special),
    }
}

/// All of a file. It is measured while it is read: files of the system say they are empty, and others grow.
pub(super) fn whole(handle: OwnedFd, most: u64) -> Result<Vec<u8>, Why> {
    let (file, found) = regular(handle)?;
    if found.size > most {
        return Err(Why::TooLarge(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.size).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        return Err(Why::TooLarge(most));
    }
    Ok(bytes)
}

fn lines(mut source: impl BufRead, range: Range, going: &dyn Fn() -> bool) -> Result<Lines, Why> {
    let mut reader = Reader { range, found: Lines::default(), number: 1, begun: None, over: false };
    let mut passed = 0_u64;
    loop {
        let block = source.fill_buf()?;
        if block.is_empty() {
            return if passed < FARTHEST || reader.over {
                Ok(reader.ended())
            } else {
                Err(Why::TooLarge(FARTHEST))
            };
        }
        if !going() {
            return Err(Why::Stopped);
        }
        let mut pieces = block.split_inclusive(|byte| *byte == b'\n');
        if pieces.any(|piece| reader.piece(piece).is_break()) {
            return Ok(reader.found);
        }
        let used = block.len();
        passed = passed.saturating_add(u64::try_from(used).unwrap_or(u64::MAX));
        source.consume(used);
    }
}

/// Lines as they are found.
struct Reader {
    range: Range,
    found: Lines,
    /// Which line this is.
    number: u64,
    /// Inside a line: how much was there before it.
    begun: Option<usize>,
    /// No more is wanted but a little of what comes after.
    over: bool,
}

impl Reader {
    fn is_wanted(&self) -> bool {
        self.number >= self.range.first && self.number - self.range.first < self.range.count
    }

    /// A line, or a part of one; breaks off once no more is wanted.
    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        if self.over {
            return self.after(piece);
        }
        let before = *self.begun.get_or_insert(self.found.bytes.len());
        if self.is_wanted() {
            if self.take(piece, before).is_break() {
                return ControlFlow::Continue(());
            }
        } else if self.number >= self.range.first {
            self.found.next = Some(self.number);
            return self.after(piece);
        } else {
            self.before(piece);
        }
        if piece.last() == Some(&b'\n') {
            self.found.count += u64::from(self.is_wanted());
            self.number += 1;
            self.begun = None;
        }
        ControlFlow::Continue(())
    }

    /// Keeps the end of what comes before the lines.
    fn before(&mut self, piece: &[u8]) {
        let kept = &mut self.found.around.0;
        kept.extend_from_slice(piece);
        if kept.len() > AROUND * 16 {
            kept.drain(..kept.len() - AROUND);
        }
    }

    /// Keeps the beginning of what comes after them, until it is enough.
    fn after(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.over = true;
        let kept = &mut self.found.around.1;
        kept.extend(piece.iter().take(AROUND.saturating_sub(kept.len())));
        if kept.len() < AROUND { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Keeps it where there is room. A line that does not fit is left for the next time, unless it would never fit.
    fn take(&mut self, piece: &[u8], before: usize) -> ControlFlow<()> {
        let room = self.range.bytes.saturating_sub(self.found.bytes.len());
        if piece.len() <= room {
            self.found.bytes.extend_from_slice(piece);
            return ControlFlow::Continue(());
        }
        let rest = if self.found.count > 0 {
            self.found.next = Some(self.number);
            let mut rest = self.found.bytes.split_off(before.min(self.found.bytes.len()));
            rest.extend_from_slice(piece);
            rest
        } else {
            let (fits, rest) = piece.split_at_checked(room).unwrap_or((piece, &[]));
            self.found.bytes.extend_from_slice(fits);
            self.found.count = 1;
            self.found.cut = true;
            rest.to_vec()
        };
        let _ = self.after(&rest);
        ControlFlow::Break(())
    }

    /// The file is over.
    fn ended(mut self) -> Lines {
        if self.over {
            return self.found;
        }
        let open = self.begun.is_some();
        self.found.count += u64::from(open && self.is_wanted());
        self.found.total = Some(self.number - u64::from(!open));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, first: u64, count: u64, bytes: usize) -> (String, Lines) {
        // A small block, so that lines lie across several.
        let source = BufReader::with_capacity(4, text.as_bytes());
        let found = lines(source, Range { first, count, bytes }, &|| true).unwrap();
        (String::from_utf8(found.bytes.clone()).unwrap(), found)
    }

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        let text = "one\r\ntwo\n\nfour five six\nlast";
        for (first, count, expected, next, total) in [
            (1, 100, text, None, Some(5)),
            (1, 1, "one\r\n", Some(2), None),
            (2, 2, "two\n\n", Some(4), None),
            (4, 2, "four five six\nlast", None, Some(5)),
            (5, 1, "last", None, Some(5)),
            (6, 1, "", None, Some(5)),
            (u64::MAX, u64::MAX, "", None, Some(5)),
        ] {
            let (bytes, found) = read(text, first, count, 1000);
            assert_eq!((bytes.as_str(), found.next, found.total), (expected, next, total), "{first} {count}");
        }
        assert_eq!(read("", 1, 1, 10).1, Lines { total: Some(0), ..Lines::default() });
        assert_eq!(read("a\n", 1, 9, 10).1.total, Some(1));
    }

    #[test]
    fn a_line_that_does_not_fit_is_left_for_the_next_time() {
        let text = "12345678\n1234567890\nx\n";
        let (bytes, found) = read(text, 1, 100, 12);
        assert_eq!((bytes.as_str(), found.count, found.next, found.cut), ("12345678\n", 1, Some(2), false));
        let (bytes, found) = read(text, 2, 100, 12);
        assert_eq!((bytes.as_str(), found.count, found.next), ("1234567890\n", 1, Some(3)));
    }

    #[test]
    fn a_line_that_never_fits_is_cut() {
        let (bytes, found) = read("1234567890\nx\n", 1, 100, 6);
        assert_eq!((bytes.as_str(), found.count, found.next, found.cut), ("123456", 1, None, true));
    }

    #[test]
    fn nobody_reads_on_for_a_call_that_was_taken_back() {
        let endless = BufReader::new(std::io::repeat(b'x'));
        assert_eq!(lines(endless, Range { first: 2, count: 1, bytes: 1 }, &|| false), Err(Why::Stopped));
    }
}
