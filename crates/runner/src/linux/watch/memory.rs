//! How much memory a tree has: anonymous and shared pages, resident or swapped out.
//!
//! Two ways. The plain sum is cheap and never too small, but counts pages that several processes share once for each.
//! The proportional one walks the page tables, which takes milliseconds for large programs, and is asked for only when
//! the plain one is over the limit.

use rustix::process::Pid;

use super::Member;
use crate::linux::sys::share_memory;
use crate::linux::tree::{read, threads};

/// The longest `status` or `smaps_rollup` that is read: both have some sixty short lines.
const LIMIT: u64 = 64 * 1024;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Anonymous, or swapped out.
    own: u64,
    /// Shared, as far as it is mapped.
    shared: u64,
}

impl Sum {
    fn and(self, other: Self) -> Self {
        Self { own: self.own.saturating_add(other.own), shared: self.shared.saturating_add(other.shared) }
    }

    /// All of it, and the memory files that are held open. Those may be mapped, and then they are in the sum already;
    /// so the larger of both counts.
    pub(super) fn with(self, held: u64) -> u64 {
        self.own.saturating_add(self.shared.max(held))
    }
}

/// The sum over all processes, and what the largest has.
pub(super) fn plain(members: &[Member]) -> (Sum, Sum) {
    members.iter().filter_map(status).fold(<(Sum, Sum)>::default(), |(sum, largest), one| {
        (sum.and(one), if one.with(0) > largest.with(0) { one } else { largest })
    })
}

/// The sum over all address spaces, in which a page counts once however many have it.
pub(super) fn proportional(members: &[Member]) -> Sum {
    let mut counted: Vec<Pid> = Vec::new();
    let mut sum = Sum::default();
    for member in members.iter().filter(|member| !member.stat.ended) {
        // Between `vfork` and `exec` a child has no memory of its own, though every file says it has its parent's.
        if !counted.iter().any(|&known| share_memory(known, member.pid) == Some(true)) {
            sum = sum.and(rollup(member).or_else(|| status(member)).unwrap_or_default());
            counted.push(member.pid);
        }
    }
    sum
}

/// What it has, shared with others or not.
fn status(member: &Member) -> Option<Sum> {
    let text = about(member, "status").filter(|_| !member.stat.ended)?;
    let swapped = field(&text, "VmSwap:").unwrap_or_default();
    Some(Sum { own: field(&text, "RssAnon:")? + swapped, shared: field(&text, "RssShmem:")? })
}

/// Its part of what it shares, and what it has alone. Not every kernel says, and not to everyone.
fn rollup(member: &Member) -> Option<Sum> {
    let text = about(member, "smaps_rollup")?;
    let swapped = field(&text, "SwapPss:").unwrap_or_default();
    Some(Sum { own: field(&text, "Pss_Anon:")? + swapped, shared: field(&text, "Pss_Shmem:")? })
}

/// A file about a process that says something about its memory. Where the first thread has ended it takes another's:
/// else a program could hide all it has by ending that one.
fn about(member: &Member, name: &str) -> Option<String> {
    let pid = member.pid;
    let bytes = if member.stat.headless {
        let others = threads(pid).into_iter().filter(|&thread| thread != pid);
        let mut files = others.filter_map(|thread| read(&format!("/proc/{pid}/task/{thread}/{name}"), LIMIT));
        files.find(|bytes| bytes.windows(3).any(|part| part == b"Rss"))?
    } else {
        read(&format!("/proc/{pid}/{name}"), LIMIT)?
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line such as `RssAnon:      116 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "Name:\tRssAnon: 1 kB\nRssAnon:\t     116 kB\nRssShmem:\t 4 kB\nVmSwap:\tsome\n";
        assert_eq!(field(text, "RssAnon:"), Some(116 * 1024));
        assert_eq!(field(text, "RssShmem:"), Some(4096));
        assert_eq!((field(text, "VmSwap:"), field(text, "Rss:")), (None, None));
    }
}
