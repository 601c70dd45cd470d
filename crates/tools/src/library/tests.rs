//! A library over real files, with an index that is only a map.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use covenant_gate::SystemClock;
use covenant_model::note::{Entry, What};

use super::*;

/// Keeps entries in memory, finds words by looking, and counts how often it was changed.
#[derive(Default)]
struct Plain {
    entries: Mutex<HashMap<String, Entry>>,
    changes: AtomicUsize,
    lose: AtomicUsize,
}

impl Plain {
    fn entries(&self) -> Vec<Entry> {
        let mut all: Vec<Entry> = self.entries.lock().unwrap().values().cloned().collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }
}

impl Index for Plain {
    fn known(&self) -> Result<HashMap<String, Stamp>, IndexError> {
        Ok(self.entries().into_iter().map(|entry| (entry.path, entry.stamp)).collect())
    }

    fn change(&self, put: &[Entry], gone: &[String]) -> Result<(), IndexError> {
        self.changes.fetch_add(put.len() + gone.len(), Ordering::SeqCst);
        let mut entries = self.entries.lock().unwrap();
        entries.retain(|path, _| !gone.contains(path));
        entries.extend(put.iter().map(|entry| (entry.path.clone(), entry.clone())));
        Ok(())
    }

    fn search(&self, query: &Query) -> Result<Found, IndexError> {
        if self.lose.swap(0, Ordering::SeqCst) > 0 {
            self.entries.lock().unwrap().clear();
            return Err(IndexError::Lost);
        }
        let words: Vec<&String> = query
            .terms
            .iter()
            .filter_map(|term| match &term.what {
                What::Word(word) => Some(word),
                _ => None,
            })
            .collect();
        let fits = |entry: &Entry| words.iter().all(|word| entry.text.contains(word.as_str()));
        let hits: Vec<Hit> = self
            .entries()
            .into_iter()
            .filter(fits)
            .map(|entry| Hit { path: entry.path, title: entry.title, modified: 0 })
            .collect();
        Ok(Found { total: u64::try_from(hits.len()).unwrap(), hits })
    }

    fn recent(&self, _: usize) -> Result<Vec<Hit>, IndexError> {
        Ok(Vec::new())
    }

    fn named(&self, wanted: &str) -> Result<Vec<String>, IndexError> {
        Ok(self.entries().into_iter().map(|entry| entry.path).filter(|path| key(path) == wanted).collect())
    }

    fn leading_to(&self, wanted: &str) -> Result<Vec<(String, String)>, IndexError> {
        let pairs = self
            .entries()
            .into_iter()
            .flat_map(|entry| entry.links.into_iter().map(move |link| (entry.path.clone(), link)));
        Ok(pairs.filter(|(_, link)| key(link) == wanted).collect())
    }
}

struct World {
    directory: tempfile::TempDir,
    index: Arc<Plain>,
    library: Library,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let index = Arc::new(Plain::default());
        let given = Arc::clone(&index);
        let indexes: Indexes = Arc::new(move |_, _| Ok(Arc::<Plain>::clone(&given) as Arc<dyn Index>));
        let library = Library::new(directory.path().to_owned(), "vault", indexes, Arc::new(SystemClock));
        Self { directory, index, library }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(&self, words: &str) -> Vec<String> {
        let found = self.library.search(&Query::read(words)).unwrap();
        found.hits.into_iter().map(|hit| hit.path).collect()
    }
}

#[test]
fn every_change_is_seen_by_the_next_search() {
    let world = World::new();
    assert_eq!(world.found("moon"), Vec::<String>::new());
    world.write("a.md", "moon");
    assert_eq!(world.found("moon"), ["a.md"], "a file that came");
    world.write("new/deep/b.md", "moon");
    assert_eq!(world.found("moon"), ["a.md", "new/deep/b.md"], "in a directory that came");
    world.write("new/deep/c.md", "moon");
    assert_eq!(world.found("moon").len(), 3, "and is watched since");
    world.write("a.md", "mars");
    assert_eq!(world.found("moon").len(), 2, "a file that changed");
    fs::rename(world.directory.path().join("new"), world.directory.path().join("old")).unwrap();
    assert_eq!(world.found("moon"), ["old/deep/b.md", "old/deep/c.md"], "a directory that moved");
    fs::remove_dir_all(world.directory.path().join("old")).unwrap();
    assert_eq!(world.found("moon"), Vec::<String>::new(), "a directory that went");
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let world = World::new();
    for n in 0..20 {
        let name = format!("{n}.md");
        world.write(&name, "moon");
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::File::open(world.directory.path().join(name)).unwrap().set_modified(long_ago).unwrap();
    }
    world.found("moon");
    world.write("7.md", "a moon");
    world.found("moon");
    assert_eq!(world.index.changes.load(Ordering::SeqCst), 21);
}

#[test]
fn only_notes_are_notes() {
    let world = World::new();
    for path in
        ["a.md", "B.MD", "c.txt", ".hidden.md", ".obsidian/d.md", ".git/e.md", "dir.md/f.md", ".trash/g.md"]
    {
        world.write(path, "moon");
    }
    std::os::unix::fs::symlink("a.md", world.directory.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink("/etc", world.directory.path().join("etc")).unwrap();
    world.write("large.md", &format!("moon {}", "x".repeat(3 << 20)));
    fs::write(world.directory.path().join("latin.md"), b"moon caf\xe9").unwrap();
    assert_eq!(world.found("moon"), ["B.MD", "a.md", "dir.md/f.md", "latin.md"]);
    assert_eq!(
        world.library.find("large", "").unwrap().as_deref(),
        Some("large.md"),
        "known by its name alone"
    );
}

#[test]
fn an_index_that_was_lost_is_filled_again() {
    let world = World::new();
    world.write("a.md", "moon");
    assert_eq!(world.found("moon"), ["a.md"]);
    world.index.lose.store(1, Ordering::SeqCst);
    assert_eq!(world.found("moon"), ["a.md"]);
}

#[test]
fn links_lead_forth_and_back() {
    let world = World::new();
    world.write("Home.md", "[[Apollo]] [[b/Apollo#x|y]] [[Nowhere]] [[#here]] [[pic.png]]");
    world.write("a/Apollo.md", "[[home]]");
    world.write("b/Apollo.md", "[[Apollo]] [up](../Home.md)");
    let links =
        crate::note::Note::read(&fs::read_to_string(world.directory.path().join("Home.md")).unwrap()).links;
    let followed = world.library.followed("Home.md", &links).unwrap();
    let expected = [Some("a/Apollo.md"), Some("b/Apollo.md"), None, Some("Home.md"), None];
    assert_eq!(followed, expected.map(|path| path.map(str::to_owned)));
    assert_eq!(world.library.backlinks("Home.md").unwrap(), ["a/Apollo.md", "b/Apollo.md"]);
    assert_eq!(world.library.backlinks("b/Apollo.md").unwrap(), ["Home.md"], "its own link is none");
    assert_eq!(world.library.backlinks("a/Apollo.md").unwrap(), ["Home.md"]);
}

#[test]
fn a_directory_that_is_not_there_is_told_and_may_come_later() {
    let world = World::new();
    let path = world.directory.path().join("later");
    let library =
        Library::new(path.clone(), "vault", Arc::clone(&world.library.indexes), Arc::new(SystemClock));
    assert!(library.search(&Query::read("moon")).is_err());
    fs::create_dir(&path).unwrap();
    fs::write(path.join("a.md"), "moon").unwrap();
    assert_eq!(library.search(&Query::read("moon")).unwrap().total, 1);
}
