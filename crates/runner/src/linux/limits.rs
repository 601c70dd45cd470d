//! Limits the kernel holds a process to, and what it starts: a second line behind the watchdog, the first for some.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::order::Sandbox;

/// Address space beyond memory: Node and the JVM reserve gigabytes they never touch.
const RESERVED: u64 = 64 * 1024 * 1024 * 1024;

/// Descriptors of one process.
const FILES: u64 = 4096;

/// Limits that are not the same everywhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    /// The most processes, where the kernel counts them for the sandbox alone.
    pub(super) processes: Option<u64>,
    /// The most bytes of one file, where the scratch directory has no size of its own.
    pub(super) file: Option<u64>,
}

/// Sets them on this process, which becomes the program.
pub(super) fn apply(sandbox: &Sandbox, local: Local) -> rustix::io::Result<()> {
    let memory = sandbox.memory_mb.saturating_mul(1024 * 1024);
    no_core()?;
    lower(Resource::As, memory.saturating_mul(4).saturating_add(RESERVED))?;
    lower(Resource::Nofile, FILES)?;
    lower(Resource::Memlock, memory.min(64 * 1024 * 1024))?;
    lower(Resource::Msgqueue, 0)?;
    for (resource, most) in [(Resource::Nproc, local.processes), (Resource::Fsize, local.file)] {
        if let Some(most) = most {
            lower(resource, most)?;
        }
    }
    Ok(())
}

/// No memory is written down when a program crashes. One byte, not none: at none, a core pattern that names a program would
/// still have it run, as root, on what a program made of its own memory. The filter keeps it so.
fn no_core() -> rustix::io::Result<()> {
    let one = getrlimit(Resource::Core).maximum.map_or(1, |most| most.min(1));
    setrlimit(Resource::Core, Rlimit { current: Some(one), maximum: Some(one) })
}

/// A limit that is lower already stays: raising one needs a privilege.
fn lower(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    setrlimit(resource, Rlimit { current: least(now.current), maximum: least(now.maximum) })
}
