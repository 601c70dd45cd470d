//! The sweep: ends what a host left behind that could not do it itself, by what the ledger says and by the mark that
//! every process of a run carries.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::control::MARK;
use crate::ledger::{Ledger, LedgerError, Record, Swept, remove};
use crate::trace;

/// How long processes are given to be gone after they were killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends what is on record in a ledger and belongs to no living host, and clears the records.
pub(crate) fn sweep(ledger: &Ledger) -> Result<Swept, LedgerError> {
    let mut left = Vec::new();
    for (path, record) in ledger.records()? {
        match record {
            Ok(record) if is_anothers(&record) => {}
            Ok(record) => left.push((path, record)),
            Err(cause) => discard(&path, &cause),
        }
    }
    let records: Vec<Record> = left.iter().map(|(_, record)| record.clone()).collect();
    let processes = end(&records);
    for (path, _) in &left {
        remove(path)?;
    }
    let runs: BTreeSet<&str> = records.iter().map(|record| record.run.as_str()).collect();
    Ok(Swept { runs: runs.len(), processes })
}

/// Ends every process of these runs and removes their scratch directories. Returns how many processes there were.
pub(crate) fn end(records: &[Record]) -> usize {
    // Start times of another boot mean nothing in this one, and no process has outlived it.
    let present: Vec<&Record> = records.iter().filter(|record| record.is_of_this_boot()).collect();
    let runs: Vec<String> = present.iter().map(|record| record.run.clone()).collect();
    let traces: Vec<_> =
        present.iter().flat_map(|record| [record.launcher, record.program]).flatten().collect();
    let (processes, stuck) = trace::end_runs(&runs, &traces, PATIENCE);
    if stuck > 0 {
        tracing::warn!(target: "covenant", stuck, "killed processes of earlier runs are still there");
    }
    for record in records {
        clear_scratch(record);
    }
    processes
}

/// Whether somebody else looks after the run: a host that lives, or the run is the one in which we ourselves run.
fn is_anothers(record: &Record) -> bool {
    let inside = std::env::var(MARK).is_ok_and(|run| run == record.run);
    inside || record.is_of_this_boot() && record.host.is_some_and(trace::Trace::lives)
}

fn discard(path: &Path, cause: &io::Error) {
    tracing::warn!(target: "covenant", file = %path.display(), "a damaged record of a running program is removed: {cause}");
    if let Err(error) = remove(path) {
        tracing::warn!(target: "covenant", "{error}");
    }
}

fn clear_scratch(record: &Record) {
    let named_after_it = |path: &&PathBuf| path.file_name().is_some_and(|name| name == record.run.as_str());
    let Some(scratch) = record.scratch.as_ref().filter(named_after_it) else { return };
    if let Err(error) = remove_tree(scratch) {
        tracing::warn!(target: "covenant", "{} of an earlier run cannot be removed: {error}", scratch.display());
    }
}

/// Removes a directory and all in it, also where its owner locked himself out.
fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Makes every directory of a tree one that can be cleared. Nothing lives that could put a link in the way.
fn unlock(path: &Path) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(directory) = waiting.pop() {
        fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;
