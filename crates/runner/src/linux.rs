//! The launcher on Linux: how a program is started, confined, watched and ended.
//!
//! `launch` takes the order. `monitor` is the process that stays: it watches from outside and ends everything. A sandboxed
//! program is started by `inside`, the first process of its namespaces, or, where there are none to be had, by
//! `monitor` itself. What confines it: `view` (files), `identity` (user), `door` (network), `limits`, `landlock`, `seccomp`;
//! what watches it: `watch`, `tree`, `cgroup`.

#[cfg(test)]
pub(crate) mod alone;
mod assess;
#[cfg(test)]
mod attempt;
pub(crate) mod cgroup;
mod confined;
mod door;
mod fence;
mod hidden;
mod identity;
mod inside;
mod landlock;
mod limits;
mod monitor;
mod program;
pub(crate) mod scratch;
mod seccomp;
mod shift;
mod sources;
mod sys;
mod thrift;
pub(crate) mod tree;
mod view;
mod watch;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::process::{Pid, getpid, set_child_subreaper, setsid};

pub(crate) use self::sys::give_back;
use crate::channel::Channel;
use crate::control::Assignment;

/// What a program reads from and writes to.
struct Streams {
    input: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
}

/// Takes the order from standard input and stays until all is over.
pub(crate) fn launch() -> io::Result<()> {
    sys::close_inherited()?;
    let mut host = Channel::new(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let nowhere = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nowhere.as_fd())?;
    let Some(assignment) = host.hear::<Assignment>()? else { return Ok(()) };
    let mut next = || host.descriptor().ok_or_else(|| io::Error::other("the order came without streams"));
    let streams = Streams { input: next()?, output: next()?, errors: next()? };
    // A session of its own: no terminal to push keys into, no signal that was meant for the host.
    setsid().ok();
    // Not the name of the daemon: `pkill covenant` should leave somebody who cleans up.
    rustix::thread::set_name(c"cov-run").ok();
    let own: Pid = getpid();
    set_child_subreaper(Some(own))?;
    monitor::run(host, &assignment, streams)
}
