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

    /// The process that has this number now, if it is below that one.
    pub(crate) fn below(above: Self, pid: i32) -> Option<Self> {
        let trace = Self::of(pid)?;
        system::is_below(pid, above).then_some(trace)
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
    use crate::linux::tree::spared::Spared;
    use crate::linux::tree::{Process, descendants, process};

    /// How long the killed are given before they are looked for again.
    const BREATH: Duration = Duration::from_millis(2);

    pub(super) fn start_time(pid: i32) -> Option<u64> {
        Some(Process::of(Pid::from_raw(pid)?)?.start_time)
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
            let living = living(runs, traces);
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

    /// Every process of these runs. Never one that we ourselves are below, whatever a record or a launcher says: to end
    /// it would end us, and all that is not of the run.
    pub(super) fn living(runs: &[String], traces: &[Trace]) -> Vec<Process> {
        let spared = Spared::now();
        let told = traces.iter().filter_map(|&trace| found(trace)).chain(marked(runs));
        let roots = told.filter(|root| !spared.has(root.pid));
        let all = roots.flat_map(|root| descendants(root.pid).into_iter().chain([root]));
        all.filter(|process| process.lives() && !spared.has(process.pid)).collect()
    }

    /// Whether a process is below another.
    pub(super) fn is_below(pid: i32, above: Trace) -> bool {
        let above = Pid::from_raw(above.pid);
        Pid::from_raw(pid)
            .is_some_and(|pid| above.is_some_and(|above| process::ancestors(pid).contains(&above)))
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

    pub(super) fn is_below(_: i32, _: Trace) -> bool {
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

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::alone::shell;

    #[test]
    fn what_we_are_below_is_never_ended_whatever_is_said() {
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        let told: Vec<Trace> = [1, parent].into_iter().filter_map(Trace::of).chain(Trace::own()).collect();
        assert!(!told.is_empty());
        assert!(told.iter().all(|trace| trace.lives()));
        assert_eq!(system::living(&[], &told), []);
    }

    #[test]
    fn a_child_is_below_us_and_we_are_not_below_it() {
        let own = Trace::own().unwrap();
        let mut child = shell("exec sleep 60", &[]);
        let pid = i32::try_from(child.id()).unwrap();
        let trace = Trace::below(own, pid).unwrap();
        assert_eq!(Trace::below(trace, own.pid), None);
        assert_eq!(Trace::below(own, own.pid), None);
        assert_eq!(Trace::below(own, 1), None);
        assert_eq!(system::living(&[], &[trace]).len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!trace.lives());
    }
}
