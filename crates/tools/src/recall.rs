//! What principals remember, searchable: the notes in their directories of the memory.
//!
//! Everything here blocks: call it from `tokio::task::spawn_blocking`.

use std::path::PathBuf;
use std::sync::Arc;

use covenant_gate::Clock;
use covenant_model::api::MemoryEntry;
use covenant_model::note::{Hit, Query};
use covenant_model::time::Timestamp;

use crate::files::Root;
use crate::library::Library;
use crate::memory::{LARGEST, owner};
use crate::ports::Indexes;

/// The most characters of one note that are shown.
const SHOWN: usize = 4000;

/// The memory of everybody.
pub struct Recall {
    library: Library,
}

impl Recall {
    /// Of the directories in that one. Nothing is opened yet.
    pub fn new(memory: PathBuf, indexes: Indexes, clock: Arc<dyn Clock>) -> Self {
        Self { library: Library::new(memory, "memory", indexes, clock) }
    }

    /// The notes that fit these words, best first; without words those that were written last, newest first.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, String> {
        if !self.library.directory().exists() {
            // Nobody has remembered anything yet.
            return Ok(Vec::new());
        }
        let found = self.library.search(&Query { limit, ..Query::read(words) })?;
        let is_somebodys = |hit: &Hit| hit.path.split('/').next().and_then(owner).is_some();
        Ok(found.hits.into_iter().filter(is_somebodys).collect())
    }

    /// What these notes say, as far as they are still there.
    pub fn said(&self, hits: Vec<Hit>) -> Result<Vec<MemoryEntry>, String> {
        if hits.is_empty() {
            return Ok(Vec::new());
        }
        let root = self.library.root().map_err(|error| error.to_string())?;
        Ok(hits.into_iter().filter_map(|hit| remembered(&root, hit.path, hit.modified)).collect())
    }
}

/// A note, if it is still there and somebody's.
fn remembered(root: &Root, path: String, modified: i64) -> Option<MemoryEntry> {
    let owner = owner(path.split('/').next()?)?.to_string();
    let text = String::from_utf8_lossy(&root.read(&path, LARGEST).ok()?).into_owned();
    let created_at = Timestamp::from_millis(u64::try_from(modified / 1_000_000).unwrap_or_default());
    Some(MemoryEntry { id: path, owner, intent_id: None, text: shortened(text), created_at })
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN).and_then(|(at, _)| text.get(..at)) {
        Some(start) => format!("{start}…"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_shown_in_part() {
        assert_eq!(shortened("ä".repeat(SHOWN)), "ä".repeat(SHOWN));
        assert_eq!(shortened("ä".repeat(SHOWN + 1)), format!("{}…", "ä".repeat(SHOWN)));
    }

    #[test]
    fn where_nobody_remembers_nothing_is_found() {
        let indexes: Indexes = Arc::new(|_, _| Err("nothing is indexed here".to_owned()));
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(covenant_gate::SystemClock);
        let recall = Recall::new(directory.path().join("memory"), indexes, clock);
        assert_eq!(recall.search("moon", 10), Ok(Vec::new()));
        assert_eq!(recall.said(Vec::new()), Ok(Vec::new()));
    }
}
