//! How much memory a tree has: anonymous and shared pages, resident or swapped out, and the tables that lead to them.
//!
//! The plain sum is cheap and never too small, but counts pages that several processes share once for each. Where it is
//! too much, [`super::shares`] finds out what is there.

use super::Member;
use crate::linux::tree::{read, threads};

/// The longest `status` or `smaps_rollup` that is read: both have some sixty short lines.
const LIMIT: u64 = 64 * 1024;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Anonymous, or swapped out, or tables of pages.
    pub(super) own: u64,
    /// Shared, as far as it is mapped.
    pub(super) shared: u64,
}

impl Sum {
    pub(super) fn and(self, other: Self) -> Self {
        Self { own: self.own.saturating_add(other.own), shared: self.shared.saturating_add(other.shared) }
    }

    /// All of it, and the memory files that are held open. Those may be mapped, and then they are in the sum already;
    /// so the larger of both counts.
    pub(super) fn with(self, held: u64) -> u64 {
        self.own.saturating_add(self.shared.max(held))
    }
}

/// What it has, shared with others or not.
pub(super) fn status(member: &Member) -> Option<Sum> {
    let text = about(member, "status").filter(|_| !member.stat.ended)?;
    let swapped = field(&text, "VmSwap:").unwrap_or_default();
    let own = field(&text, "RssAnon:")?.saturating_add(swapped).saturating_add(tables(&text));
    Some(Sum { own, shared: field(&text, "RssShmem:")? })
}

/// What leads to its pages. That is its own even where the pages are not, or where it has given them back.
fn tables(status: &str) -> u64 {
    ["VmPTE:", "VmPMD:"].into_iter().filter_map(|name| field(status, name)).fold(0, u64::saturating_add)
}

/// Its part of what it shares, and what it has alone. Not every kernel says, and not to everyone.
pub(super) fn rollup(member: &Member) -> Option<Sum> {
    let tables = tables(&about(member, "status")?);
    let text = about(member, "smaps_rollup")?;
    let swapped = field(&text, "SwapPss:").unwrap_or_default();
    let own = field(&text, "Pss_Anon:")?.saturating_add(swapped).saturating_add(tables);
    Some(Sum { own, shared: field(&text, "Pss_Shmem:")? })
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
