//! The two files of a log as one stream: the tombstone, then rows, each checkpoint directly after the row it covers.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::Path;

use covenant_model::audit::{Checkpoint, Row};

use super::super::checkpoints;
use super::super::lines::Lines;
use super::super::segment::{self, Segment};

/// A log's lines in the order in which they prove something.
pub(super) struct Merged {
    marks: Option<Lines<io::Take<File>>>,
    segments: Vec<Segment>,
    /// The next signed line, and the row it belongs after.
    next: Option<(u64, Vec<u8>)>,
}

impl Merged {
    /// Checkpoints are looked at first, and only as far as they go now: the rows they cover are all there already.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let marks = match File::open(dir.join(checkpoints::NAME)) {
            Ok(file) => {
                let length = file.metadata()?.len();
                Some(Lines::new(file.take(length)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut merged = Self { marks, segments: segment::list(dir)?, next: None };
        merged.advance()?;
        Ok(merged)
    }

    /// Gives every line to `act` until it has seen enough. Half a line at the very end is still being written, or will be
    /// cut off at the next start: it is not given.
    pub(super) fn each(
        &mut self,
        mut act: impl FnMut(&[u8]) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<()> {
        let segments = std::mem::take(&mut self.segments);
        let count = segments.len();
        for (index, segment) in segments.into_iter().enumerate() {
            let mut lines = Lines::new(File::open(&segment.path)?);
            while let Some(line) = lines.next()? {
                if !line.whole && index + 1 == count {
                    break;
                }
                let seq = Row::seq_of(line.bytes).unwrap_or(0);
                if self.marks_before(seq, &mut act)?.is_break() || act(line.bytes)?.is_break() {
                    return Ok(());
                }
            }
        }
        self.marks_before(u64::MAX, &mut act).map(drop)
    }

    fn marks_before(
        &mut self,
        seq: u64,
        act: &mut impl FnMut(&[u8]) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<ControlFlow<()>> {
        while let Some((_, line)) = self.next.take_if(|(after, _)| *after < seq) {
            if act(&line)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.advance()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A line that is no checkpoint (the tombstone, or nothing of ours) comes at once.
    fn advance(&mut self) -> io::Result<()> {
        let Some(marks) = &mut self.marks else { return Ok(()) };
        self.next = marks.next_whole()?.map(|line| {
            let after = Checkpoint::read(line.bytes).map_or(0, |mark| mark.seq);
            (after, line.bytes.to_vec())
        });
        Ok(())
    }
}
