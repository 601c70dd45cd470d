//! The sweep: ends what a host left behind that could not do it itself, by what the ledger says and by the mark that
//! every process of a run carries.

use std::collections::BTreeSet;
use std::io;
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
    #[cfg(target_os = "linux")]
    crate::linux::cgroup::sweep();
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
    #[cfg(target_os = "linux")]
    let removed = crate::linux::scratch::remove(scratch);
    #[cfg(not(target_os = "linux"))]
    let removed = std::fs::remove_dir_all(scratch);
    if let Err(error) = removed {
        tracing::warn!(target: "covenant", "{} of an earlier run cannot be removed: {error}", scratch.display());
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;
