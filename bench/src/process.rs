//! What the system says about a process: its memory, its processor time, and which others of the same program it started.

use std::path::PathBuf;
use std::time::Duration;

/// How long a process may go on working before nobody waits for it any more, in seconds.
const LONGEST: u32 = 900;

/// Its resident memory, in MiB.
///
/// # Panics
/// If there is no such process.
pub fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kilobytes: f64 = kilobytes.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes / 1024.0
}

/// Its resident memory once it has come to rest: whatever follows behind the calls, such as the index of the log, is
/// done.
///
/// # Panics
/// If there is no such process, or it never rests.
pub fn at_rest(pid: u32) -> f64 {
    for _ in 0..LONGEST {
        let before = ticks(pid);
        std::thread::sleep(Duration::from_secs(1));
        if ticks(pid) <= before + 2 {
            return resident(pid);
        }
    }
    unreachable!("process {pid} was still busy after {LONGEST} s")
}

/// The process, and those among its descendants that run the same program: a daemon and its launchers.
///
/// # Panics
/// If there is no such process.
pub fn family(pid: u32) -> Vec<u32> {
    let program = |pid: u32| -> Option<PathBuf> { std::fs::read_link(format!("/proc/{pid}/exe")).ok() };
    let own = program(pid).expect("its program");
    with_descendants(pid).into_iter().filter(|pid| program(*pid).as_ref() == Some(&own)).collect()
}

/// The process, and everything that it and those it started have started and not yet ended.
pub fn with_descendants(pid: u32) -> Vec<u32> {
    let (mut found, mut wanted) = (Vec::new(), vec![pid]);
    while let Some(pid) = wanted.pop() {
        found.push(pid);
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            wanted.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    found
}

/// How many descriptors it has open.
///
/// # Panics
/// If there is no such process.
pub fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
}

/// Processor time that all of these have used, in seconds.
///
/// # Panics
/// If one of them is gone.
pub fn worked(pids: &[u32]) -> f64 {
    let ticks: u64 = pids.iter().map(|pid| ticks(*pid)).sum();
    f64::from(u32::try_from(ticks).expect("less than a year")) / 100.0
}

/// Processor time it has used, in hundredths of a second.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its times");
    // The second field is a name in parentheses, and may hold anything; times are the 14th and 15th.
    let (_, after_name) = stat.rsplit_once(')').expect("a name");
    let times = after_name.split_whitespace().skip(11).take(2);
    times.map(|time| time.parse::<u64>().expect("a number")).sum()
}
