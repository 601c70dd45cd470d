//! What principals remember, searchable: the notes in their directories of the memory.
//!
//! Everything here blocks: call it from `tokio::task::spawn_blocking`.

use std::path::PathBuf;
use std::sync::Arc;

use covenant_gate::Clock;
use covenant_model::api::MemoryEntry;
use covenant_model::note::{Hit, Query};
use covenant_model::principal::Kind;
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;

use crate::files::Root;
use crate::library::Library;
use crate::memory::{LARGEST, answered, called, owner};
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

    /// What these notes say, as far as they are still there, without secrets: one that is cut apart is not found afterwards.
    pub fn said(&self, hits: Vec<Hit>, redactor: &Redactor) -> Result<Vec<MemoryEntry>, String> {
        if hits.is_empty() {
            return Ok(Vec::new());
        }
        let root = self.library.root().map_err(|error| error.to_string())?;
        Ok(hits.into_iter().filter_map(|hit| remembered(&root, hit, redactor)).collect())
    }
}

/// A note, if it is still there and somebody's.
fn remembered(root: &Root, hit: Hit, redactor: &Redactor) -> Option<MemoryEntry> {
    let Hit { path, modified, .. } = hit;
    let (directory, file) = path.split_once('/').unwrap_or((&path, ""));
    let whose = owner(directory)?;
    let intent_id =
        if whose.kind() == Kind::Agent { answered(file).map(|intent| intent.to_string()) } else { None };
    let bytes = root.read(&path, LARGEST).ok()?;
    let text = redactor.shown(&String::from_utf8_lossy(&bytes), SHOWN);
    let created_at = Timestamp::from_millis(u64::try_from(modified / 1_000_000).unwrap_or_default());
    Some(MemoryEntry { owner: called(&whose).to_owned(), intent_id, text, created_at, id: path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_shown_in_part_and_no_part_of_a_secret_with_it() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("client-ada")).unwrap();
        let before = "ä".repeat(SHOWN - 8);
        let text = format!("{before}hunter2-hunter2");
        std::fs::write(directory.path().join("client-ada/MEMORY.md"), &text).unwrap();
        let recall = Recall::new(
            directory.path().to_owned(),
            Arc::new(|_, _| Err("nothing is indexed here".to_owned())),
            Arc::new(covenant_gate::SystemClock),
        );
        let said = |redactor: &Redactor| {
            let hit = Hit { path: "client-ada/MEMORY.md".to_owned(), title: String::new(), modified: 0 };
            recall.said(vec![hit], redactor).unwrap().remove(0).text
        };
        assert_eq!(said(&Redactor::none()), format!("{before}hunter2-…"));
        let redactor = Redactor::new([("DB", "hunter2-hunter2")]);
        assert_eq!(said(&redactor), format!("{before}[REDACTE…"));
    }

    #[test]
    fn a_note_says_whose_it_is_and_which_intent_it_answers() {
        let directory = tempfile::tempdir().unwrap();
        let intent = "0190a6e2-5c1f-4a3b-9f70-1d2c3b4a5e6f";
        let answer = format!("agent-research@local/intents/{intent}.md");
        let foreign = format!("client-ada/intents/{intent}.md");
        let expected = [
            (answer.as_str(), "research@local", Some(intent)),
            ("agent-research@local/MEMORY.md", "research@local", None),
            ("agent-research@local/intents/MEMORY.md", "research@local", None),
            (foreign.as_str(), "client:ada", None),
            ("user@local/MEMORY.md", "user@local", None),
        ];
        for (path, ..) in expected {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "moon").unwrap();
        }
        let indexes: Indexes = Arc::new(|_, _| Err("nothing is indexed here".to_owned()));
        let recall = Recall::new(directory.path().to_owned(), indexes, Arc::new(covenant_gate::SystemClock));
        let hit = |path: &str| Hit { path: path.to_owned(), title: String::new(), modified: 5_000_000 };
        let hits = expected.iter().map(|(path, ..)| hit(path)).collect();
        let said = recall.said(hits, &Redactor::none()).unwrap();
        let told: Vec<_> = said
            .iter()
            .map(|entry| (entry.id.as_str(), entry.owner.as_str(), entry.intent_id.as_deref()))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn where_nobody_remembers_nothing_is_found() {
        let indexes: Indexes = Arc::new(|_, _| Err("nothing is indexed here".to_owned()));
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(covenant_gate::SystemClock);
        let recall = Recall::new(directory.path().join("memory"), indexes, clock);
        assert_eq!(recall.search("moon", 10), Ok(Vec::new()));
        assert_eq!(recall.said(Vec::new(), &Redactor::none()), Ok(Vec::new()));
    }
}
