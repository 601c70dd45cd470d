//! One look through a directory of notes: what is new or changed is read and put into the index, what has gone is forgotten.

use std::collections::HashMap;

use covenant_gate::Clock;
use covenant_model::note::{Entry, Index, IndexError, Stamp, without_md};

use super::watch::Watch;
use crate::files::{FileError, FileKind, Found, Root, Step};
use crate::note::Note;

/// The most notes that are kept, and the most bytes of one whose text is.
const MOST_NOTES: usize = 200_000;
const MOST_BYTES: u64 = 2 << 20;

/// How much is put into the index at once.
const BATCH: usize = 2000;
const BATCH_BYTES: usize = 8 << 20;

/// How many milliseconds one moment of a file system may last.
const FRESH: i64 = 20;

/// Why a look was not finished.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Files(#[from] FileError),
    #[error("{0}")]
    Index(#[from] IndexError),
}

/// Notes that were read and are not yet in the index.
struct Batch<'a> {
    index: &'a dyn Index,
    known: &'a mut HashMap<String, Stamp>,
    entries: Vec<Entry>,
    bytes: usize,
}

/// Looks through everything. `known` is what the index has, before and after.
pub(super) fn scan(
    root: &Root,
    index: &dyn Index,
    known: &mut HashMap<String, Stamp>,
    watch: &mut Watch,
    clock: &dyn Clock,
) -> Result<(), Broken> {
    let mut seen = HashMap::with_capacity(known.len());
    let mut batch = Batch { index, known, entries: Vec::new(), bytes: 0 };
    let mut broken = None;
    root.walk(".", &mut |found| {
        if found.name.starts_with('.') {
            return Step::Past;
        }
        if found.kind == FileKind::Directory {
            // Before what is in there is listed, so that nothing comes unseen in between.
            watch.add(found.path);
            return Step::In;
        }
        if found.kind == FileKind::File && is_note(found.name) && seen.len() < MOST_NOTES {
            let Ok(metadata) = found.metadata() else { return Step::In };
            let stamp = Stamp { inode: metadata.inode, size: metadata.size, modified: metadata.modified };
            let kept = if is_fresh(stamp, clock) { Stamp::default() } else { stamp };
            seen.insert(found.path.to_owned(), kept);
            if batch.known.get(found.path) != Some(&stamp)
                && let Err(error) = batch.take(entry(&found, stamp))
            {
                broken = Some(error);
                return Step::Stop;
            }
        }
        Step::In
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    batch.flush()?;
    let gone: Vec<String> = known.keys().filter(|path| !seen.contains_key(*path)).cloned().collect();
    for part in gone.chunks(BATCH) {
        index.change(&[], part)?;
    }
    *known = seen;
    Ok(())
}

/// Whether it was written so lately that the same moment may see another write: then it is read again the next time.
fn is_fresh(stamp: Stamp, clock: &dyn Clock) -> bool {
    let now = i64::try_from(clock.now().millis()).unwrap_or(i64::MAX);
    stamp.modified / 1_000_000 + FRESH >= now
}

/// Whether a file of that name is a note.
pub(crate) fn is_note(name: &str) -> bool {
    without_md(name).len() < name.len()
}

impl Batch<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), IndexError> {
        self.bytes += entry.text.len();
        self.entries.push(entry);
        if self.entries.len() >= BATCH || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.index.change(&self.entries, &[])?;
        for entry in self.entries.drain(..) {
            self.known.insert(entry.path, entry.stamp);
        }
        self.bytes = 0;
        Ok(())
    }
}

/// A note as the index takes it. One that is too large, or cannot be read, is found by its name alone.
fn entry(found: &Found<'_>, stamp: Stamp) -> Entry {
    let bytes = found.read(MOST_BYTES).unwrap_or_default();
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let note = Note::read(&text);
    let mut links: Vec<String> =
        note.links.iter().map(|link| link.target.clone()).filter(|target| !target.is_empty()).collect();
    links.sort_unstable();
    links.dedup();
    Entry {
        path: found.path.to_owned(),
        stamp,
        title: note.title_at(found.path),
        headings: note.headings,
        tags: note.tags,
        links,
        text,
    }
}
