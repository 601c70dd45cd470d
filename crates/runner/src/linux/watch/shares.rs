//! How much memory a tree has where the plain sum is too much, because copies of a process share most of theirs.
//!
//! What there is, in which a page counts once, takes milliseconds for each large process: it is added up over several
//! looks. What there is at least shows in every look: what the largest has, and what each has taken since it began.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::memory::{Sum, rollup, status};
use super::{LONGEST, Member, REST, Slice};
use crate::linux::sys::share_memory;
use crate::linux::tree::Process;

/// Watches the memory of a tree.
#[derive(Debug)]
pub(super) struct Shares {
    /// The least that each process has had.
    lowest: HashMap<Process, u64>,
    round: Option<Round>,
    /// What the last round found.
    known: u64,
    /// Whether the last round found too much, but took so long that pages may have been counted with two processes.
    suspected: bool,
    due: Instant,
    spent: Duration,
}

/// What one process has, as a look saw it.
struct Part {
    member: Member,
    sum: Sum,
    /// Pages it took itself and still has. No other process that was there before can have them, and no later one
    /// counts them as its own.
    grown: u64,
}

impl Shares {
    pub(super) fn new() -> Self {
        Self {
            lowest: HashMap::new(),
            round: None,
            known: 0,
            suspected: false,
            due: Instant::now(),
            spent: Duration::ZERO,
        }
    }

    /// How much there is, as far as it is known: too much only if it is. `held` is in memory files.
    pub(super) fn look(&mut self, members: &[Member], held: u64, limit: u64) -> u64 {
        let parts = self.parts(members);
        let plain = parts.iter().fold(Sum::default(), |sum, part| sum.and(part.sum)).with(held);
        if plain <= limit {
            (self.round, self.suspected) = (None, false);
            return plain;
        }
        let largest = parts.iter().map(|part| part.sum.with(0)).max().unwrap_or_default();
        // What one process has is not shared: if that alone is too much, there is nothing to check and no time to lose.
        if largest > limit {
            return plain;
        }
        let least = largest.max(held).max(grown(&parts, limit));
        if least <= limit {
            self.add_up(members, held, limit);
        }
        self.known.clamp(least.min(plain), plain)
    }

    /// Whether a round has begun and is not over.
    pub(super) fn is_on_the_way(&self) -> bool {
        self.round.is_some()
    }

    /// Adds nothing up for so long.
    #[cfg(test)]
    pub(super) fn rest(&mut self, pause: Duration) {
        self.due = Instant::now() + pause;
    }

    fn parts(&mut self, members: &[Member]) -> Vec<Part> {
        let mut lowest = HashMap::with_capacity(members.len());
        let parts = members.iter().filter_map(|member| {
            let sum = status(member)?;
            let process = Process { pid: member.pid, start_time: member.stat.start_time };
            let least = self.lowest.get(&process).map_or(sum.own, |&known| known.min(sum.own));
            lowest.insert(process, least);
            Some(Part { member: *member, sum, grown: sum.own.saturating_sub(least) })
        });
        let parts = parts.collect();
        self.lowest = lowest;
        parts
    }

    /// Goes on adding up what there is, if it is time to.
    fn add_up(&mut self, members: &[Member], held: u64, limit: u64) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let at_once = self.round.is_none();
        let round = self.round.get_or_insert_with(|| Round::new(members));
        let found = round.go_on(&mut Slice::new());
        self.spent += now.elapsed();
        let Some(sum) = found else { return };
        self.round = None;
        let sum = sum.with(held);
        let over = sum > limit;
        self.known = if over && !at_once && !self.suspected { limit } else { sum };
        self.suspected = over;
        self.due = now + std::mem::take(&mut self.spent).saturating_mul(REST).min(LONGEST);
    }
}

/// What all of them have taken themselves.
fn grown(parts: &[Part], limit: u64) -> u64 {
    let all = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.grown));
    if all <= limit {
        return all;
    }
    // Those that have one memory between them took it together.
    let mut counted: Vec<Pid> = Vec::new();
    let mut sum: u64 = 0;
    for Part { member, grown, .. } in parts.iter().filter(|part| part.grown > 0) {
        if is_new(&mut counted, member.pid) {
            sum = sum.saturating_add(*grown);
        }
    }
    sum
}

/// Whether the memory of that process is none of those that were counted. Between `vfork` and `exec` a child has no
/// memory of its own, though every file says it has its parent's.
fn is_new(counted: &mut Vec<Pid>, pid: Pid) -> bool {
    let new = !counted.iter().any(|&known| share_memory(known, pid) == Some(true));
    if new {
        counted.push(pid);
    }
    new
}

/// The sum over all address spaces, in which a page counts once however many have it.
#[derive(Debug)]
pub(super) struct Round {
    waiting: Vec<Member>,
    counted: Vec<Pid>,
    sum: Sum,
}

impl Round {
    pub(super) fn new(members: &[Member]) -> Self {
        let living = members.iter().filter(|member| !member.stat.ended);
        // The last is taken first; and a child must not be taken for whom its memory belongs to.
        Self { waiting: living.rev().copied().collect(), counted: Vec::new(), sum: Sum::default() }
    }

    /// Goes on for a while; says how much there is once all were seen.
    pub(super) fn go_on(&mut self, slice: &mut Slice) -> Option<Sum> {
        while let Some(member) = self.waiting.pop() {
            if is_new(&mut self.counted, member.pid) {
                let one = rollup(&member).or_else(|| status(&member)).unwrap_or_default();
                self.sum = self.sum.and(one);
            }
            if slice.is_over() && !self.waiting.is_empty() {
                return None;
            }
        }
        Some(self.sum)
    }
}
