//! Segment files: their names, their order, and how bytes get into them.
//!
//! [`Disk`] is the seam where tests put a disk that is full, broken or slow.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use covenant_model::audit::Row;

use super::lines::LONGEST;

/// A file that is only appended to, and cut back when an append failed half-way.
pub(super) trait Disk: Send + Sync {
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    fn cut(&self, length: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Where files are opened for appending.
pub(super) trait Disks: Send + Sync {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>>;
}

/// The real file system: files that only their owner can read.
pub(super) struct Files;

impl Disks for Files {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?))
    }
}

/// One segment on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) path: PathBuf,
}

impl Segment {
    pub(super) fn new(dir: &Path, number: u64) -> Self {
        Self { number, path: dir.join(format!("{number:06}.jsonl")) }
    }

    /// The number of its first row, from its first bytes alone.
    pub(super) fn first_seq(&self) -> io::Result<Option<u64>> {
        let mut begin = Vec::with_capacity(64);
        File::open(&self.path)?.take(64).read_to_end(&mut begin)?;
        Ok(Row::seq_of(&begin))
    }

    /// The number of its last whole row, from its last bytes alone.
    pub(super) fn last_seq(&self) -> io::Result<Option<u64>> {
        let (_, tail) = tail_of(&self.path)?;
        let Some(end) = memchr::memrchr(b'\n', &tail) else { return Ok(None) };
        let whole = tail.get(..end).unwrap_or_default();
        let begin = memchr::memrchr(b'\n', whole).map_or(0, |at| at + 1);
        Ok(whole.get(begin..).and_then(Row::seq_of))
    }

    /// Opens it at the first row that may have that number or a later one. A damaged stretch ends the search early,
    /// so that reading starts before it.
    pub(super) fn open_at(&self, seq: u64) -> io::Result<(File, u64)> {
        let mut file = File::open(&self.path)?;
        let (mut low, mut high) = (0, file.metadata()?.len());
        while high.saturating_sub(low) > WINDOW {
            let middle = low + (high - low) / 2;
            match row_after(&mut file, middle)? {
                Some((found, begin)) if found <= seq && begin < high => low = begin,
                Some(_) => high = middle,
                None => break,
            }
        }
        file.seek(SeekFrom::Start(low))?;
        Ok((file, low))
    }
}

/// How close the search for a row comes before it reads on line by line.
const WINDOW: u64 = 1 << 16;

/// The first row that begins after that place: its number, and where.
fn row_after(file: &mut File, place: u64) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(place))?;
    let mut block = Vec::new();
    file.take(WINDOW).read_to_end(&mut block)?;
    let Some(begin) = memchr::memchr(b'\n', &block).map(|at| at + 1) else { return Ok(None) };
    let seq = block.get(begin..).and_then(Row::seq_of);
    Ok(seq.zip(u64::try_from(begin).ok().map(|begin| place + begin)))
}

/// The last bytes of a file, and where they begin.
pub(super) fn tail_of(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    let begin = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok((begin, bytes))
}

/// The segments of a log, oldest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let stem =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".jsonl"));
        let digits = stem.filter(|stem| stem.len() >= 6 && stem.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
            found.push(Segment { number, path });
        }
    }
    found.sort_by_key(|segment| segment.number);
    Ok(found)
}

/// The newest segment that begins at or before that row, by the first line of as few segments as it takes.
pub(super) fn holding(segments: &[Segment], seq: u64) -> io::Result<usize> {
    for (index, segment) in segments.iter().enumerate().rev() {
        if segment.first_seq()?.is_some_and(|first| first <= seq) {
            return Ok(index);
        }
    }
    Ok(0)
}
