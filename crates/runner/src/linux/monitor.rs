//! The process that stays: watches a program from outside, passes on what the host wishes, and ends all of it.
//!
//! It ends everything when the program has ended, when the host says so or is gone, and when a limit is passed; and it comes
//! back only when nothing is left. It holds none of the program's streams, so that both ends see what the other closes.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal,
};

use crate::channel::{Channel, wait_for};
use crate::control::{Assignment, Refusal, Wish, Word};
use crate::ending::{Ending, Limit, Status};
use crate::linux::cgroup::Cgroup;
use crate::linux::scratch::Scratch;
use crate::linux::watch::Watch;
use crate::linux::{Streams, confined, program, sys, tree};
use crate::report::{Promise, Report};

/// How often somebody looks for orphans that have ended, where nothing else makes one look.
const ROUND: Duration = Duration::from_secs(5);

/// When a program is taken for one that goes on.
const SETTLED: Duration = Duration::from_secs(1);

/// How long to wait between two looks where a cgroup bounds memory as well.
const RELAXED: Duration = Duration::from_millis(250);

/// How long one goes on ending what comes back.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that runs, with all that watches it.
pub(super) struct Started {
    /// What it is.
    pub(super) root: Root,
    /// Who looks at what it takes.
    pub(super) watch: Option<Watch>,
    /// Where it is counted.
    pub(super) cgroup: Option<Cgroup>,
    /// Where it writes, if that is a directory of the host.
    pub(super) scratch: Option<Scratch>,
}

/// The process that stands for the run.
pub(super) enum Root {
    /// The program itself, our child; what loses its parent becomes our child as well.
    Program(Watched),
    /// The first process of the program's namespaces, and how it talks to us.
    First(Watched, Channel),
}

/// A child of ours.
pub(super) struct Watched {
    pid: Pid,
    handle: OwnedFd,
}

impl Watched {
    /// A child that has not been waited for.
    pub(super) fn new(pid: Pid) -> io::Result<Self> {
        Ok(Self { pid, handle: pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Its id.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        // It may have ended already.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }

    /// Its status, once it has ended.
    pub(super) fn wait(&self) -> Status {
        loop {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::empty()) {
                Err(Errno::INTR) | Ok(None) => {}
                Ok(Some((_, status))) => return program::status(status),
                Err(_) => return Status::Unknown,
            }
        }
    }
}

/// Starts what the host wants, watches it, and comes back when nothing is left.
pub(super) fn run(mut host: Channel, assignment: &Assignment, streams: Streams) -> io::Result<()> {
    let started = match &assignment.order.sandbox {
        None => plain(&host, assignment, streams),
        Some(sandbox) => confined::start(&host, assignment, sandbox, streams),
    };
    match started {
        Ok(started) => {
            let ending = started.attend(&mut host)?;
            // A host that is gone need not hear it.
            host.say(&Word::Ended(ending), &[]).ok();
        }
        Err(refusal) => host.say(&Word::Refused(refusal), &[])?,
    }
    Ok(())
}

/// A program with all rights of whoever runs the daemon.
fn plain(host: &Channel, assignment: &Assignment, streams: Streams) -> Result<Started, Refusal> {
    let Assignment { run, order } = assignment;
    let environment = program::environment(order, run, Vec::new());
    let mut command = program::command(order, &environment, &order.directory, streams);
    let launcher = getpid();
    sys::before_exec(&mut command, move || die_with(launcher));
    let pid = program::spawn(command, &order.directory)?;
    let mut report = Report::default();
    report.keeps(Promise::Lifetime, &["subreaper", "parent-death signal"]);
    for promise in Promise::ALL.into_iter().filter(|&promise| promise != Promise::Lifetime) {
        report.lacks(promise, "no sandbox was asked for");
    }
    let ready = Word::Ready { pid: pid.as_raw_nonzero().get(), report, door: false, proxy: false };
    let root = Root::Program(Watched::new(pid).map_err(|error| Refusal::Setup(error.to_string()))?);
    host.say(&ready, &[]).map_err(|error| Refusal::Setup(error.to_string()))?;
    Ok(Started { root, watch: None, cgroup: None, scratch: None })
}

/// Makes this process, which becomes the program, end with the launcher.
pub(super) fn die_with(launcher: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have gone before that took effect.
    if getppid() == Some(launcher) { Ok(()) } else { Err(io::Error::other("the launcher is gone")) }
}

impl Started {
    /// Watches until it is over, and ends what is left.
    fn attend(mut self, host: &mut Channel) -> io::Result<Ending> {
        let over = self.watch_over(host);
        let status = self.end();
        let over = over?.or_else(|| self.cgroup.as_ref().and_then(Cgroup::over));
        let mut usage = sys::usage_of_children();
        // Not the cgroup's: it counts cached pages of files as well.
        let seen = self.watch.as_ref().map_or(0, Watch::peak_kb);
        usage.peak_memory_kb = usage.peak_memory_kb.max(seen);
        drop(self.cgroup.take());
        if let Some(scratch) = self.scratch.take() {
            // Nobody is left to be told; the next daemon sweeps.
            scratch.remove().ok();
        }
        Ok(Ending { status, over, usage })
    }

    /// Comes back when there is a reason to end: the program has, a limit was passed, or the host wants it or is gone.
    fn watch_over(&mut self, host: &mut Channel) -> io::Result<Option<Limit>> {
        let mut round = Instant::now();
        let mut settled = false;
        loop {
            let patience = match &mut self.watch {
                None if settled => ROUND,
                None => SETTLED,
                Some(watch) => {
                    let look = watch.look();
                    // Where the kernel held the line, it ended one process, and the others would go on as if nothing were.
                    let over = look.over.or_else(|| self.cgroup.as_ref().and_then(Cgroup::over));
                    if over.is_some() {
                        return Ok(over);
                    }
                    // Where the kernel holds the line, one need not look as often.
                    let held = self.cgroup.as_ref().and_then(|cgroup| cgroup.means(Promise::Memory));
                    if held.is_some() { look.again.max(RELAXED) } else { look.again }
                }
            };
            let [wished, ended] = wait_for([host.as_fd(), self.root.end().as_fd()], Some(patience))?;
            if ended {
                return Ok(None);
            }
            if wished {
                if host.receive()? == 0 {
                    return Ok(None);
                }
                while let Some(Wish::Signal(number)) = host.heard()? {
                    self.root.signal(number);
                }
            }
            if !settled && self.watch.is_none() && round.elapsed() >= SETTLED {
                // It goes on: from here on little is done, and little should be held for it. Where a program is watched,
                // nothing may come between two looks.
                sys::give_back();
                settled = true;
            }
            if round.elapsed() >= ROUND {
                if let Root::Program(program) = &self.root {
                    reap_orphans(program.pid);
                }
                round = Instant::now();
            }
        }
    }

    /// Ends all of it, and tells how the program ended.
    fn end(&mut self) -> Status {
        match &mut self.root {
            Root::Program(root) => {
                let mut ended = Status::Unknown;
                tree::end::end_all(PATIENCE, |pid, status| {
                    if pid == root.pid {
                        ended = program::status(status);
                    }
                });
                ended
            }
            Root::First(first, channel) => {
                let said = wait_for([channel.as_fd()], Some(Duration::ZERO)).is_ok_and(|[said]| said);
                let last = if said { channel.hear::<Word>().ok().flatten() } else { None };
                first.kill();
                // The kernel lets it be waited for only when its whole namespace is empty.
                let status = first.wait();
                match last {
                    Some(Word::Ended(ending)) => ending.status,
                    _ => status,
                }
            }
        }
    }
}

impl Root {
    /// What can be read once it has ended.
    fn end(&self) -> &dyn std::os::fd::AsFd {
        match self {
            Self::Program(program) => &program.handle,
            Self::First(_, channel) => channel,
        }
    }

    /// Passes a signal on: to the program's process group, or to all that lives in its namespace.
    fn signal(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else { return };
        match self {
            // The group may be gone while others live.
            Self::Program(program) => drop(rustix::process::kill_process_group(program.pid, signal)),
            Self::First(first, _) => {
                for process in tree::descendants(first.pid) {
                    // It may have ended meanwhile.
                    process.signal(signal).ok();
                }
            }
        }
    }
}

/// Waits for what lost its parent, became our child, and has ended; not for the program, whose end is told by its handle.
fn reap_orphans(program: Pid) {
    while let Some(ended) = sys::ended_child().filter(|&ended| ended != program) {
        // Nobody else waits for our children, so it is still there to be waited for.
        rustix::process::waitpid(Some(ended), WaitOptions::NOHANG).ok();
    }
}
