//! The second file, `checkpoints.jsonl`: at most one tombstone, first, then checkpoints, each on disk when it counts.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use covenant_model::audit::{Checkpoint, Tombstone};

use super::lines::Lines;
use super::segment::{Disk, Disks, tail_of};

/// The file's name in the log's directory.
pub(super) const NAME: &str = "checkpoints.jsonl";

/// What a new file is called until it takes the old one's place.
const DRAFT: &str = "checkpoints.jsonl.new";

/// The most bytes of a signed line: its members are all of fixed size.
const LONGEST_MARK: u64 = 4096;

/// The open file.
pub(super) struct Checkpoints {
    dir: PathBuf,
    disks: Arc<dyn Disks>,
    disk: Arc<dyn Disk>,
    length: u64,
    /// A failed append left bytes behind that could not be cut off yet.
    torn: bool,
}

/// The ends of the file: enough to start from, whatever its length.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) tombstone: Option<Tombstone>,
    pub(super) last: Option<Checkpoint>,
    /// How long it is without half a line at its end.
    pub(super) length: u64,
    /// A whole line that is nothing we would write.
    pub(super) strange: bool,
}

/// Reads the ends; signatures are the caller's to check.
pub(super) fn ends(dir: &Path) -> io::Result<Ends> {
    let path = dir.join(NAME);
    let mut begin = Vec::new();
    match File::open(&path) {
        Ok(file) => file.take(LONGEST_MARK).read_to_end(&mut begin)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ends::default()),
        Err(error) => return Err(error),
    };
    let first = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let (offset, tail) = tail_of(&path)?;
    let Some(end) = memchr::memrchr(b'\n', &tail) else { return Ok(Ends::default()) };
    let whole = tail.get(..end).unwrap_or_default();
    let line = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let tombstone = Tombstone::read(first).ok();
    let last = Checkpoint::read(line).ok();
    let strange = last.is_none() && Tombstone::read(line).is_err();
    let length = offset.saturating_add(u64::try_from(end).unwrap_or(u64::MAX)).saturating_add(1);
    Ok(Ends { tombstone, last, length, strange })
}

impl Checkpoints {
    /// Opens the file and cuts it to that length.
    pub(super) fn open(dir: &Path, disks: Arc<dyn Disks>, length: u64) -> io::Result<Self> {
        match std::fs::remove_file(dir.join(DRAFT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let disk = disks.open(&dir.join(NAME))?;
        disk.cut(length)?;
        Ok(Self { dir: dir.to_owned(), disks, disk, length, torn: false })
    }

    /// Adds one; it is on disk when this returns.
    pub(super) fn append(&mut self, mark: &Checkpoint) -> Result<(), String> {
        let line = format!("{}\n", mark.line());
        self.mend().and_then(|()| self.add(line.as_bytes())).map_err(|error| self.told(&error))?;
        self.length = self.length.saturating_add(u64::try_from(line.len()).unwrap_or(0));
        Ok(())
    }

    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        let written = self.disk.append(line).and_then(|()| self.disk.sync());
        if written.is_err() {
            self.torn = true;
            drop(self.mend());
        }
        written
    }

    fn mend(&mut self) -> io::Result<()> {
        if self.torn {
            self.disk.cut(self.length)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Puts a tombstone in front and drops what stood before its cut, all at once.
    pub(super) fn bury(&mut self, tombstone: &Tombstone) -> Result<(), String> {
        self.rewrite(tombstone).map_err(|error| self.told(&error))
    }

    fn rewrite(&mut self, tombstone: &Tombstone) -> io::Result<()> {
        let mut text = format!("{}\n", tombstone.line()).into_bytes();
        let mut lines = Lines::new(File::open(self.dir.join(NAME))?);
        while let Some(line) = lines.next_whole()? {
            if Checkpoint::read(line.bytes)
                .is_ok_and(|mark| mark.seq.saturating_add(1) >= tombstone.first_kept)
            {
                text.extend_from_slice(line.bytes);
                text.push(b'\n');
            }
        }
        let draft = self.dir.join(DRAFT);
        let disk = self.disks.open(&draft)?;
        let written = disk.cut(0).and_then(|()| disk.append(&text)).and_then(|()| disk.sync());
        if let Err(error) = written {
            drop(std::fs::remove_file(&draft));
            return Err(error);
        }
        std::fs::rename(&draft, self.dir.join(NAME))?;
        self.disk = disk;
        self.torn = false;
        self.length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        File::open(&self.dir)?.sync_all()
    }

    fn told(&self, error: &io::Error) -> String {
        format!("cannot write {}: {error}", self.dir.join(NAME).display())
    }
}
