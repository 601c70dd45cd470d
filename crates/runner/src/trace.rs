//! How a process is written down so that it can be found again: by number and start time, within one boot.

use serde::{Deserialize, Serialize};

/// A process, told apart by when it began from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// Its number.
    pub(crate) pid: i32,
    /// When it began, in the system's own count.
    pub(crate) start_time: u64,
}

impl Trace {
    /// The process that has this number now; none where the system does not say when it began.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, start_time: system::start_time(pid)? })
    }

    /// This process.
    pub(crate) fn own() -> Option<Self> {
        Self::of(i32::try_from(std::process::id()).ok()?)
    }

    /// Whether it lives.
    pub(crate) fn lives(self) -> bool {
        system::lives(self)
    }
}

pub(crate) use system::{boot, end_runs};

#[cfg(target_os = "linux")]
mod system {
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal};

    use super::Trace;
    use crate::linux::tree::end::end_marked;
    use crate::linux::tree::mark::marked;
    use crate::linux::tree::{Process, descendants, process};

    /// How long the killed are given before they are looked for again.
    const BREATH: Duration = Duration::from_millis(2);

    pub(super) fn start_time(pid: i32) -> Option<u64> {
        process::start_time(Pid::from_raw(pid)?)
    }

    pub(super) fn lives(trace: Trace) -> bool {
        found(trace).is_some()
    }

    fn found(trace: Trace) -> Option<Process> {
        let process = Process { pid: Pid::from_raw(trace.pid)?, start_time: trace.start_time };
        process.lives().then_some(process)
    }

    /// The name of this boot.
    pub(crate) fn boot() -> Option<String> {
        process::boot_id()
    }

    /// Ends these processes, what carries the mark of these runs, and all below. Returns how many there were, and how
    /// many are left when `patience` is over.
    pub(crate) fn end_runs(runs: &[String], traces: &[Trace], patience: Duration) -> (usize, usize) {
        let deadline = Instant::now() + patience;
        let mut seen = HashSet::new();
        loop {
            let roots: Vec<Process> =
                traces.iter().filter_map(|&trace| found(trace)).chain(marked(runs)).collect();
            let below = roots.iter().flat_map(|root| descendants(root.pid));
            let living: Vec<Process> =
                below.chain(roots.iter().copied()).filter(|process| process.lives()).collect();
            seen.extend(living.iter().copied());
            let left = deadline.saturating_duration_since(Instant::now());
            if living.is_empty() || left.is_zero() {
                return (seen.len(), living.len());
            }
            end_marked(runs, left);
            // What carries no mark, or none that can be read.
            for process in living {
                process.signal(Signal::KILL).ok();
            }
            std::thread::sleep(BREATH);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::Duration;

    use super::Trace;

    pub(super) fn start_time(_: i32) -> Option<u64> {
        None
    }

    pub(super) fn lives(_: Trace) -> bool {
        false
    }

    /// There is no name for it here, so no record is ever of this boot.
    pub(crate) fn boot() -> Option<String> {
        None
    }

    /// There is no way to find them here.
    pub(crate) fn end_runs(_: &[String], _: &[Trace], _: Duration) -> (usize, usize) {
        (0, 0)
    }
}
