//! Whether a tree of processes stays within its limits, found out by looking, at intervals that follow the danger.
//!
//! The root itself, which is ours, does not count; all below it does. How long it may be until the next look depends on
//! what is left: as long as even a program that takes all it can get needs for that, but at most [`LONGEST`]. So a
//! program far from its limits is looked at a few times a second, and one that races is seen soon after it went over.
//!
//! Memory and tasks are seen as a whole in every look, and first. What a program can make take long (the files it holds
//! open, its mappings, its scratch directory, the pages its processes share) is seen a slice at a time.
//!
//! Measured on two busy cores, not optimised: watching a program that sleeps takes 0.7 % of a core, Node with four workers
//! 4 %; two hundred processes take 17 ms a look. One that fills memory as fast as it can went up to 9 MiB over 64 MiB and
//! up to 3 MiB over 512 MiB before it was seen.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::tree::{Process, Stat, walk};
use crate::ending::Limit;

mod files;
mod memory;
mod nameless;
mod shares;
mod slice;
mod tally;

use slice::Slice;

/// The shortest and the longest time between two looks.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(200);

/// What a program in a hurry takes per second: memory in bytes, tasks.
const MEMORY_PACE: u64 = 4 * 1024 * 1024 * 1024;
const TASK_PACE: u64 = 2_500;

/// What takes long is followed by a rest of that many times as long; a look at memory and tasks by no longer one than
/// that, however many processes there are.
const REST: u32 = 4;
const LONGEST_REST: Duration = Duration::from_millis(50);

/// What a tree may take.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Bytes of memory: anonymous and shared, resident or swapped out, and page tables. Pages of files on disk do not
    /// count.
    pub(crate) memory: u64,
    /// Whether the kernel counts memory as well. It knows what is there, where one can only see here what is mapped.
    pub(crate) counted: bool,
    /// Processes and threads.
    pub(crate) pids: u32,
    /// The scratch directory and the bytes in it, where nothing else bounds it.
    pub(crate) scratch: Option<(PathBuf, u64)>,
}

/// What one look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// The limit that is exceeded.
    pub(crate) over: Option<Limit>,
    /// When to look again.
    pub(crate) again: Duration,
}

/// Watches one tree.
#[derive(Debug)]
pub(crate) struct Watch {
    root: Pid,
    limits: Limits,
    memory: shares::Shares,
    files: files::Files,
    peak: u64,
}

/// A process of the tree, as one look saw it.
#[derive(Debug, Clone, Copy)]
struct Member {
    pid: Pid,
    stat: Stat,
}

impl Watch {
    /// Watches everything below `root`: the first process of a namespace, or the caller.
    pub(crate) fn new(root: Pid, limits: Limits) -> Self {
        let files = files::Files::new(limits.scratch.clone());
        Self { root, limits, memory: shares::Shares::new(), files, peak: 0 }
    }

    /// Looks once: at memory and tasks as they are, and then at a part of what takes long to see.
    pub(crate) fn look(&mut self) -> Look {
        let begun = Instant::now();
        let members = self.members();
        let held = self.held();
        let memory = self.memory.look(&members, held, self.limits.memory);
        self.peak = self.peak.max(memory);
        let tasks = self.tasks(&members);
        let memory_lasts = lasts(self.limits.memory.saturating_sub(memory), MEMORY_PACE);
        let tasks_last = lasts(u64::from(self.limits.pids).saturating_sub(tasks), TASK_PACE);
        let limits_last = memory_lasts.min(tasks_last);
        let rest = begun.elapsed().saturating_mul(REST).min(LONGEST_REST);
        let files = self.files.look(&members, self.limits.memory, &mut Slice::within(limits_last));
        let over = if memory.max(self.held()) > self.limits.memory {
            Some(Limit::Memory)
        } else if tasks > u64::from(self.limits.pids) {
            Some(Limit::Processes)
        } else {
            files.full.then_some(Limit::Scratch)
        };
        // What was found in files is added to the rest by the next look.
        let unsure = self.held() > held || self.memory.is_on_the_way();
        let again = limits_last.min(files.again).min(if unsure { SHORTEST } else { LONGEST });
        Look { over, again: again.max(rest).clamp(SHORTEST, LONGEST) }
    }

    /// What is in memory files, as far as it has to be seen here.
    fn held(&self) -> u64 {
        if self.limits.counted { 0 } else { self.files.held() }
    }

    /// The largest sum that was seen, in KiB. A program that ends between two looks may have had more.
    pub(crate) fn peak_kb(&self) -> u64 {
        self.peak / 1024
    }

    fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        walk(self.root, |Process { pid, .. }, stat| {
            members.push(Member { pid, stat: *stat });
            true
        });
        members
    }

    /// How many tasks there are; twice over the limit or not at all, because a process and its successor can both be
    /// seen in one look.
    fn tasks(&self, members: &[Member]) -> u64 {
        let count = |members: &[Member]| {
            members.iter().map(|member| u64::from(member.stat.threads.max(1))).sum::<u64>()
        };
        let first = count(members);
        if first <= u64::from(self.limits.pids) { first } else { first.min(count(&self.members())) }
    }
}

/// How long this much lasts at that pace.
fn lasts(left: u64, pace: u64) -> Duration {
    Duration::from_micros(left.saturating_mul(1_000_000) / pace.max(1))
}

#[cfg(test)]
mod tests;
