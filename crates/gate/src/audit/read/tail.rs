//! Every row from one row on, across segments, and on as more are written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use covenant_model::audit::Row;

use super::super::lines::Lines;
use super::super::segment::{self, Segment};

/// Rows in order. `None` means that there are no more for now: it may be asked again, after
/// [`AuditLog::subscribe`](super::super::AuditLog::subscribe) said so.
pub struct Tail {
    dir: PathBuf,
    from: u64,
    current: Option<(Segment, Lines<File>)>,
    /// The last line was not a row, and it was looked for again already.
    doubtful: bool,
}

/// The rows from that number on, or from the first that was kept.
pub fn tail(dir: &Path, from: u64) -> Tail {
    Tail { dir: dir.to_owned(), from, current: None, doubtful: false }
}

impl Tail {
    /// The segment to read next, if it has begun.
    fn find_next(&self) -> io::Result<Option<Segment>> {
        let segments = segment::list(&self.dir)?;
        if let Some((current, _)) = &self.current {
            return Ok(segments.into_iter().find(|segment| segment.number > current.number));
        }
        let index = segment::holding(&segments, self.from)?;
        Ok(segments.into_iter().nth(index))
    }

    fn row(&mut self) -> io::Result<Option<String>> {
        loop {
            let Some((segment, lines)) = &mut self.current else { return Ok(None) };
            let Some(line) = lines.next_whole()? else { return Ok(None) };
            let row = Row::read(line.bytes).ok().filter(|row| row.checked().is_ok());
            match row.map(|row| row.seq) {
                Some(seq) if seq >= self.from => {
                    self.from = seq.saturating_add(1);
                    self.doubtful = false;
                    return Ok(Some(String::from_utf8_lossy(line.bytes).into_owned()));
                }
                // Half a row may have been read before it was cut back, because the disk was full: look again. What is
                // still no row then is damage, and `verify` names it.
                None if !self.doubtful => {
                    self.doubtful = true;
                    let (file, _) = segment.open_at(self.from)?;
                    *lines = Lines::new(file);
                }
                _ => {}
            }
        }
    }

    fn step(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(row) = self.row()? {
                return Ok(Some(row));
            }
            let Some(next) = self.find_next()? else { return Ok(None) };
            // Rows may have come between the look at this segment and the beginning of the next.
            if let Some(row) = self.row()? {
                return Ok(Some(row));
            }
            let (file, _) = next.open_at(self.from)?;
            self.current = Some((next, Lines::new(file)));
        }
    }
}

impl Iterator for Tail {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
