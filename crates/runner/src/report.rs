//! A report: which promises of the sandbox hold for one run, by which means, and which do not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a sandbox promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promise {
    /// No process outlives the run.
    Lifetime,
    /// It sees the system's files and those named, and writes nowhere but where it may.
    Files,
    /// Its scratch directory is its own, bounded, and gone afterwards.
    Scratch,
    /// It connects only to where it may.
    Network,
    /// It reaches no socket and signals no process of others on this machine.
    Neighbours,
    /// The resident memory of the tree is bounded.
    Memory,
    /// The number of processes is bounded.
    Processes,
    /// It can gain no privilege and has none to begin with.
    Privileges,
    /// Dangerous system calls are refused.
    Calls,
}

impl Promise {
    /// Every promise, in the order reports have.
    pub const ALL: [Self; 9] = [
        Self::Lifetime,
        Self::Files,
        Self::Scratch,
        Self::Network,
        Self::Neighbours,
        Self::Memory,
        Self::Processes,
        Self::Privileges,
        Self::Calls,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lifetime => "lifetime",
            Self::Files => "files",
            Self::Scratch => "scratch",
            Self::Network => "network",
            Self::Neighbours => "neighbours",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Privileges => "privileges",
            Self::Calls => "calls",
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How far a promise is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// In full.
    Yes,
    /// With a gap, which the note names.
    Partly,
    /// Not at all.
    No,
}

/// One promise, and how it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Which.
    pub promise: Promise,
    /// How far.
    pub kept: Kept,
    /// By which means, such as `["pid namespace"]`.
    pub by: Vec<String>,
    /// What is missing and why; empty where nothing is.
    pub note: String,
}

/// What held for one run. A run without a sandbox has a report that says so of every promise but the first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// One for each promise.
    pub measures: Vec<Measure>,
}

impl Report {
    /// The promise is kept, by these means.
    pub fn keeps(&mut self, promise: Promise, by: &[&str]) {
        self.add(promise, Kept::Yes, by, String::new());
    }

    /// The promise is kept with a gap.
    pub fn keeps_partly(&mut self, promise: Promise, by: &[&str], note: impl Into<String>) {
        self.add(promise, Kept::Partly, by, note.into());
    }

    /// The promise is not kept.
    pub fn lacks(&mut self, promise: Promise, note: impl Into<String>) {
        self.add(promise, Kept::No, &[], note.into());
    }

    fn add(&mut self, promise: Promise, kept: Kept, by: &[&str], note: String) {
        let by = by.iter().map(|&means| means.to_owned()).collect();
        self.measures.retain(|known| known.promise != promise);
        self.measures.push(Measure { promise, kept, by, note });
        self.measures.sort_by_key(|measure| measure.promise);
    }

    /// What is said of one promise.
    pub fn of(&self, promise: Promise) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.promise == promise)
    }

    /// The measures that fall short.
    pub fn gaps(&self) -> impl Iterator<Item = &Measure> {
        self.measures.iter().filter(|measure| measure.kept != Kept::Yes)
    }

    /// Whether every promise is kept in full.
    pub fn is_whole(&self) -> bool {
        Promise::ALL.iter().all(|&promise| self.of(promise).is_some_and(|measure| measure.kept == Kept::Yes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_whole_only_if_it_speaks_of_every_promise() {
        let mut report = Report::default();
        assert!(!report.is_whole());
        for promise in Promise::ALL {
            report.keeps(promise, &["something"]);
        }
        assert!(report.is_whole());
        report.lacks(Promise::Network, "no means");
        assert!(!report.is_whole());
        assert_eq!(report.gaps().count(), 1);
        assert_eq!(report.measures.len(), Promise::ALL.len());
    }
}
