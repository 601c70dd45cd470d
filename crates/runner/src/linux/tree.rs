//! Which processes belong to a run: those below one process, and those that carry its mark.
//!
//! What [`descendants`] promises. Everything it returns was below the root while it looked; a foreign process that got
//! a number of ours is told apart. A process that neither began nor lost its parent meanwhile is found. One that did
//! may be missed: the kernel shows no picture of a moment. If the root is a subreaper (or the first of a pid
//! namespace), such a process is still below it and the next look finds it; so whoever needs all of them looks until
//! there is nothing new, and [`end::end_all`] believes only the kernel's word that no child is left.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::Pid;

pub(crate) mod end;
pub(crate) mod mark;
pub(crate) mod process;
pub(crate) mod spared;

pub(crate) use process::Process;
pub(super) use process::{Stat, read};

/// The most processes one look takes in: far more than any run may have.
const MOST: usize = 100_000;

/// The longest list of children that is read, in bytes.
const CHILDREN_LIMIT: u64 = 1024 * 1024;

/// Every process below `root`, at all levels, zombies too.
pub(crate) fn descendants(root: Pid) -> Vec<Process> {
    let mut found = Vec::new();
    walk(root, |process, _| {
        found.push(process);
        true
    });
    found
}

/// Shows every process below `root` to `visit` as soon as it is seen, which says whether to go on below that one.
pub(super) fn walk(root: Pid, visit: impl FnMut(Process, &Stat) -> bool) {
    if lists_children() { by_children(root, visit) } else { by_parents(root, visit) }
}

/// Whether this kernel lists the children of a thread.
fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| Path::new("/proc/thread-self/children").exists())
}

/// Downwards, at a cost that grows with the tree and not with the machine.
fn by_children(root: Pid, mut visit: impl FnMut(Process, &Stat) -> bool) {
    let mut known = HashSet::from([root.as_raw_pid()]);
    let mut waiting = children(root, &threads(root));
    while let Some(pid) = waiting.pop() {
        let Some(stat) = Stat::of(pid).filter(|_| known.len() < MOST) else { continue };
        // Its parent must be one of ours: else the number went to a stranger, or the process to a parent yet unseen.
        if !known.contains(&stat.parent) || !known.insert(pid.as_raw_pid()) {
            continue;
        }
        if !visit(Process { pid, start_time: stat.start_time }, &stat) {
            continue;
        }
        // The newest child comes last in the list and first out of it: one that runs away by forking has least time.
        waiting.extend(children(pid, &if stat.threads > 1 { threads(pid) } else { vec![pid] }));
    }
}

/// The threads of a process.
pub(super) fn threads(pid: Pid) -> Vec<Pid> {
    numbers(Path::new(&format!("/proc/{pid}/task")))
}

/// The children of these threads of a process.
fn children(pid: Pid, threads: &[Pid]) -> Vec<Pid> {
    let mut found = Vec::new();
    for thread in threads {
        let list = read(&format!("/proc/{pid}/task/{thread}/children"), CHILDREN_LIMIT).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        found.extend(list.split_ascii_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)));
    }
    found
}

/// From one look at every process of the machine, for kernels that list no children.
fn by_parents(root: Pid, mut visit: impl FnMut(Process, &Stat) -> bool) {
    let mut families: HashMap<i32, Vec<(Pid, Stat)>> = HashMap::new();
    for pid in everyone() {
        if let Some(stat) = Stat::of(pid) {
            families.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut waiting = families.remove(&root.as_raw_pid()).unwrap_or_default();
    while let Some((pid, stat)) = waiting.pop() {
        // Removed as it is taken, so that numbers which changed hands between two lines cannot send us in a circle.
        let family = families.remove(&pid.as_raw_pid()).unwrap_or_default();
        if visit(Process { pid, start_time: stat.start_time }, &stat) {
            waiting.extend(family);
        }
    }
}

/// Every process of the machine that can be seen.
fn everyone() -> Vec<Pid> {
    numbers(Path::new("/proc"))
}

/// The entries of a directory that are numbers.
fn numbers(directory: &Path) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.map_while(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Pid::from_raw(name.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;
    use crate::linux::alone::{shell, until};

    fn pids(found: &[Process]) -> HashSet<i32> {
        found.iter().map(|process| process.pid.as_raw_pid()).collect()
    }

    #[test]
    fn both_ways_to_look_find_children_and_grandchildren_and_nobody_else() {
        let mut other = shell("exec sleep 60", &[]);
        let mut child = shell("(sleep 60 & echo $!; wait) & echo $!; wait", &[]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut expected: HashSet<i32> =
            (0..2).map(|_| lines.next().unwrap().unwrap().parse().unwrap()).collect();
        let root = Pid::from_child(&child);
        let (mut down, mut up) = (Vec::new(), Vec::new());
        let top = |found: &mut Vec<Process>, process, all: bool| {
            found.push(process);
            all
        };
        by_children(root, |process, _| top(&mut down, process, false));
        by_parents(root, |process, _| top(&mut up, process, false));
        assert_eq!((down.len(), up.len()), (1, 1), "not below what is passed over");
        (down, up) = (Vec::new(), Vec::new());
        by_children(root, |process, _| top(&mut down, process, true));
        by_parents(root, |process, _| top(&mut up, process, true));
        assert_eq!((pids(&down), pids(&up)), (expected.clone(), expected.clone()));

        expected.insert(root.as_raw_pid());
        let ours = pids(&descendants(rustix::process::getpid()));
        assert!(expected.is_subset(&ours), "{expected:?} in {ours:?}");
        for process in down {
            process.signal(rustix::process::Signal::KILL).ok();
        }
        child.wait().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn children_of_every_thread_are_found() {
        let (mut child, pid) = std::thread::spawn(|| {
            let child = shell("exec sleep 60", &[]);
            let pid = Pid::from_child(&child);
            let found = descendants(rustix::process::getpid());
            assert!(found.iter().any(|process| process.pid == pid));
            (child, pid)
        })
        .join()
        .unwrap();
        until("the child of a thread that ended is found", || {
            descendants(rustix::process::getpid()).iter().any(|process| process.pid == pid)
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
