//! Starts a program in the sandbox: in namespaces of its own, or, where there are none to be had, behind a fence only.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::process::{Pid, getpid};

use crate::channel::{Channel, wait_for};
use crate::control::{Assignment, Refusal, Word};
use crate::linux::cgroup::Cgroup;
use crate::linux::fence::{self, Fence, Gaps};
use crate::linux::identity::{self, Identity};
use crate::linux::inside::{Go, Inside};
use crate::linux::landlock::Ports;
use crate::linux::limits::Local;
use crate::linux::monitor::{Root, Started, Watched, die_with};
use crate::linux::scratch::Scratch;
use crate::linux::sources::{self, Source, Sources, Use};
use crate::linux::watch::{Limits, Watch};
use crate::linux::{Streams, assess, door, hidden, program, shift, sys, view};
use crate::order::{Network, Sandbox};
use crate::report::Promise;

const MEGABYTE: u64 = 1024 * 1024;

/// Why there are no namespaces, or why nothing was started at all.
enum Failed {
    /// There are none; the streams are still there for another attempt.
    Namespaces(String, Streams),
    Order(Refusal),
}

/// Starts it, tells the host, and hands it over to be watched.
pub(super) fn start(
    host: &Channel,
    assignment: &Assignment,
    sandbox: &Sandbox,
    streams: Streams,
) -> Result<Started, Refusal> {
    let mut sources = sources::of(&assignment.order, sandbox)?;
    shift::prepare(&mut sources);
    match in_namespaces(host, assignment, sandbox, &sources, streams) {
        Ok(started) => Ok(started),
        Err(Failed::Order(refusal)) => Err(refusal),
        Err(Failed::Namespaces(why, streams)) => {
            behind_fence(host, assignment, sandbox, &sources, streams, &why)
        }
    }
}

fn in_namespaces(
    host: &Channel,
    assignment: &Assignment,
    sandbox: &Sandbox,
    sources: &Sources,
    streams: Streams,
) -> Result<Started, Failed> {
    let cloned = Channel::pair().and_then(|pair| Ok((pair, sys::clone(namespaces(sandbox.network))?)));
    let (mut ours, first) = match cloned {
        Err(error) => {
            return Err(match unavailable(&error) {
                Some(why) => Failed::Namespaces(why.to_owned(), streams),
                None => Failed::Order(setup(error)),
            });
        }
        Ok(((ours, theirs), None)) => {
            drop(ours);
            Inside { launcher: theirs, assignment, sandbox, sources, streams: Some(streams) }.live()
        }
        Ok(((ours, _), Some(pid))) => (ours, pid),
    };
    let first = match Watched::new(first) {
        Ok(first) => first,
        Err(error) => return Err(Failed::Order(setup(error))),
    };
    let mut cgroup = None;
    let ready = match identity::map(first.pid()) {
        Err(error) => {
            let why = format!("users could not be mapped: {error}");
            Ok(Some(Word::Refused(Refusal::Namespaces(why))))
        }
        Ok(identity) => {
            cgroup = counted(assignment, sandbox, &first);
            release(&ours, identity, cgroup.as_ref()).and_then(|()| first_word(host, &mut ours))
        }
    };
    match ready {
        Ok(Some(Word::Ready { pid: _, report, door, proxy })) => {
            let listeners: Vec<_> = std::iter::from_fn(|| ours.descriptor()).collect();
            let listeners: Vec<_> = listeners.iter().map(std::os::fd::AsFd::as_fd).collect();
            let pid = first.pid().as_raw_nonzero().get();
            let counted = cgroup.as_ref().is_some_and(|cgroup| cgroup.means(Promise::Memory).is_some());
            let watch = Some(Watch::new(first.pid(), limits(sandbox, counted, None)));
            // A host that is gone is noticed when it is listened to.
            host.say(&Word::Ready { pid, report, door, proxy }, &listeners).ok();
            Ok(Started { root: Root::First(first, ours), watch, cgroup, scratch: None })
        }
        other => {
            first.kill();
            first.wait();
            drop(cgroup);
            Err(match other {
                Ok(Some(Word::Refused(Refusal::Namespaces(why)))) => Failed::Namespaces(why, streams),
                Ok(Some(Word::Refused(refusal))) => Failed::Order(refusal),
                // Not a reason to do with less: a host that has them must not be talked out of them.
                Ok(_) => {
                    Failed::Order(Refusal::Setup("the first process of its sandbox ended at once".to_owned()))
                }
                Err(error) => Failed::Order(Refusal::Setup(error.to_string())),
            })
        }
    }
}

/// Why the kernel gives no namespaces, in words that lead somewhere. Nothing for what passes: a host that has them must not be
/// talked out of them by whoever uses up its processes.
fn unavailable(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::ENOSPC => Some("user.max_user_namespaces or one of its kind is used up or 0"),
        libc::EPERM | libc::EACCES => Some("this system does not permit them"),
        libc::EINVAL | libc::ENOSYS => Some("this kernel has none"),
        _ => None,
    }
}

/// Tells it who it will be and what sees to its limits, and lets it go.
fn release(hears: &Channel, identity: Identity, cgroup: Option<&Cgroup>) -> io::Result<()> {
    let means = |promise| cgroup.and_then(|cgroup| cgroup.means(promise));
    let mut processes = vec!["watchdog"];
    processes.extend(identity.is_counted().then_some("limit on processes"));
    processes.extend(means(Promise::Processes));
    let report = assess::counted(means(Promise::Memory), &processes);
    hears.say(&Go { identity, report }, &[])
}

/// What it says first. A host that goes meanwhile need not be waited for: what is looked at may be a file server that is dead.
fn first_word(host: &Channel, first: &mut Channel) -> io::Result<Option<Word>> {
    loop {
        if let Some(word) = first.heard()? {
            return Ok(Some(word));
        }
        let [gone, said] = wait_for([host.as_fd(), first.as_fd()], None)?;
        if gone {
            return Err(io::Error::other("the host is gone"));
        }
        if said && first.receive()? == 0 {
            return Ok(None);
        }
    }
}

/// The namespaces a program gets.
fn namespaces(network: Network) -> libc::c_int {
    let own = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if network == Network::Full { own } else { own | libc::CLONE_NEWNET }
}

/// A group in which a process and all it will start are counted, where there can be one.
fn counted(assignment: &Assignment, sandbox: &Sandbox, first: &Watched) -> Option<Cgroup> {
    // What is in the scratch directory is memory as well, and has its own limit.
    let memory = sandbox.memory_mb.saturating_add(sandbox.disk_mb).saturating_mul(MEGABYTE);
    let mut cgroup = Cgroup::make(&assignment.run, memory, sandbox.pids.saturating_add(1)).ok()?;
    cgroup.admit(first.pid()).ok()?;
    Some(cgroup)
}

fn limits(sandbox: &Sandbox, counted: bool, scratch: Option<PathBuf>) -> Limits {
    let disk = sandbox.disk_mb.saturating_mul(MEGABYTE);
    Limits {
        memory: sandbox.memory_mb.saturating_mul(MEGABYTE),
        counted,
        pids: sandbox.pids,
        scratch: scratch.map(|path| (path, disk)),
    }
}

/// Starts the program beside us, with everything on it that needs no namespace.
fn behind_fence(
    host: &Channel,
    assignment: &Assignment,
    sandbox: &Sandbox,
    sources: &Sources,
    streams: Streams,
    why: &str,
) -> Result<Started, Refusal> {
    let Assignment { run, order } = assignment;
    hidden::needs_no_cover(sources)?;
    sources.overlap_nowhere(|_| false)?;
    let identity = Identity::attainable();
    let ways = door::shared(sandbox).map_err(setup)?;
    let report = assess::shared(sandbox, identity, &ways.ports, why);
    if sandbox.required && !report.is_whole() {
        return Err(Refusal::Required(report));
    }
    let scratch = Scratch::make(&sandbox.scratch, run, identity.ids()).map_err(Refusal::Setup)?;
    // What was named is fenced by what it is: a path could lead elsewhere by now.
    let (lent, shown) = (held(sources, Use::Write)?, held(sources, Use::Named)?);
    let mut write = sources.paths(&[Use::Device]);
    write.push(scratch.path().to_owned());
    write.extend(lent.iter().map(by_descriptor));
    let mut read = sources.paths(&[Use::System]);
    read.push("/proc".into());
    read.extend(shown.iter().map(by_descriptor));
    let connect = if sandbox.network == Network::Full { Ports::All } else { Ports::Only(ways.ports.clone()) };
    let bind = sandbox.network == Network::Full;
    let local = Local { processes: None, file: Some(sandbox.disk_mb.saturating_mul(MEGABYTE)) };
    let gaps = Gaps { read, write, connect, bind, unix_sockets: fence::strength().sockets, local };
    let mut fence = Fence::new(sandbox, gaps).map_err(setup)?;
    let mut decided = ways.environment.clone();
    for name in ["HOME", "TMPDIR"] {
        decided.push((name.to_owned(), scratch.path().display().to_string()));
    }
    let environment = program::environment(order, run, decided);
    let mut command = program::command(order, &environment, scratch.path(), streams);
    let launcher = getpid();
    sys::before_exec(&mut command, move || {
        std::fs::write("/proc/self/oom_score_adj", "500").ok();
        identity::assume(identity)?;
        die_with(launcher)?;
        fence.put_on()
    });
    let pid: Pid = match program::spawn(command, scratch.path()) {
        Ok(pid) => pid,
        Err(refusal) => {
            // The reason why nothing was started says more than why a directory stays.
            scratch.remove().ok();
            return Err(refusal);
        }
    };
    let ready = Word::Ready {
        pid: pid.as_raw_nonzero().get(),
        report,
        door: ways.door.is_some(),
        proxy: ways.proxy.is_some(),
    };
    let program = Watched::new(pid).map_err(setup)?;
    host.say(&ready, &ways.listeners()).ok();
    let watch = Some(Watch::new(launcher, limits(sandbox, false, Some(scratch.path().to_owned()))));
    Ok(Started { root: Root::Program(program), watch, cgroup: None, scratch: Some(scratch) })
}

/// The very files and directories that were named for this use.
fn held(sources: &Sources, purpose: Use) -> Result<Vec<OwnedFd>, Refusal> {
    let named = sources.all.iter().filter(|source| source.purpose == purpose);
    let open = |source: &Source| {
        view::found(source)
            .map_err(|error| Refusal::Path { path: source.at.clone(), reason: sources::told(&error) })
    };
    named.map(open).collect()
}

/// A path that leads to what this descriptor does, in this process.
fn by_descriptor(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` passes")]
fn setup(error: io::Error) -> Refusal {
    Refusal::Setup(error.to_string())
}
