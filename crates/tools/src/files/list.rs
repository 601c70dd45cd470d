//! What a directory holds, by name: one page at a time, with memory for that page alone however many there are.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, FileType};

use super::{FileError, FileKind, Metadata, Root, Why};

/// After how many names whoever asked hears how far it is.
const OFTEN: u64 = 10_000;

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name. What is not UTF-8 in it is written `U+FFFD`; nothing can be opened by such a name.
    pub name: String,
    /// What it stands for; of a symbolic link, the link.
    pub kind: FileKind,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Which names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// Those that come after this one; an empty text is before all.
    pub after: &'a str,
    /// How many at most.
    pub count: usize,
    /// How many bytes of names at most.
    pub bytes: usize,
}

/// Names, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Those of the page.
    pub entries: Vec<Entry>,
    /// How many come after these.
    pub more: u64,
}

impl Root {
    /// A page of what a directory holds. `seen` hears now and then how many were looked at, and can end it.
    pub fn list(
        &self,
        path: &str,
        page: Page<'_>,
        seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Listing, FileError> {
        self.list_of(path, page, |_| true, seen)
    }

    /// The same, of those names alone that are wanted: others have no place on a page and are not counted.
    pub fn list_of(
        &self,
        path: &str,
        page: Page<'_>,
        wanted: impl Fn(&str) -> bool,
        seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Listing, FileError> {
        self.named(path, |place| {
            let mut first = First::new(page);
            entries(self.directory(&place.whole())?, seen, &mut |entry| {
                if wanted(&entry.name) {
                    first.offer(entry);
                }
                ControlFlow::Continue(())
            })?;
            Ok(first.sorted())
        })
    }
}

/// Every name in a directory, in no order.
pub(super) fn entries(
    directory: OwnedFd,
    seen: &mut dyn FnMut(u64) -> ControlFlow<()>,
    each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> Result<(), Why> {
    let mut count = 0_u64;
    let mut names = Dir::new(directory)?;
    while let Some(found) = names.read() {
        let found = found?;
        if matches!(found.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let name = found.file_name().to_string_lossy().into_owned();
        let kind = match found.file_type() {
            // Some file systems do not say; what has gone since is not there.
            FileType::Unknown => match Metadata::at(names.fd()?, &name) {
                Ok(found) => found.kind,
                Err(_) => continue,
            },
            known => known.into(),
        };
        count += 1;
        if count.is_multiple_of(OFTEN) && seen(count).is_break() {
            return Err(Why::Stopped);
        }
        if each(Entry { name, kind }).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// The first names of those that are offered, and no others.
struct First<'a> {
    page: Page<'a>,
    kept: BinaryHeap<Entry>,
    bytes: usize,
    more: u64,
}

impl<'a> First<'a> {
    fn new(page: Page<'a>) -> Self {
        Self { page, kept: BinaryHeap::new(), bytes: 0, more: 0 }
    }

    fn offer(&mut self, entry: Entry) {
        if entry.name.as_str() <= self.page.after && !self.page.after.is_empty() {
            return;
        }
        self.bytes += entry.name.len();
        self.kept.push(entry);
        while self.kept.len() > self.page.count || (self.bytes > self.page.bytes && self.kept.len() > 1) {
            let Some(last) = self.kept.pop() else { break };
            self.bytes -= last.name.len();
            self.more += 1;
        }
    }

    fn sorted(self) -> Listing {
        Listing { entries: self.kept.into_sorted_vec(), more: self.more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: &[&str], page: Page<'_>) -> (Vec<String>, u64) {
        let mut first = First::new(page);
        for name in names {
            first.offer(Entry { name: (*name).to_owned(), kind: FileKind::File });
        }
        let listing = first.sorted();
        (listing.entries.into_iter().map(|entry| entry.name).collect(), listing.more)
    }

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let names = ["d", "a", "e", "c", "b"];
        let all = Page { after: "", count: 2, bytes: 100 };
        assert_eq!(page(&names, all), (vec!["a".into(), "b".into()], 3));
        assert_eq!(page(&names, Page { after: "b", ..all }), (vec!["c".into(), "d".into()], 1));
        assert_eq!(page(&names, Page { after: "d", ..all }), (vec!["e".into()], 0));
        assert_eq!(page(&names, Page { after: "e", ..all }), (vec![], 0));
        assert_eq!(
            page(&names, Page { after: "bb", ..all }).0,
            ["c", "d"],
            "the name itself need not be there"
        );
    }

    #[test]
    fn a_page_ends_where_its_bytes_do_and_never_before_one_name() {
        let names = ["ccc", "bbb", "aaa"];
        assert_eq!(page(&names, Page { after: "", count: 9, bytes: 7 }).0, ["aaa", "bbb"]);
        assert_eq!(page(&names, Page { after: "", count: 9, bytes: 1 }), (vec!["aaa".into()], 2));
    }
}
