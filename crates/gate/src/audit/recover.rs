//! Starting from what a crash left: reads the end of the log from where the last checkpoint says, cuts off half a line,
//! finishes an interrupted prune. What contradicts a checkpoint is never repaired; it is said.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use covenant_model::audit::{BadRow, Chain, Row};
use ed25519_dalek::VerifyingKey;

use super::checkpoints::{self, Ends};
use super::lines::Lines;
use super::replay::{self, Damage, Replay};
use super::segment::{self, Segment};
use crate::refusal::Fault;

/// What opening the log found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// The last row that was there; 0 in a new log.
    pub last: u64,
    /// How many bytes of a half-written end were cut off.
    pub cut_bytes: u64,
    /// How many calls had started and never ended.
    pub interrupted: u64,
}

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system said no.
    #[error("the audit log in {} cannot be opened: {source}", dir.display())]
    Io {
        /// The log's directory.
        dir: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// Someone else writes it.
    #[error("the audit log in {} is in use by another process: stop that one first", dir.display())]
    Locked {
        /// The log's directory.
        dir: PathBuf,
    },
    /// It is not what was signed.
    #[error(
        "the audit log in {dir} is damaged at row {row}: {reason}. Keep a copy of {dir} and run `covenant audit verify`; \
         to start a new log, move {dir} aside",
        dir = dir.display()
    )]
    Damaged {
        /// The log's directory.
        dir: PathBuf,
        /// The first row that is not as it should be.
        row: u64,
        /// What is wrong.
        reason: String,
    },
    /// The database said no.
    #[error("the audit log in {place} cannot be opened: {fault} ({})", fault.cause())]
    Store {
        /// Which database.
        place: String,
        /// What it said.
        fault: Fault,
    },
    /// What the database holds is not what was signed.
    #[error(
        "the audit log in {place} is damaged at row {row}: {reason}. Keep a copy of the tables audit_log and audit_marks; \
         to start a new log, remove the rows of this home's chain, its public key, from both"
    )]
    DamagedRows {
        /// Which database.
        place: String,
        /// The first row that is not as it should be.
        row: u64,
        /// What is wrong.
        reason: String,
    },
}

/// How long whoever holds the log may take to be gone: a process that ends, or the copy of one that becomes a program
/// and has the lock until it does. And how often one looks.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// The end of the log as it was found, repaired.
pub(super) struct Found {
    pub(super) lock: File,
    pub(super) chain: Chain,
    /// Lines of the calls that never ended, by row.
    pub(super) open: BTreeMap<u64, Vec<u8>>,
    pub(super) segment: Segment,
    pub(super) length: u64,
    pub(super) ends: Ends,
    pub(super) cut_bytes: u64,
}

/// Finds the end of the log in that directory, which is made if it is missing.
pub(super) fn find(dir: &Path, key: &VerifyingKey) -> Result<Found, OpenError> {
    let failed = |source: io::Error| OpenError::Io { dir: dir.to_owned(), source };
    let damaged = |Damage { row, reason }| OpenError::Damaged { dir: dir.to_owned(), row, reason };
    let lock = hold(dir)?;
    let ends = checkpoints::ends(dir).map_err(failed)?;
    if ends.strange {
        let reason = format!("the last line of {} is not a checkpoint", checkpoints::NAME);
        return Err(damaged(Damage { row: 0, reason }));
    }
    replay::trust(ends.tombstone.as_ref(), ends.last.as_ref(), key).map_err(damaged)?;
    let floor = replay::floor(ends.tombstone.as_ref());
    finish_prune(dir, &floor).map_err(failed)?;
    let segments = segment::list(dir).map_err(failed)?;
    let mut scan = Scan { dir, replay: Replay::new(floor, ends.last.as_ref()) };
    let (place, cut_bytes) = scan.run(&segments)?;
    let chain = scan.replay.end().map_err(damaged)?;
    let (segment, length) = place.unwrap_or_else(|| (Segment::new(dir, 1), 0));
    let open = scan.replay.open;
    Ok(Found { lock, chain, open, segment, length, ends, cut_bytes })
}

/// Makes the directory and keeps everyone else from writing in it while the file returned is open.
fn hold(dir: &Path) -> Result<File, OpenError> {
    let make = || -> io::Result<File> {
        if !dir.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            dir.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())?;
        }
        File::open(dir)
    };
    let file = make().map_err(|source| OpenError::Io { dir: dir.to_owned(), source })?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { dir: dir.to_owned() }),
            Err(TryLockError::Error(source)) => {
                return Err(OpenError::Io { dir: dir.to_owned(), source });
            }
        }
    }
}

/// Removes segments that a tombstone already speaks of: the crash came between the two.
fn finish_prune(dir: &Path, floor: &Chain) -> io::Result<()> {
    let segments = segment::list(dir)?;
    let Some((_current, older)) = segments.split_last() else { return Ok(()) };
    for segment in older {
        match segment.last_seq()? {
            Some(last) if last <= floor.last() => std::fs::remove_file(&segment.path)?,
            _ => break,
        }
    }
    Ok(())
}

/// The walk from the last checkpoint's `open_from` to the end.
struct Scan<'a> {
    dir: &'a Path,
    replay: Replay<'a>,
}

/// The last segment and how long its good part is.
type Place = Option<(Segment, u64)>;

impl Scan<'_> {
    fn run(&mut self, segments: &[Segment]) -> Result<(Place, u64), OpenError> {
        let failed = |source: io::Error| OpenError::Io { dir: self.dir.to_owned(), source };
        let (start, known) = (self.replay.start(), self.replay.has_begun());
        let first = if known { 0 } else { segment::holding(segments, start).map_err(failed)? };
        let mut place = (None, 0);
        for (index, segment) in segments.iter().enumerate().skip(first) {
            let (file, offset) = segment.open_at(start).map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            let good = match self.walk(file).map_err(failed)? {
                (good, None) => offset + good,
                (good, Some(bad)) => {
                    self.judge(&bad, index + 1 == segments.len())?;
                    cut(self.dir, segment, offset + good, self.replay.next()).map_err(failed)?;
                    offset + good
                }
            };
            place = (Some((segment.clone(), good)), length.saturating_sub(good));
        }
        Ok(place)
    }

    /// Follows the rows of one segment: how many bytes are good, and what the first bad line is.
    fn walk(&mut self, file: File) -> io::Result<(u64, Option<Bad>)> {
        let mut lines = Lines::new(file);
        let mut good = 0;
        loop {
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok((good, None)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Ok((good, Some(Bad { bad: BadRow::Shape, intact: false })));
                }
                Err(error) => return Err(error),
            };
            let (bytes, end) = (line.bytes, line.end);
            // Rows before the start are history; only `verify` reads that.
            if !self.replay.has_begun() && line.whole && !self.replay.begin(bytes) {
                good = end;
                continue;
            }
            let bad = if line.whole { self.replay.take(bytes).err() } else { Some(BadRow::Shape) };
            if let Some(bad) = bad {
                let intact = line.whole && Row::read(bytes).is_ok_and(|row| row.checked().is_ok());
                return Ok((good, Some(Bad { bad, intact })));
            }
            good = end;
        }
    }

    /// Whether a bad line can be a crash's: nothing signed covers it, it is in the last segment, and it is no whole row
    /// in a wrong place, which no crash leaves.
    fn judge(&self, bad: &Bad, last_segment: bool) -> Result<(), OpenError> {
        let row = self.replay.next();
        if self.replay.is_covered() || bad.intact || !last_segment {
            return Err(OpenError::Damaged { dir: self.dir.to_owned(), row, reason: bad.bad.to_string() });
        }
        Ok(())
    }
}

struct Bad {
    bad: BadRow,
    intact: bool,
}

/// Cuts the end of a segment off. More than half a line is kept beside it, in case it was worth something.
fn cut(dir: &Path, segment: &Segment, length: u64, next: u64) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(&segment.path)?;
    file.seek(SeekFrom::Start(length))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if bytes.contains(&b'\n') {
        let aside = dir.join(format!("cut-before-{next}.bytes"));
        let mut kept = File::options().create(true).append(true).mode(0o600).open(aside)?;
        kept.write_all(&bytes)?;
        kept.sync_all()?;
    }
    file.set_len(length)?;
    file.sync_all()
}
