//! One group: a directory whose files are its limits, its counters and its processes.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::Controller;
use super::place::Version;
use crate::linux::tree::{Process, end, read};

/// The shortest and the longest wait between two attempts to remove a group.
const SHORT: Duration = Duration::from_micros(500);
const LONG: Duration = Duration::from_millis(20);

/// The longest file of a group that is read.
const LIMIT: u64 = 1024 * 1024;

/// A group that exists.
#[derive(Debug)]
pub(super) struct Group {
    directory: PathBuf,
    version: Version,
    controllers: Vec<Controller>,
}

impl Group {
    /// Makes a group with these limits, or nothing.
    pub(super) fn make(
        directory: PathBuf,
        version: Version,
        controllers: &[Controller],
        memory_bytes: u64,
        pids: u32,
    ) -> Result<Self, String> {
        fs::create_dir(&directory)
            .map_err(|cause| format!("no cgroup could be made at {}: {cause}", directory.display()))?;
        let group = Self { directory, version, controllers: controllers.to_vec() };
        let limited = controllers.iter().try_for_each(|controller| match controller {
            Controller::Memory => group.limit_memory(memory_bytes),
            Controller::Pids => group.write("pids.max", &pids),
        });
        if limited.is_err() {
            group.remove(Instant::now()).ok();
        }
        limited.map(|()| group)
    }

    /// A group that somebody else made.
    pub(super) fn found(directory: PathBuf, version: Version) -> Self {
        Self { directory, version, controllers: Vec::new() }
    }

    /// What is swapped out counts too, as far as the kernel counts it; so nothing is gained by it.
    fn limit_memory(&self, bytes: u64) -> Result<(), String> {
        match self.version {
            Version::One => {
                self.write("memory.limit_in_bytes", &bytes)?;
                self.write("memory.memsw.limit_in_bytes", &bytes).ok();
            }
            Version::Two => {
                self.write("memory.max", &bytes)?;
                self.write("memory.swap.max", &0).ok();
                self.write("memory.oom.group", &1).ok();
            }
        }
        Ok(())
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    pub(super) fn has(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    pub(super) fn admit(&self, pid: Pid) -> Result<(), String> {
        self.write("cgroup.procs", &pid)
    }

    /// Whether the kernel ended a process because of our limit, and not for want of memory elsewhere.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let (killed, reached) = match self.version {
            Version::One => (self.count("memory.oom_control", "oom_kill"), self.was_full()),
            Version::Two => {
                (self.count("memory.events", "oom_kill"), self.count("memory.events", "oom") > Some(0))
            }
        };
        self.has(Controller::Memory) && killed > Some(0) && reached
    }

    /// Whether its memory was (all but) at the limit once. Version 1 counts failures too, but not on every kernel.
    fn was_full(&self) -> bool {
        let most = ["memory.max_usage_in_bytes", "memory.memsw.max_usage_in_bytes"];
        let most = most.iter().filter_map(|file| self.number(file)).max();
        let limit = self.number("memory.limit_in_bytes");
        most.zip(limit).is_some_and(|(most, limit)| most >= limit - limit / 16)
    }

    /// The most memory it had, in bytes.
    #[cfg(test)]
    pub(super) fn peak(&self) -> Option<u64> {
        match self.version {
            Version::One => self.number("memory.max_usage_in_bytes"),
            Version::Two => self.number("memory.peak"),
        }
    }

    /// Whether the kernel can kill it as a whole.
    pub(super) fn ends_at_once(&self) -> bool {
        self.directory.join("cgroup.kill").exists()
    }

    /// Kills all in it, whatever they do meanwhile; false where the kernel cannot.
    pub(super) fn kill_at_once(&self) -> bool {
        self.write("cgroup.kill", &1).is_ok()
    }

    /// Kills all in it one by one, stopped before so that none flees.
    pub(super) fn kill_each(&self) {
        end::strike(|signal| self.signalled(signal));
    }

    fn signalled(&self, signal: Signal) -> Vec<Process> {
        let list = self.text("cgroup.procs").unwrap_or_default();
        let pids = list.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
        let members: Vec<Process> =
            pids.filter_map(Process::of).filter(|process| self.holds(process.pid)).collect();
        for process in &members {
            process.signal(signal).ok();
        }
        members
    }

    /// Whether the process of that number is in it, and not a later one.
    pub(super) fn holds(&self, pid: Pid) -> bool {
        let groups = read(&format!("/proc/{pid}/cgroup"), LIMIT).unwrap_or_default();
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy();
        String::from_utf8_lossy(&groups).lines().any(|line| line.rsplit('/').next() == Some(&name))
    }

    /// Removes it, as soon as all its processes have ended.
    pub(super) fn remove(&self, deadline: Instant) -> Result<(), String> {
        let mut pause = SHORT;
        loop {
            match fs::remove_dir(&self.directory) {
                Ok(()) => return Ok(()),
                Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
                Err(cause) if cause.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = LONG.min(pause * 2);
                }
                Err(cause) => {
                    return Err(format!(
                        "the cgroup {} could not be removed: {cause}",
                        self.directory.display()
                    ));
                }
            }
        }
    }

    fn write(&self, file: &str, value: &dyn Display) -> Result<(), String> {
        let path = self.directory.join(file);
        // Never `create`: such a file exists or the kernel does not know it.
        let opened = File::options().write(true).open(&path);
        let written = opened.and_then(|mut opened| opened.write_all(value.to_string().as_bytes()));
        written.map_err(|cause| format!("{} could not be written: {cause}", path.display()))
    }

    fn text(&self, file: &str) -> Option<String> {
        String::from_utf8(read(self.directory.join(file).to_str()?, LIMIT)?).ok()
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.trim().parse().ok()
    }

    /// A line such as `oom_kill 2`.
    fn count(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.text(file)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(found, _)| *found == name)?.1.trim().parse().ok()
    }
}
