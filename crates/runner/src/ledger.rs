//! The ledger: which children live, written down so that the next host can end what this one could not.

use std::path::PathBuf;

/// What a sweep of an earlier host's leavings found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Runs that were still on record.
    pub runs: usize,
    /// Processes of theirs that had to be killed.
    pub processes: usize,
}

/// Why the ledger cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("the ledger of running programs ({}) cannot be {what}: {cause}", path.display())]
pub struct LedgerError {
    /// The file or directory.
    pub path: PathBuf,
    /// What was to be done with it, such as "written".
    pub what: &'static str,
    /// Why.
    pub cause: std::io::Error,
}
