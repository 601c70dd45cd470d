//! What a program is bound by when it begins: limits, Landlock and the filter on system calls, put on between fork and
//! exec, in this order, so that nothing before them is in their way.

use std::io;
use std::path::PathBuf;

use crate::linux::landlock::{self, Ports, Strength};
use crate::linux::limits::{self, Local};
use crate::linux::seccomp::{self, Calls};
use crate::linux::sys;
use crate::order::{Network, Sandbox};

/// Ready to be put on.
pub(super) struct Fence {
    sandbox: Sandbox,
    local: Local,
    landlock: Option<landlock::Prepared>,
    filter: Option<Vec<libc::sock_filter>>,
}

/// What a fence lets through.
pub(super) struct Gaps {
    /// What may be read and executed.
    pub(super) read: Vec<PathBuf>,
    /// What may be written.
    pub(super) write: Vec<PathBuf>,
    /// Where TCP may go.
    pub(super) connect: Ports,
    /// Whether it may listen.
    pub(super) bind: bool,
    /// Whether Unix sockets may be made: only where none of others is in sight.
    pub(super) unix_sockets: bool,
    /// Limits that are not the same everywhere.
    pub(super) local: Local,
}

impl Fence {
    /// Prepares one: everything that can fail for a reason worth telling fails here.
    pub(super) fn new(sandbox: &Sandbox, gaps: Gaps) -> io::Result<Self> {
        let calls = Calls { network: sandbox.network, unix_sockets: gaps.unix_sockets, listen: gaps.bind };
        let filter = match seccomp::program(calls) {
            Ok(filter) if sys::filters_calls() => Some(filter),
            // Not for this processor, or not in this kernel: the report says so.
            _ => None,
        };
        let landlock = if strength().files {
            let fence = landlock::Fence {
                read: gaps.read,
                write: gaps.write,
                connect: gaps.connect,
                bind: gaps.bind,
            };
            Some(landlock::prepare(&fence)?)
        } else {
            None
        };
        Ok(Self { sandbox: sandbox.clone(), local: gaps.local, landlock, filter })
    }

    /// Puts it on. What is put on is inherited and cannot be taken off.
    pub(super) fn put_on(&mut self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        limits::apply(&self.sandbox, self.local)?;
        if let Some(landlock) = self.landlock.take() {
            landlock.restrict()?;
        }
        match &self.filter {
            Some(filter) => sys::filter_calls(filter),
            None => Ok(()),
        }
    }
}

/// What this kernel's Landlock can do.
pub(super) fn strength() -> Strength {
    Strength::probe()
}

/// Whether system calls can be refused here.
pub(super) fn filters_calls() -> bool {
    let some = Calls { network: Network::Off, unix_sockets: false, listen: false };
    sys::filters_calls() && seccomp::program(some).is_ok()
}
