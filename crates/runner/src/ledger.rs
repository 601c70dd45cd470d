//! The ledger: which children live, written down so that the next host can end what this one could not.
//!
//! One small file for each, there before the program runs and gone when nothing of it is left. It need not survive a
//! crash of the machine, which leaves no process either; so nothing waits for the disk.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::trace::{self, Trace};

/// The longest record that is read.
const RECORD_LIMIT: u64 = 64 * 1024;

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
#[error("the ledger of running programs at {} cannot be {what}: {cause}", path.display())]
pub struct LedgerError {
    /// The file or directory.
    pub path: PathBuf,
    /// What was to be done with it, such as "written".
    pub what: &'static str,
    /// Why.
    pub cause: io::Error,
}

/// What is known of one child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The id of its run.
    pub(crate) run: String,
    /// What people call it.
    pub(crate) name: String,
    /// The boot in which the traces mean something.
    pub(crate) boot: Option<String>,
    /// Who started it.
    pub(crate) host: Option<Trace>,
    /// Who watches it.
    pub(crate) launcher: Option<Trace>,
    /// The program, or the first process of its sandbox.
    pub(crate) program: Option<Trace>,
    /// The directory that is to be removed after it.
    pub(crate) scratch: Option<PathBuf>,
}

impl Record {
    /// Whether the traces of this record are of the present boot.
    pub(crate) fn is_of_this_boot(&self) -> bool {
        self.boot.is_some() && self.boot == trace::boot()
    }
}

/// The directory of records.
#[derive(Debug)]
pub(crate) struct Ledger {
    directory: PathBuf,
}

impl Ledger {
    /// The ledger in that directory, which is made if it is not there, and private in any case.
    pub(crate) fn open(directory: &Path) -> Result<Self, LedgerError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o700)))
            .map_err(|cause| LedgerError { path: directory.to_owned(), what: "opened", cause })?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Writes a record, or replaces the one of the same run.
    pub(crate) fn write(&self, record: &Record) -> Result<(), LedgerError> {
        let path = self.path(&record.run);
        let draft = path.with_extension("new");
        let written = put(&draft, record).and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written.map_err(|cause| LedgerError { path, what: "written", cause })
    }

    /// Removes the record of a run.
    pub(crate) fn remove(&self, run: &str) -> Result<(), LedgerError> {
        remove(&self.path(run))
    }

    /// Every file, with the record it holds or what is wrong with it.
    pub(crate) fn records(&self) -> Result<Vec<(PathBuf, io::Result<Record>)>, LedgerError> {
        let failed = |cause| LedgerError { path: self.directory.clone(), what: "read", cause };
        let entries: io::Result<Vec<_>> = fs::read_dir(&self.directory).map_err(failed)?.collect();
        let paths = entries.map_err(failed)?.into_iter().map(|entry| entry.path());
        Ok(paths.map(|path| (path.clone(), take(&path))).collect())
    }

    fn path(&self, run: &str) -> PathBuf {
        self.directory.join(run).with_extension("json")
    }
}

/// Removes a file of the ledger.
pub(crate) fn remove(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(LedgerError { path: path.to_owned(), what: "cleared", cause })
        }
        _ => Ok(()),
    }
}

fn put(draft: &Path, record: &Record) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
    file.write_all(&serde_json::to_vec(record)?)
}

fn take(path: &Path) -> io::Result<Record> {
    let mut bytes = Vec::new();
    File::open(path)?.take(RECORD_LIMIT).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
