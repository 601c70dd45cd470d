//! A control group for one run, where the host lets us make one: the kernel itself then bounds and ends the tree.
//!
//! A group is made below our own one, and nobody is moved but the process that is let in. Hosts differ in what they
//! allow, so what cannot be had is left out and said: a group without a memory limit is still one that can be killed as a
//! whole. The name of a group says who made it, so that a later daemon can [`sweep`] what a crash left behind.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};

use super::tree::Process;
use crate::ending::Limit;
use crate::report::Promise;

mod group;
mod place;

use group::Group;
use place::{Place, Version};

/// How the names of all our groups begin.
const PREFIX: &str = "covenant-run-";

/// How long to wait for the processes of a group to end before it is left to the next sweep.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the kernel offers a group for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Pids,
}

impl Controller {
    const ALL: [Self; 2] = [Self::Memory, Self::Pids];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
        }
    }
}

/// The group of one run: a directory in each hierarchy that has something to offer. It goes when this does.
#[derive(Debug)]
pub(crate) struct Cgroup {
    groups: Vec<Group>,
    missing: Vec<String>,
}

impl Cgroup {
    /// Makes a group for that run, with what can be had of these limits. Fails if that is nothing at all, with the reason.
    pub(crate) fn make(run: &str, memory_bytes: u64, pids: u32) -> Result<Self, String> {
        let own = Process::of(getpid()).ok_or("this process is not to be found in /proc")?;
        let name = name(own, run).ok_or("the pid namespace of this process is not to be found in /proc")?;
        let (places, mut missing) = place::places();
        let mut groups = Vec::new();
        for Place { directory, version, controllers } in places {
            match Group::make(directory.join(&name), version, &controllers, memory_bytes, pids) {
                Ok(group) => groups.push(group),
                Err(reason) => missing.push(reason),
            }
        }
        if groups.is_empty() { Err(missing.join("; ")) } else { Ok(Self { groups, missing }) }
    }

    /// Lets a process in. What it starts from now on is in too.
    pub(crate) fn admit(&mut self, pid: Pid) -> Result<(), String> {
        let (groups, missing) = (&mut self.groups, &mut self.missing);
        groups.retain(|group| match group.admit(pid) {
            Ok(()) => true,
            Err(reason) => {
                missing.push(reason);
                group.remove(Instant::now()).ok();
                false
            }
        });
        if groups.is_empty() { Err(missing.join("; ")) } else { Ok(()) }
    }

    /// Whether memory is bounded.
    #[cfg(test)]
    pub(crate) fn has_memory(&self) -> bool {
        self.having(Controller::Memory).is_some()
    }

    /// Whether the number of tasks is bounded.
    #[cfg(test)]
    pub(crate) fn has_pids(&self) -> bool {
        self.having(Controller::Pids).is_some()
    }

    /// By which means it helps to keep a promise.
    pub(crate) fn means(&self, promise: Promise) -> Option<&'static str> {
        match (promise, self.having(Controller::Memory), self.having(Controller::Pids)) {
            (Promise::Memory, Some(Version::One), _) => Some("memory cgroup (v1)"),
            (Promise::Memory, Some(Version::Two), _) => Some("memory cgroup (v2)"),
            (Promise::Processes, _, Some(Version::One)) => Some("pids cgroup (v1)"),
            (Promise::Processes, _, Some(Version::Two)) => Some("pids cgroup (v2)"),
            (Promise::Lifetime, ..) => self.groups.iter().any(Group::ends_at_once).then_some("cgroup kill"),
            _ => None,
        }
    }

    /// What this host does not let us have, and why.
    #[cfg(test)]
    pub(crate) fn missing(&self) -> String {
        self.missing.join("; ")
    }

    fn having(&self, controller: Controller) -> Option<Version> {
        self.groups.iter().find(|group| group.has(controller)).map(Group::version)
    }

    /// The limit because of which the kernel ended a process. To reach the limit of tasks ends nothing: no more can be
    /// started, that is all.
    pub(crate) fn over(&self) -> Option<Limit> {
        self.groups.iter().any(Group::is_out_of_memory).then_some(Limit::Memory)
    }

    /// The most memory the group had, in KiB, cached pages of files included; 0 where nobody counts.
    #[cfg(test)]
    pub(crate) fn peak_kb(&self) -> u64 {
        self.groups.iter().filter_map(Group::peak).max().unwrap_or_default() / 1024
    }

    /// Kills every process in it; they may need a moment to go.
    pub(crate) fn kill(&self) {
        // One that kills as a whole leaves nothing to the others.
        let at_once = self.groups.iter().any(Group::kill_at_once);
        if !at_once {
            self.groups.iter().for_each(Group::kill_each);
        }
    }

    /// Kills what is left in it, and removes it. After that nobody knows what it used.
    #[cfg(test)]
    pub(crate) fn remove(mut self) -> Result<(), String> {
        self.clear()
    }

    fn clear(&mut self) -> Result<(), String> {
        self.kill();
        let deadline = Instant::now() + PATIENCE;
        let left: Vec<String> =
            self.groups.drain(..).filter_map(|group| group.remove(deadline).err()).collect();
        if left.is_empty() { Ok(()) } else { Err(left.join("; ")) }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What stays is swept by the next daemon.
        self.clear().ok();
    }
}

/// Ends and removes the groups whose launcher is gone; says how many there were.
pub(crate) fn sweep() -> usize {
    let mut swept = 0;
    let deadline = Instant::now() + PATIENCE;
    for Place { directory, version, .. } in place::places().0 {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.map_while(Result::ok) {
            let maker = entry.file_name().to_str().and_then(maker);
            if maker.is_some_and(|launcher| !launcher.lives()) {
                let group = Group::found(entry.path(), version);
                // A daemon that was started inside a run would end itself.
                if group.holds(getpid()) {
                    continue;
                }
                if !group.kill_at_once() {
                    group.kill_each();
                }
                swept += usize::from(group.remove(deadline).is_ok());
            }
        }
    }
    swept
}

/// The name of a group: the pid namespace, number and start time of its maker, and the run.
fn name(maker: Process, run: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let run: String = run.chars().take(100).map(plain).collect();
    Some(format!("{PREFIX}{}-{}-{}-{run}", namespace()?, maker.pid, maker.start_time))
}

/// Who made the group of that name, if we can tell: in another pid namespace, the number means somebody else.
fn maker(name: &str) -> Option<Process> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    if parts.next()?.parse::<u64>().ok()? != namespace()? {
        return None;
    }
    let pid = Pid::from_raw(parts.next()?.parse().ok()?)?;
    Some(Process { pid, start_time: parts.next()?.parse().ok()? })
}

fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino())
}

#[cfg(test)]
mod tests;
