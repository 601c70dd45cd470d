//! What a tree holds in files: the bytes in its scratch directory, and those in files that have no name (any more).
//!
//! A program can make that take long to see, so each look sees a part and the next goes on from there. Memory, which a
//! program fills faster than a disk, is never kept waiting for it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, fstat, memfd_create};

use super::nameless::{Devices, Nameless, Round};
use super::tally::{Progress, Tally};
use super::{LONGEST, Member, REST, Slice, lasts};

/// What a program in a hurry writes per second, in bytes.
const WRITE_PACE: u64 = 2 * 1024 * 1024 * 1024;

/// A round that took long is followed by a rest of that many times as long.
const ROUND_REST: u32 = 20;

/// The longest rest: a directory that takes that much time to add up is looked at once a second.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Watches what is in files.
#[derive(Debug)]
pub(super) struct Files {
    scratch: Option<(Tally, u64)>,
    /// The device of memory files.
    memory_device: Option<u64>,
    /// The round over files without a name, until it is over.
    round: Option<Round>,
    /// What the last one found, once it is the directory's turn.
    found: Option<Nameless>,
    held: u64,
    full: bool,
    due: Instant,
    /// What the round so far has cost.
    spent: Duration,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Whether the scratch directory holds more than it may, or that cannot be seen.
    pub(super) full: bool,
    /// When to look again.
    pub(super) again: Duration,
}

impl Files {
    pub(super) fn new(scratch: Option<(PathBuf, u64)>) -> Self {
        let memory_file = memfd_create("covenant", MemfdFlags::CLOEXEC);
        let memory_device = memory_file.and_then(fstat).map(|stat| stat.st_dev).ok();
        let scratch = scratch.map(|(directory, limit)| (Tally::new(directory), limit));
        Self {
            scratch,
            memory_device,
            round: None,
            found: None,
            held: 0,
            full: false,
            due: Instant::now(),
            spent: Duration::ZERO,
        }
    }

    /// Bytes in memory files that are held open or mapped, as far as was seen last.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Whether a round has begun and is not over.
    #[cfg(test)]
    pub(super) fn is_on_the_way(&self) -> bool {
        self.round.is_some() || self.found.is_some()
    }

    /// Looks for a while if it is time to; else says again what was found last. `most` is how much memory there may be.
    pub(super) fn look(&mut self, members: &[Member], most: u64, slice: &mut Slice) -> Found {
        let now = Instant::now();
        if now >= self.due {
            let pause = self.go_on(members, most, slice);
            let cost = now.elapsed();
            self.spent += cost;
            let rest = match pause {
                Some(pause) => {
                    let round = std::mem::take(&mut self.spent);
                    pause.max(round.saturating_mul(ROUND_REST).min(LONGEST_REST))
                }
                None => cost.saturating_mul(REST),
            };
            self.due = now + rest;
        }
        Found { full: self.full, again: self.due.saturating_duration_since(now) }
    }

    /// Adds up a part of what there is; says how long it keeps, once everything was seen.
    fn go_on(&mut self, members: &[Member], most: u64, slice: &mut Slice) -> Option<Duration> {
        let nameless = match self.found {
            Some(found) => found,
            None => self.nameless(members, most, slice)?,
        };
        self.held = nameless.memory;
        let Some((tally, limit)) = &mut self.scratch else { return Some(LONGEST) };
        let room = limit.checked_sub(nameless.scratch).filter(|_| !nameless.concealed);
        let Some(room) = room else {
            self.full = true;
            return Some(LONGEST);
        };
        let progress = tally.go_on(slice, room);
        self.found = (progress == Progress::Part).then_some(nameless);
        match progress {
            Progress::Part => None,
            Progress::Whole(sum) => Some(lasts(room.saturating_sub(sum), WRITE_PACE)),
            Progress::Over => {
                self.full = true;
                Some(LONGEST)
            }
        }
    }

    /// What is in files without a name, once all of them were seen.
    fn nameless(&mut self, members: &[Member], most: u64, slice: &mut Slice) -> Option<Nameless> {
        let scratch = self.scratch.as_ref().and_then(|(tally, _)| tally.device());
        let devices = Devices { memory: self.memory_device, scratch };
        let round = self.round.get_or_insert_with(|| Round::new(members, devices, most));
        let found = round.go_on(slice)?;
        self.round = None;
        Some(found)
    }
}
