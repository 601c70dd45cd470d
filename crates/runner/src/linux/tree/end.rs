//! Ends processes until none is left, also such as fork faster than anyone can kill them one by one.
//!
//! They are stopped first: a stopped process forks no more, so a few looks find a tree that holds still, and then all of
//! it is killed. Whoever wakes the others meanwhile only makes us begin again; the killed stay dead.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, wait};

use super::mark::marked;
use super::spared::Spared;
use super::{Process, descendants, walk};

/// How often a tree is looked at for something new before what was found is killed.
const LOOKS: usize = 100;

/// How long to wait for one process to end before looking again.
const BREATH: Duration = Duration::from_millis(10);

/// Ends every process below this one, which must be a subreaper, and takes in the status of each child.
///
/// Returns what still lives when `patience` is over: processes that are stuck in the kernel, or that are not ours to
/// signal. Nothing returned means that nothing is left, by the kernel's own word.
pub(crate) fn end_all(patience: Duration, mut reaped: impl FnMut(Pid, WaitStatus)) -> Vec<Process> {
    let deadline = Instant::now() + patience;
    let own = getpid();
    while reap(&mut reaped) {
        let dying = strike(|signal| below(own, signal, &Spared::now()));
        if Instant::now() >= deadline {
            reap(&mut reaped);
            return descendants(own).into_iter().filter(|process| process.lives()).collect();
        }
        wait_for_one(&dying);
    }
    Vec::new()
}

/// Ends every process that carries the mark of one of these runs, and what is below it, but never whom we are to spare
/// ([`Spared`]). Returns what still lives when `patience` is over.
pub(crate) fn end_marked(runs: &[String], patience: Duration) -> Vec<Process> {
    let deadline = Instant::now() + patience;
    let signalled = |signal| {
        // Anew each time, though who comes to be above us was above us before.
        let spared = Spared::now();
        let mut seen: Vec<Process> = marked(runs).into_iter().filter(|one| !spared.has(one.pid)).collect();
        for process in seen.clone() {
            process.signal(signal).ok();
            seen.extend(below(process.pid, signal, &spared));
        }
        seen
    };
    loop {
        let dying = strike(signalled);
        if dying.is_empty() || Instant::now() >= deadline {
            return dying.into_iter().filter(|process| process.lives()).collect();
        }
        wait_for_one(&dying);
    }
}

/// Signals every process below this one as soon as it is seen, but for the spared and what is below them.
fn below(root: Pid, signal: Signal, spared: &Spared) -> Vec<Process> {
    let mut seen = Vec::new();
    walk(root, |process, _| {
        let ours = !spared.has(process.pid);
        if ours {
            process.signal(signal).ok();
            seen.push(process);
        }
        ours
    });
    seen
}

/// Stops what there is until there is nothing new, then kills it. `signalled` looks, signals and says whom.
pub(in crate::linux) fn strike(mut signalled: impl FnMut(Signal) -> Vec<Process>) -> Vec<Process> {
    let mut held: HashSet<Process> = HashSet::new();
    for _ in 0..LOOKS {
        let before = held.len();
        held.extend(signalled(Signal::STOP));
        if held.len() == before {
            break;
        }
    }
    // Also those that are seen no longer, such as one that shed its mark meanwhile: it was stopped, and must not stay so.
    for process in &held {
        process.signal(Signal::KILL).ok();
    }
    held.extend(signalled(Signal::KILL));
    held.into_iter().collect()
}

/// Takes in every child that has ended; whether any other is left.
fn reap(reaped: &mut impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => reaped(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Waits until one of those that live has ended, or for a breath.
fn wait_for_one(dying: &[Process]) {
    let Some(process) = dying.iter().find(|process| process.lives()) else { return };
    let breath = Timespec::try_from(BREATH).unwrap_or_default();
    match pidfd_open(process.pid, PidfdFlags::empty()) {
        Ok(held) => {
            // However that ends, the caller looks again.
            poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&breath)).ok();
        }
        Err(Errno::SRCH) => {}
        Err(_) => std::thread::sleep(BREATH),
    }
}

#[cfg(test)]
#[expect(clippy::zombie_processes, reason = "to take in every child is what is tested")]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead as _, BufReader};

    use rustix::process::{Gid, Resource, Rlimit, Uid, getuid, setrlimit};
    use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

    use super::*;
    use crate::linux::alone::{alone, shell, until};
    use crate::linux::tree::{Stat, everyone};

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Ends everything; fails if something is left.
    fn end() -> HashMap<Pid, WaitStatus> {
        let mut statuses = HashMap::new();
        let left = end_all(PATIENCE, |pid, status| {
            statuses.insert(pid, status);
        });
        assert_eq!(left, []);
        assert_eq!(descendants(getpid()), []);
        statuses
    }

    #[test]
    fn daemons_that_ignore_everything_are_ended_and_the_child_keeps_its_status() {
        if !alone(
            "linux::tree::end::tests::daemons_that_ignore_everything_are_ended_and_the_child_keeps_its_status",
        ) {
            return;
        }
        assert!(end().is_empty());
        let daemon = "trap '' TERM HUP INT; (sleep 60) & while :; do sleep 60; done";
        let child = shell(&format!("setsid sh -c \"{daemon}\" & echo up; exit 7"), &[]);
        let pid = Pid::from_child(&child);
        until("the daemon and its children are there", || descendants(getpid()).len() >= 4);
        until("the child itself has ended", || !Process::of(pid).unwrap().lives());
        let statuses = end();
        assert_eq!(statuses.get(&pid).unwrap().exit_status(), Some(7));
    }

    #[test]
    fn processes_that_flee_by_forking_are_caught() {
        if !alone("linux::tree::end::tests::processes_that_flee_by_forking_are_caught") {
            return;
        }
        // Each forks a successor and ends: eight lines of descent that never hold still.
        let mut child = shell("hop() { hop & }; for i in 1 2 3 4 5 6 7 8; do hop & done; echo up", &[]);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let mut seen = HashSet::new();
        until("many generations have passed", || {
            seen.extend(descendants(getpid()));
            seen.len() > 50
        });
        end();
    }

    #[test]
    fn a_fork_bomb_is_ended() {
        if !alone("linux::tree::end::tests::a_fork_bomb_is_ended") {
            return;
        }
        // So that the bomb stays small. The limit counts all tasks of a user, and does not hold for root.
        let mut tasks = 0;
        if getuid().is_root() {
            let unused = 200_000 + getpid().as_raw_pid().unsigned_abs();
            let (user, group) = (Uid::from_raw(unused), Gid::from_raw(unused));
            set_thread_res_gid(group, group, group).unwrap();
            set_thread_res_uid(user, user, user).unwrap();
        } else {
            tasks = everyone().into_iter().filter_map(Stat::of).map(|stat| u64::from(stat.threads)).sum();
        }
        let most = Some(tasks + 400);
        setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most }).unwrap();
        let bomb = "trap '' TERM; b() { while :; do b & done; }; b";
        let _child = shell(&format!("setsid sh -c '{bomb}' & {bomb}"), &[]);
        until("the bomb has gone off", || descendants(getpid()).len() > 100);
        end();
    }
}
