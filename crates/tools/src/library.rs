//! A directory of notes and its index, kept in step: whoever searches sees every change that was there when he asked.
//!
//! Where the system tells of changes, nothing is looked at until it does; elsewhere everything is, at most once a second.
//! Everything here blocks: call it from `tokio::task::spawn_blocking`.

mod scan;
mod watch;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use covenant_gate::Clock;
use covenant_model::note::{Found, Hit, Index, IndexError, Query, Stamp, key};

use crate::files::{FileError, Root};
use crate::note::{Link, resolve};
use crate::ports::Indexes;

pub(crate) use self::scan::is_note;

use self::watch::Watch;

/// How old the last look may be where nobody tells of changes, and where somebody does.
const UNTOLD: Duration = Duration::from_secs(1);
const TOLD: Duration = Duration::from_mins(1);

/// A directory of notes, with its index.
pub struct Library {
    directory: PathBuf,
    shown: &'static str,
    indexes: Indexes,
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held>>,
}

/// What is known of the directory.
struct Held {
    index: Arc<dyn Index>,
    known: HashMap<String, Stamp>,
    watch: Watch,
    looked: Option<Instant>,
}

impl Library {
    /// The notes in that directory, which people call that. Nothing is opened yet.
    pub fn new(directory: PathBuf, shown: &'static str, indexes: Indexes, clock: Arc<dyn Clock>) -> Self {
        Self { directory, shown, indexes, clock, held: Mutex::new(None) }
    }

    /// Where it is.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// The directory, opened anew: it may have been replaced since.
    pub fn root(&self) -> Result<Root, FileError> {
        Ok(Root::open(&self.directory, self.shown)?.unlinked())
    }

    /// What fits a question.
    pub fn search(&self, query: &Query) -> Result<Found, String> {
        self.ask(|index| index.search(query))
    }

    /// The notes that were written last.
    pub fn recent(&self, limit: usize) -> Result<Vec<Hit>, String> {
        self.ask(|index| index.recent(limit))
    }

    /// The note that a name leads to from the note at `from`.
    pub fn find(&self, name: &str, from: &str) -> Result<Option<String>, String> {
        let candidates = self.ask(|index| index.named(&key(name)))?;
        Ok(resolve(name, from, &candidates).map(str::to_owned))
    }

    /// Where each link of the note at that path leads.
    pub fn followed(&self, path: &str, links: &[Link]) -> Result<Vec<Option<String>>, String> {
        let index = self.current()?;
        let mut named: HashMap<String, Vec<String>> = HashMap::new();
        let mut lead = |link: &Link| -> Result<Option<String>, IndexError> {
            if link.target.is_empty() {
                return Ok(Some(path.to_owned()));
            }
            let name = key(&link.target);
            let candidates = match named.entry(name) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(new) => {
                    let found = index.named(new.key())?;
                    new.insert(found)
                }
            };
            Ok(resolve(&link.target, path, candidates).map(str::to_owned))
        };
        links.iter().map(&mut lead).collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// The notes that lead to the one at that path, in order.
    pub fn backlinks(&self, path: &str) -> Result<Vec<String>, String> {
        let index = self.current()?;
        let name = key(path);
        let told = |error: IndexError| error.to_string();
        let candidates = index.named(&name).map_err(told)?;
        let mut sources: Vec<String> = Vec::new();
        for (source, target) in index.leading_to(&name).map_err(told)? {
            if source != path && resolve(&target, &source, &candidates) == Some(path) {
                sources.push(source);
            }
        }
        sources.sort_unstable();
        sources.dedup();
        Ok(sources)
    }

    /// Brings the index up to what the files say.
    pub fn refresh(&self) -> Result<(), String> {
        self.current().map(drop)
    }

    /// Asks the index, which says what the files say; once more, if it had to begin anew.
    fn ask<T>(&self, ask: impl Fn(&dyn Index) -> Result<T, IndexError>) -> Result<T, String> {
        match ask(&*self.current()?) {
            Err(IndexError::Lost) => {
                *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
                ask(&*self.current()?)
            }
            other => other,
        }
        .map_err(|error| error.to_string())
    }

    /// The index, up to date.
    fn current(&self) -> Result<Arc<dyn Index>, String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = match &mut *held {
            Some(held) => held,
            none => none.insert(self.opened()?),
        };
        if held.is_due() {
            let root = self.root().map_err(|error| error.to_string())?;
            match held.look(&root, self) {
                Err(scan::Broken::Index(IndexError::Lost)) => {
                    held.known.clear();
                    held.look(&root, self)
                }
                other => other,
            }
            .map_err(|broken| broken.to_string())?;
        }
        Ok(Arc::clone(&held.index))
    }

    fn opened(&self) -> Result<Held, String> {
        let index = (self.indexes)(self.shown, &self.directory)?;
        let known = match index.known() {
            Err(IndexError::Lost) => HashMap::new(),
            other => other.map_err(|error| error.to_string())?,
        };
        Ok(Held { index, known, watch: Watch::new(), looked: None })
    }
}

impl Held {
    /// Whether something may have changed since the last look.
    fn is_due(&mut self) -> bool {
        let patience = if self.watch.is_whole() { TOLD } else { UNTOLD };
        let told = self.watch.has_news();
        told || self.looked.is_none_or(|looked| looked.elapsed() >= patience)
    }

    fn look(&mut self, root: &Root, library: &Library) -> Result<(), scan::Broken> {
        let begun = Instant::now();
        self.watch.begin(&library.directory);
        // What fails here is looked at again by whoever comes next.
        self.looked = None;
        scan::scan(root, &*self.index, &mut self.known, &mut self.watch, &*library.clock)?;
        self.looked = Some(begun);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
