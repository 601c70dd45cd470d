//! Which processes carry the mark of a run: the variable it was started with, inherited by what it started.
//!
//! The mark is for what no other means finds: the remains of a run whose launcher was killed. A program that wants to
//! can shed it, and a process of another user does not show its environment to us.

use std::fs::File;
use std::io::Read;

use rustix::process::Pid;

use super::{Process, Stat, everyone, threads};
use crate::control::MARK;

/// How much of an environment is read. The kernel accepts more only where the stack limit was raised.
const ENVIRONMENT_LIMIT: usize = 2 * 1024 * 1024;

/// The processes that carry the mark of one of these runs, ourselves excepted.
pub(crate) fn marked(runs: &[String]) -> Vec<Process> {
    let entries: Vec<Vec<u8>> = runs.iter().map(|run| format!("{MARK}={run}").into_bytes()).collect();
    let own = rustix::process::getpid();
    let others = everyone().into_iter().filter(|&pid| pid != own && !entries.is_empty());
    // The start time comes first: if the number changes hands meanwhile, the process returned is the one that is gone.
    let begun = others.filter_map(|pid| Some((pid, Stat::of(pid).filter(|stat| !stat.ended)?)));
    let carriers = begun.filter(|(pid, stat)| carries(*pid, *stat, &entries));
    carriers.map(|(pid, stat)| Process { pid, start_time: stat.start_time }).collect()
}

fn carries(pid: Pid, stat: Stat, entries: &[Vec<u8>]) -> bool {
    // The environment belongs to the memory, which a first thread that ended no longer has.
    let threads = if stat.headless { threads(pid) } else { vec![pid] };
    threads.iter().any(|thread| {
        File::open(format!("/proc/{pid}/task/{thread}/environ")).is_ok_and(|file| holds(file, entries))
    })
}

/// Whether one of the entries stands whole in this environment.
fn holds(mut environment: impl Read, entries: &[Vec<u8>]) -> bool {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while bytes.len() < ENVIRONMENT_LIMIT {
        match environment.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
    }
    bytes.split(|&byte| byte == 0).any(|found| entries.iter().any(|entry| entry == found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::alone::{shell, until};
    use crate::linux::tree::end::end_marked;

    #[test]
    fn an_entry_counts_only_as_a_whole() {
        let entries = [b"COVENANT_RUN=run-1".to_vec()];
        assert!(holds(&b"A=1\0COVENANT_RUN=run-1\0B=2\0"[..], &entries));
        assert!(holds(&b"COVENANT_RUN=run-1"[..], &entries));
        for other in [
            &b"COVENANT_RUN=run-10\0"[..],
            b"XCOVENANT_RUN=run-1\0",
            b"A=COVENANT_RUN=run-1\0",
            b"COVENANT_RUN=run-\0" as &[u8],
            b"",
        ] {
            assert!(!holds(other, &entries), "{}", String::from_utf8_lossy(other));
        }
        let long = [vec![b'a'; 5000], b"\0COVENANT_RUN=run-1\0".to_vec()].concat();
        assert!(holds(&long[..], &entries));
        assert!(!holds(std::io::repeat(b'a'), &entries));
    }

    #[test]
    fn a_run_without_a_launcher_is_found_by_its_mark_and_ended() {
        let run = format!("mark-{}", std::process::id());
        let other = format!("{run}-other");
        let mut spared = shell("exec sleep 60", &[(MARK, &other)]);
        // The shell ends at once; what it left has no parent of ours, in a session of its own.
        let script = "setsid sh -c 'sleep 60 & exec sleep 61' &";
        assert!(shell(script, &[(MARK, &run)]).wait().unwrap().success());
        until("both are found", || marked(std::slice::from_ref(&run)).len() == 2);
        assert_eq!(end_marked(std::slice::from_ref(&run), std::time::Duration::from_secs(20)), []);
        assert_eq!(marked(std::slice::from_ref(&run)), []);
        assert_eq!(marked(&[other, run]).len(), 1);
        spared.kill().unwrap();
        spared.wait().unwrap();
        assert_eq!(marked(&[]), []);
    }
}
