//! The newest rows, read backwards from the end: the cost is that of what is found, not of what is kept.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use covenant_model::audit::{Record, Row};
use covenant_model::time::Timestamp;

use super::super::lines::LONGEST;
use super::super::segment;

const BLOCK: u64 = 1 << 16;

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// At most so many; the newest ones.
    pub limit: usize,
    /// None older than this.
    pub since: Option<Timestamp>,
    /// Only those of this tool or agent.
    pub agent_id: Option<String>,
}

impl Filter {
    pub(in super::super) fn is_young(&self, row: &Row<'_>) -> bool {
        self.since.is_none_or(|since| row.ts().is_some_and(|ts| ts >= since))
    }

    pub(in super::super) fn names(&self, line: &[u8]) -> bool {
        let wanted = self.agent_id.as_deref();
        wanted.is_none_or(|wanted| Record::read(line).is_some_and(|record| record.agent_id == wanted))
    }
}

/// The newest rows that pass, oldest of them first. A clock may have jumped, so a single old row does not end the search:
/// a whole block of them does.
pub fn recent(dir: &Path, filter: &Filter) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    'segments: for segment in segment::list(dir)?.iter().rev() {
        let mut blocks = Backwards::open(&segment.path)?;
        while let Some(lines) = blocks.next()? {
            let mut any_young = false;
            for line in lines.iter().rev() {
                let Ok(row) = Row::read(line) else { continue };
                if found.len() >= filter.limit {
                    break 'segments;
                }
                let young = filter.is_young(&row);
                any_young |= young;
                if young && filter.names(line) {
                    found.push(String::from_utf8_lossy(line).into_owned());
                }
            }
            if !any_young && !lines.is_empty() {
                break 'segments;
            }
        }
    }
    found.reverse();
    Ok(found)
}

/// A file's whole lines, block by block from its end.
struct Backwards {
    file: File,
    at: u64,
    /// The beginning of the block read last: the end of a line that begins before it.
    rest: Vec<u8>,
    /// Nothing was read yet: what follows the last line end is half a line.
    fresh: bool,
}

impl Backwards {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let at = file.metadata()?.len();
        Ok(Self { file, at, rest: Vec::new(), fresh: true })
    }

    /// The lines of the block before, in the file's order.
    fn next(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        if self.at == 0 {
            return Ok(None);
        }
        let begin = self.at.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(self.at - begin).unwrap_or(0)];
        self.file.read_exact_at(&mut block, begin)?;
        block.append(&mut self.rest);
        self.at = begin;
        let mut lines: Vec<Vec<u8>> = block.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if std::mem::take(&mut self.fresh) {
            lines.pop();
        }
        if begin > 0 && !lines.is_empty() {
            self.rest = lines.remove(0);
        }
        if self.rest.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than any row"));
        }
        Ok(Some(lines))
    }
}
