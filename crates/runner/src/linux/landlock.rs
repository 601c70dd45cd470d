//! What a program may open, and where it may connect to, by Landlock: rules that hold for it and all it starts.
//!
//! The fence is put up by the process that becomes the program, and nobody can take it down again, nor take something
//! out of a directory that is within: what is allowed below a path is allowed on all of it. Nothing here fails because
//! the kernel is too old. [`Strength`] says what it could do, so that the report can say what is missing.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::sys;

#[cfg(test)]
mod tests;

/// The newest interface that this file was written for. A kernel with less gives what it has; one with more gives no
/// more than this, since rights that nobody here has looked at would be denied.
const KNOWN: ABI = ABI::V9;

/// What a program may open and where it may connect to.
#[derive(Debug, Clone)]
pub(crate) struct Fence {
    /// Files and directories it may read and execute.
    pub(crate) read: Vec<PathBuf>,
    /// Files and directories it may also write, and connect to the Unix sockets in.
    pub(crate) write: Vec<PathBuf>,
    /// The TCP ports it may connect to, on any address: Landlock has no rule for addresses.
    pub(crate) connect: Ports,
    /// Whether it may choose TCP ports to listen on.
    pub(crate) bind: bool,
}

/// TCP ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ports {
    /// All of them.
    All,
    /// These.
    Only(Vec<u16>),
}

/// What the kernel can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a measure of its own, as the kernel has it or not"
)]
pub(crate) struct Strength {
    /// Hold a program to some files and directories, as to opening, creating and removing.
    pub(crate) files: bool,
    /// Also as to cutting files short, which needs no opening.
    pub(crate) truncate: bool,
    /// Hold it to some TCP ports.
    pub(crate) tcp: bool,
    /// Keep it from abstract Unix sockets and from processes outside.
    pub(crate) scopes: bool,
    /// Keep it from Unix sockets by their path, where they are not within.
    pub(crate) sockets: bool,
    /// The version of the interface; 0 for none.
    pub(crate) abi: i32,
}

impl Strength {
    /// Asks the kernel.
    pub(crate) fn probe() -> Self {
        Self::of(sys::landlock_version())
    }

    /// What came with which version.
    fn of(abi: i32) -> Self {
        Self { files: abi >= 1, truncate: abi >= 3, tcp: abi >= 4, scopes: abi >= 6, sockets: abi >= 9, abi }
    }
}

/// A fence that is ready to be put up: everything it names is opened, so that it means what was there when it was made.
#[derive(Debug)]
pub(crate) struct Prepared {
    rules: RulesetCreated,
}

/// Makes the rules. A path that cannot be opened cannot be allowed either, and is named.
pub(crate) fn prepare(fence: &Fence) -> io::Result<Prepared> {
    let rules = handled(fence).and_then(Ruleset::create).map_err(io::Error::other)?;
    let mut prepared = Prepared { rules };
    for path in &fence.read {
        prepared = prepared.allow(path, AccessFs::from_read(KNOWN))?;
    }
    for path in &fence.write {
        prepared = prepared.allow(path, writing())?;
    }
    if let Ports::Only(ports) = &fence.connect {
        let ports =
            ports.iter().map(|&port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp)));
        prepared.rules = prepared.rules.add_rules(ports).map_err(io::Error::other)?;
    }
    Ok(prepared)
}

/// What is forbidden unless a rule allows it. Signals to, and abstract sockets of, whoever is outside always are.
fn handled(fence: &Fence) -> Result<Ruleset, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if fence.connect != Ports::All {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    if !fence.bind {
        rules = rules.handle_access(AccessNet::BindTcp)?;
    }
    Ok(rules)
}

/// Everything but to make devices.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// What of these rights makes sense for such a file. Commands to devices are only for a device that is itself named:
/// in a directory that may be written, nobody meant to allow them.
fn fitting(rights: BitFlags<AccessFs>, kind: FileType) -> BitFlags<AccessFs> {
    match kind {
        FileType::Directory => rights & !BitFlags::from(AccessFs::IoctlDev),
        FileType::CharacterDevice | FileType::BlockDevice => rights & AccessFs::from_file(KNOWN),
        _ => rights & AccessFs::from_file(KNOWN) & !BitFlags::from(AccessFs::IoctlDev),
    }
}

impl Prepared {
    /// Puts the fence up around the calling thread and all it will start, for good; the caller has one thread. Where
    /// the kernel has no Landlock, this does nothing but give up gaining privileges.
    pub(crate) fn restrict(self) -> io::Result<()> {
        self.rules.restrict_self().map(drop).map_err(io::Error::other)
    }

    fn allow(mut self, path: &Path, rights: BitFlags<AccessFs>) -> io::Result<Self> {
        let named = |cause: rustix::io::Errno| {
            let cause = io::Error::from(cause);
            io::Error::new(cause.kind(), format!("{} cannot be opened: {cause}", path.display()))
        };
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(named)?;
        let about = rustix::fs::fstat(&file).map_err(named)?;
        let rights = fitting(rights, FileType::from_raw_mode(about.st_mode));
        self.rules = self.rules.add_rule(PathBeneath::new(file, rights)).map_err(io::Error::other)?;
        Ok(self)
    }
}
