//! What a tree holds in files: the bytes in its scratch directory, and those in files that have no name (any more).
//!
//! Files without a name show only where a process holds them open: memory files, which are in no process's share of
//! memory until they are mapped, and deleted files, which no walk through the directory finds. One that is only mapped, or
//! on its way through a socket, is not seen.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, MemfdFlags, StatxFlags, fstat, makedev, memfd_create, statx};

use super::tally::{Progress, Tally};
use super::{LONGEST, Member, lasts};
use crate::linux::tree::threads;

/// What a program in a hurry writes per second, in bytes.
const WRITE_PACE: u64 = 2 * 1024 * 1024 * 1024;

/// A round that took long is followed by a rest of that many times as long.
const REST: u32 = 20;

/// The longest rest: a directory that takes that much time to add up is looked at once a second.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The entries of the scratch directory that one look takes in; the next goes on from there.
const ENTRIES: usize = 2_000;

/// The open files of one process that are looked at.
const OPEN_FILES: usize = 4_096;

/// Watches what is in files.
#[derive(Debug)]
pub(super) struct Files {
    scratch: Option<(Tally, u64)>,
    /// The device of memory files, as far as the kernel has them.
    memory_device: Option<u64>,
    held: u64,
    full: bool,
    due: Instant,
    /// What the round so far has cost.
    spent: Duration,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Bytes in memory files that are held open.
    pub(super) memory: u64,
    /// Whether the scratch directory holds more than it may.
    pub(super) full: bool,
    /// When to look again.
    pub(super) again: Duration,
}

/// Bytes in files without a name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Nameless {
    memory: u64,
    scratch: u64,
}

impl Files {
    pub(super) fn new(scratch: Option<(PathBuf, u64)>) -> Self {
        let memory_file = memfd_create("covenant", MemfdFlags::CLOEXEC);
        let memory_device = memory_file.and_then(fstat).map(|stat| stat.st_dev).ok();
        let scratch = scratch.map(|(directory, limit)| (Tally::new(directory), limit));
        Self { scratch, memory_device, held: 0, full: false, due: Instant::now(), spent: Duration::ZERO }
    }

    /// Looks if it is time to; else says again what was found last.
    pub(super) fn look(&mut self, members: &[Member], now: Instant) -> Found {
        if now >= self.due {
            let pause = self.add_up(members);
            self.spent += now.elapsed();
            let rest = pause.map(|pause| pause.max(self.spent.saturating_mul(REST).min(LONGEST_REST)));
            if rest.is_some() {
                self.spent = Duration::ZERO;
            }
            self.due = now + rest.unwrap_or_default();
        }
        let again = self.due.saturating_duration_since(now);
        Found { memory: self.held, full: self.full, again }
    }

    /// Adds up a part of what there is; says how long it keeps, once everything was seen.
    fn add_up(&mut self, members: &[Member]) -> Option<Duration> {
        let scratch_device = self.scratch.as_ref().and_then(|(tally, _)| tally.device());
        let nameless = nameless(members, self.memory_device, scratch_device);
        self.held = nameless.memory;
        let Some((tally, limit)) = &mut self.scratch else { return Some(LONGEST) };
        let Some(room) = limit.checked_sub(nameless.scratch) else {
            self.full = true;
            return Some(LONGEST);
        };
        match tally.go_on(ENTRIES, room) {
            Progress::Part => None,
            Progress::Whole(sum) => Some(lasts(room.saturating_sub(sum), WRITE_PACE)),
            Progress::Over => {
                self.full = true;
                Some(LONGEST)
            }
        }
    }
}

/// The bytes in files without a name that these processes hold open.
fn nameless(members: &[Member], memory_device: Option<u64>, scratch_device: Option<u64>) -> Nameless {
    let mut sums = Nameless::default();
    let mut known = HashSet::new();
    let directories = members.iter().filter(|member| !member.stat.ended).flat_map(descriptors);
    let open = directories.filter_map(|directory| fs::read_dir(directory).ok());
    for entry in open.flat_map(|entries| entries.map_while(Result::ok).take(OPEN_FILES)) {
        // Without asking the file system anew: a server that does not answer must not hold us up.
        let found = statx(CWD, entry.path(), AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS);
        let Ok(file) = found else { continue };
        let regular = FileType::from_raw_mode(file.stx_mode.into()) == FileType::RegularFile;
        let device = Some(makedev(file.stx_dev_major, file.stx_dev_minor));
        if !regular || file.stx_nlink > 0 || !known.insert((device, file.stx_ino)) {
            continue;
        }
        let bytes = file.stx_blocks.saturating_mul(512);
        if device == memory_device {
            sums.memory = sums.memory.saturating_add(bytes);
        } else if device == scratch_device && is_written(&entry) {
            sums.scratch = sums.scratch.saturating_add(bytes);
        }
    }
    sums
}

/// Where the open files of a process are listed. A process whose first thread has ended lists them with the others.
fn descriptors(member: &Member) -> Vec<String> {
    let pid = member.pid;
    let of = |thread| format!("/proc/{pid}/task/{thread}/fd");
    if member.stat.headless { threads(pid).into_iter().map(of).collect() } else { vec![of(pid)] }
}

/// Whether the file is open for writing: others were deleted by someone else.
fn is_written(descriptor: &fs::DirEntry) -> bool {
    descriptor.metadata().is_ok_and(|link| link.permissions().mode() & 0o200 != 0)
}
