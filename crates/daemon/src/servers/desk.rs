//! Which servers are wanted: what the files say, what the operator added while the daemon runs, and without what the
//! operator took away until the next start. The fleet is told the whole of it, whenever any of it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use covenant_mcp::fleet::{Fleet, Wanted};
use covenant_model::audit::Kind;
use covenant_model::server::{Entry, Lookup, Plan, Servers};
use parking_lot::Mutex;

use super::entry;

/// Where servers stand that were added while the daemon runs.
pub(crate) const RUNTIME: &str = "runtime";

/// How many remarks on the files are kept.
const REMARKS: usize = 100;

/// A server that was added while the daemon runs.
pub(crate) struct Added {
    pub(crate) entry: Entry,
    /// Whether it is reached by itself; otherwise it waits for a command.
    pub(crate) connect: bool,
}

/// What is wanted, and the fleet that is told.
pub(crate) struct Desk {
    pub(crate) fleet: Arc<Fleet>,
    wishes: Mutex<Wishes>,
    /// What is wrong with the files, as they were read last.
    remarks: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Wishes {
    /// What the files say.
    found: Vec<Wanted>,
    /// What was added while the daemon runs.
    added: Vec<Added>,
    /// Names in the files that were taken away until the next start.
    away: BTreeSet<String>,
    /// What the fleet was told last.
    told: Vec<Wanted>,
}

impl Desk {
    /// A desk for that fleet, on which nothing lies yet.
    pub(crate) fn new(fleet: Arc<Fleet>) -> Self {
        Self { fleet, wishes: Mutex::default(), remarks: Mutex::default() }
    }

    /// What is wanted if the files say that.
    pub(crate) fn with(&self, found: &[Wanted], lookup: &dyn Lookup) -> Vec<Wanted> {
        self.wishes.lock().wanted(found, lookup)
    }

    /// The names of the servers that differ from what the fleet was told, in order.
    pub(crate) fn differences(&self, wanted: &[Wanted]) -> Vec<String> {
        self.wishes.lock().differences(wanted)
    }

    /// The files say that from now on. What is wanted now, to be told to the fleet; the same with the two below.
    #[must_use]
    pub(crate) fn take(&self, found: Vec<Wanted>, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.wishes.lock().take(found, lookup)
    }

    /// A server is added until the next start.
    #[must_use]
    pub(crate) fn add(&self, added: Added, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.wishes.lock().add(added, lookup)
    }

    /// A server is taken away until the next start.
    #[must_use]
    pub(crate) fn remove(&self, name: &str, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.wishes.lock().remove(name, lookup)
    }

    /// A server of that name in a file is wanted again.
    #[must_use]
    pub(crate) fn bring_back(&self, name: &str, lookup: &dyn Lookup) -> Vec<Wanted> {
        let mut wishes = self.wishes.lock();
        wishes.away.remove(name);
        wishes.tell(lookup)
    }

    /// No server of that name was added while the daemon runs. The fleet is told with the next change.
    pub(crate) fn forget(&self, name: &str) {
        self.wishes.lock().added.retain(|added| added.entry.name != name);
    }

    /// The file of a server that was taken away until the next start.
    pub(crate) fn away(&self, name: &str) -> Option<String> {
        let wishes = self.wishes.lock();
        let mut away = wishes.found.iter().filter(|server| wishes.away.contains(&server.name));
        away.find(|server| server.name == name).map(|server| server.source.clone())
    }

    /// The servers that come and those that go, if that is wanted: the kind of row, the name and the file of each.
    pub(crate) fn turnover(&self, wanted: &[Wanted]) -> Vec<(Kind, String, String)> {
        self.wishes.lock().turnover(wanted)
    }

    /// Where the server of that name stands, if it is wanted.
    pub(crate) fn source(&self, name: &str) -> Option<String> {
        let wishes = self.wishes.lock();
        wishes.told.iter().find(|server| server.name == name).map(|server| server.source.clone())
    }

    /// How the server of that name is reached; or why it cannot be, in a sentence. `None` if there is none.
    pub(crate) fn plan(&self, name: &str) -> Option<Result<Plan, String>> {
        let wishes = self.wishes.lock();
        wishes.told.iter().find(|server| server.name == name).map(|server| server.plan.clone())
    }

    /// The files were read, and that is wrong with them. Whether that is something else than before.
    pub(crate) fn remark(&self, remarks: &[String]) -> bool {
        let remarks: Vec<String> = remarks.iter().take(REMARKS).cloned().collect();
        let mut known = self.remarks.lock();
        let other = *known != remarks;
        *known = remarks;
        other
    }

    /// All servers, and what is wrong with the files they are read from.
    pub(crate) fn servers(&self) -> Servers {
        Servers { warnings: self.remarks.lock().clone(), ..self.fleet.servers() }
    }

    /// How many servers there are in each state that occurs.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let counts = self.fleet.counts().into_iter().filter(|(_, count)| *count > 0);
        counts.map(|(state, count)| (state.as_str().to_owned(), count)).collect()
    }

    /// The entries that were added while the daemon runs.
    pub(crate) fn added(&self) -> Vec<Entry> {
        self.wishes.lock().added.iter().map(|added| added.entry.clone()).collect()
    }
}

impl Wishes {
    /// All that is wanted, if the files say that. Of two that have one name the file's counts, unless it was taken away.
    fn wanted(&self, found: &[Wanted], lookup: &dyn Lookup) -> Vec<Wanted> {
        let is_there = |server: &&Wanted| !self.away.contains(&server.name);
        let mut wanted: Vec<Wanted> = found.iter().filter(is_there).cloned().collect();
        for Added { entry, connect } in &self.added {
            if wanted.iter().any(|server| server.name == entry.name) {
                tracing::warn!(
                    target: "covenant", server = entry.name,
                    "a file has a server of this name now: the one that was added while the daemon runs is not used"
                );
                continue;
            }
            wanted.push(Wanted {
                name: entry.name.clone(),
                source: RUNTIME.to_owned(),
                enabled: entry.enabled && *connect,
                plan: entry::plan(entry, lookup).map_err(|bad| bad.to_string()),
            });
        }
        wanted
    }

    fn take(&mut self, found: Vec<Wanted>, lookup: &dyn Lookup) -> Vec<Wanted> {
        // Who takes an entry out of its file and puts it back wants it back.
        self.away.retain(|name| found.iter().any(|server| server.name == *name));
        self.found = found;
        self.tell(lookup)
    }

    fn add(&mut self, added: Added, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.added.push(added);
        self.tell(lookup)
    }

    fn remove(&mut self, name: &str, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.added.retain(|added| added.entry.name != name);
        if self.found.iter().any(|server| server.name == name) {
            self.away.insert(name.to_owned());
        }
        self.tell(lookup)
    }

    fn differences(&self, wanted: &[Wanted]) -> Vec<String> {
        let lacks = |one: &[Wanted], other: &[Wanted]| -> Vec<String> {
            one.iter().filter(|server| !other.contains(server)).map(|server| server.name.clone()).collect()
        };
        let names = lacks(wanted, &self.told).into_iter().chain(lacks(&self.told, wanted));
        names.collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn turnover(&self, wanted: &[Wanted]) -> Vec<(Kind, String, String)> {
        let lacks = |kind: Kind, one: &[Wanted], other: &[Wanted]| -> Vec<(Kind, String, String)> {
            let names: BTreeSet<&str> = other.iter().map(|server| server.name.as_str()).collect();
            let only = one.iter().filter(|server| !names.contains(server.name.as_str()));
            only.map(|server| (kind, server.name.clone(), server.source.clone())).collect()
        };
        let mut turnover = lacks(Kind::ServerRemoved, &self.told, wanted);
        turnover.extend(lacks(Kind::ServerAdded, wanted, &self.told));
        turnover
    }

    fn tell(&mut self, lookup: &dyn Lookup) -> Vec<Wanted> {
        self.told = self.wanted(&self.found, lookup);
        self.told.clone()
    }
}

#[cfg(test)]
mod tests;
