//! Puts everyone who takes part in a round trip on one processor while latencies are compared.
//!
//! A processor that has nothing to do sleeps, and a virtual one takes tens of microseconds to wake: more than anything
//! that is compared here. On one processor nobody is ever woken from sleep, and what is left is the work itself.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Who was moved, and where they may be again.
pub struct OneCore(Vec<(Option<Pid>, CpuSet)>);

impl OneCore {
    /// Moves every thread of this process and of that one; what follows behind the calls goes on elsewhere.
    pub fn new(pid: u32) -> Self {
        let mut first = CpuSet::new();
        first.set(0);
        let mut moved = Vec::new();
        for thread in threads(std::process::id()).chain(threads(pid)) {
            if let Ok(before) = sched_getaffinity(Some(thread))
                && sched_setaffinity(Some(thread), &first).is_ok()
            {
                moved.push((Some(thread), before));
            }
        }
        Self(moved)
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        for (thread, before) in &self.0 {
            let _ = sched_setaffinity(*thread, before);
        }
    }
}

fn threads(pid: u32) -> impl Iterator<Item = Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let calls = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| !name.starts_with("store"))
    };
    let number = |task: std::fs::DirEntry| task.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
    tasks.filter(calls).filter_map(number)
}
