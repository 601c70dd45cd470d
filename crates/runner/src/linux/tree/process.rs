//! One process, told apart by when it began from a later one with the same number.

use std::fs::File;
use std::io::Read as _;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// The deepest process whose ancestors are all found.
const MOST_ANCESTORS: usize = 10_000;

/// A process of this machine. Numbers are used again; a number and a start time are not, until the next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: Pid,
    /// When it began, in ticks since boot.
    pub(crate) start_time: u64,
}

impl Process {
    /// The process that has this number now.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        Some(Self { pid, start_time: start_time(pid)? })
    }

    /// Whether it runs, sleeps or is stopped. A zombie has ended.
    pub(crate) fn lives(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.ended)
    }

    /// Signals it, and never a later process of the same number: for that there is `SRCH`.
    pub(crate) fn signal(self, signal: Signal) -> Result<(), Errno> {
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(held) => {
                // The descriptor is for whoever has the number; once that is the one we mean, it stays the one.
                self.check()?;
                pidfd_send_signal(held, signal)
            }
            Err(Errno::SRCH) => Err(Errno::SRCH),
            // An old kernel, a filter, or no descriptor left. What remains of the race is a few microseconds.
            Err(_) => {
                self.check()?;
                kill_process(self.pid, signal)
            }
        }
    }

    fn check(self) -> Result<(), Errno> {
        if start_time(self.pid) == Some(self.start_time) { Ok(()) } else { Err(Errno::SRCH) }
    }
}

/// When the process of that number began, in ticks since boot.
pub(crate) fn start_time(pid: Pid) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.start_time)
}

/// Whoever a process is below: its parent, that one's, and so on, as far as can be seen from here.
pub(crate) fn ancestors(pid: Pid) -> Vec<Pid> {
    let parent = |pid: &Pid| Stat::of(*pid).and_then(|stat| Pid::from_raw(stat.parent));
    // Bounded, as numbers that change hands while we look could lead in a circle.
    std::iter::successors(parent(&pid), parent).take(MOST_ANCESTORS).collect()
}

/// The name of this boot: start times of another one mean nothing.
pub(crate) fn boot_id() -> Option<String> {
    let text = String::from_utf8(read("/proc/sys/kernel/random/boot_id", 100)?).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// What `/proc/PID/stat` says, as far as we want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::linux) struct Stat {
    /// Its parent; 0 for none that can be seen from here.
    pub(in crate::linux) parent: i32,
    /// How many threads it has.
    pub(in crate::linux) threads: u32,
    /// When it began.
    pub(in crate::linux) start_time: u64,
    /// Whether its first thread has ended, after which files about the process say nothing about its memory.
    pub(in crate::linux) headless: bool,
    /// Whether all of it has ended and only its status is left.
    pub(in crate::linux) ended: bool,
}

impl Stat {
    pub(in crate::linux) fn of(pid: Pid) -> Option<Self> {
        Self::parse(&read(&format!("/proc/{pid}/stat"), 4096)?)
    }

    /// The name in the second field may hold anything, brackets and line ends too; what follows it may not.
    fn parse(line: &[u8]) -> Option<Self> {
        let name_ends = line.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(line.get(name_ends + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads = fields.nth(15)?.parse().ok()?;
        let start_time = fields.nth(1)?.parse().ok()?;
        // A first thread can end before the others; the process is a zombie only when no other is left.
        let headless = state.starts_with(['Z', 'X', 'x']);
        Some(Self { parent, threads, start_time, headless, ended: headless && threads <= 1 })
    }
}

/// The beginning of a file, at most `limit` bytes of it; nothing if it is not there or went away.
pub(in crate::linux) fn read(path: &str, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(512);
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::alone::{shell, until};

    #[test]
    fn a_name_full_of_brackets_does_not_confuse() {
        let line =
            b"7 (a) Z 1 (b\n) S 42 7 7 0 -1 4 1 0 0 0 5 6 0 0 20 0 3 0 918273 1000 2 18446744073709551615 1";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.threads, stat.start_time, stat.ended), (42, 3, 918_273, false));
        for end in 0..line.len() - 40 {
            assert_eq!(Stat::parse(line.get(..end).unwrap()), None);
        }
    }

    #[test]
    fn a_zombie_is_known_but_does_not_live_and_a_reaped_process_is_gone() {
        let mut child = shell("exit 0", &[]);
        let process = Process::of(Pid::from_child(&child)).unwrap();
        until("the child has ended", || !process.lives());
        assert_eq!(start_time(process.pid), Some(process.start_time));
        child.wait().unwrap();
        assert_eq!(process.signal(Signal::KILL), Err(Errno::SRCH));
    }

    #[test]
    fn a_process_that_began_at_another_time_is_not_signalled() {
        let mut child = shell("exec sleep 60", &[]);
        let process = Process::of(Pid::from_child(&child)).unwrap();
        let earlier = Process { start_time: process.start_time - 1, ..process };
        assert_eq!(earlier.signal(Signal::KILL), Err(Errno::SRCH));
        assert!(process.lives() && !earlier.lives());
        process.signal(Signal::KILL).unwrap();
        until("the child has ended", || !process.lives());
        child.wait().unwrap();
    }

    #[test]
    fn the_boot_has_a_name_and_keeps_it() {
        let name = boot_id().unwrap();
        assert!(name.len() >= 32, "{name}");
        assert_eq!(boot_id(), Some(name));
    }
}
