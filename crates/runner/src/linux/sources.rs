//! What a sandboxed program sees of the file system: the system's own files, a few devices, and what was named.
//!
//! Everything is looked at here, before anything else happens, so that a path that is missing or may not be shown is said by
//! name. It is opened by whoever builds the view: what is to be mounted must be found in the same mount namespace.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::control::Refusal;
use crate::linux::hidden::{self, Same};
use crate::linux::view::SCRATCH;
use crate::order::{Order, Sandbox};

/// Programs and libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// What programs look up: names, certificates, time zones, libraries. Nothing that is a secret anywhere.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Devices without a memory.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What may be done with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Read and execute, as a part of the system.
    System,
    /// Read and execute, because it was named.
    Named,
    /// Also write, because that was named.
    Write,
    /// Read and write, as a device.
    Device,
}

/// A file or directory that the program sees, at the path it has outside.
#[derive(Debug)]
pub(super) struct Source {
    /// Where it is seen.
    pub(super) at: PathBuf,
    /// What for.
    pub(super) purpose: Use,
    /// Whether it is a directory.
    pub(super) is_directory: bool,
    /// What was found there when it was named, which is what is shown or nothing is.
    pub(super) same: Option<Same>,
    /// A copy of it that can be mounted, where one had to be made beforehand.
    pub(super) tree: Option<OwnedFd>,
}

/// A symbolic link that the program sees.
#[derive(Debug)]
pub(super) struct Link {
    /// Where it is.
    pub(super) at: PathBuf,
    /// Where it leads, as it is written.
    pub(super) to: PathBuf,
}

/// Everything it sees.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Files and directories, those above before those below.
    pub(super) all: Vec<Source>,
    /// Links.
    pub(super) links: Vec<Link>,
    /// What is covered, wherever it would show.
    pub(super) hidden: Vec<PathBuf>,
}

/// All that this order's program may see.
pub(super) fn of(order: &Order, sandbox: &Sandbox) -> Result<Sources, Refusal> {
    let mut sources = Sources::default();
    for path in SYSTEM {
        sources.add_system(Path::new(path));
    }
    for path in SETTINGS {
        // Many are links into directories that are not seen: what they lead to is shown in their place.
        sources.add(Path::new(path), Use::System).ok();
    }
    for path in DEVICES {
        sources.add(Path::new(path), Use::Device).ok();
    }
    for (paths, purpose) in [(&sandbox.read, Use::Named), (&sandbox.write, Use::Write)] {
        for path in paths {
            sources.add_named(path, purpose)?;
        }
    }
    sources.hidden = hidden::places(&sandbox.hidden);
    hidden::is_not_lent(&sources)?;
    // A place that something is mounted on cannot be moved, but what lies above it can.
    let written = sources.paths(&[Use::Write]);
    sources
        .overlap_nowhere(|path| path.parent().is_some_and(|parent| written.iter().any(|it| it == parent)))?;
    sources.all.sort_by_key(|source| source.at.components().count());
    sources.check(&order.program)?;
    Ok(sources)
}

impl Sources {
    /// A system directory, or the link that stands in its place (`/bin` is one to `usr/bin` on most systems).
    fn add_system(&mut self, path: &Path) {
        match path.read_link() {
            Ok(to) => self.links.push(Link { at: path.to_owned(), to }),
            // What is not there is not shown.
            Err(_) => drop(self.add(path, Use::System)),
        }
    }

    /// A path that somebody named. Not by way of a link: one may have been put there by a program that could write there
    /// before, to be lent what it leads to.
    fn add_named(&mut self, path: &Path, purpose: Use) -> Result<(), Refusal> {
        let refuse = |reason: String| Refusal::Path { path: path.to_owned(), reason };
        if !path.is_absolute() {
            return Err(refuse("it is not an absolute path".to_owned()));
        }
        let real = path.canonicalize().map_err(|error| refuse(told(&error)))?;
        if real != path {
            return Err(refuse(format!("it leads through a link to {}: name that", real.display())));
        }
        let never = ["/proc", "/sys", "/dev", SCRATCH];
        if real == Path::new("/") || never.iter().any(|above| real.starts_with(above)) {
            return Err(refuse("no sandbox shows that: name the directories that are needed".to_owned()));
        }
        self.add(&real, purpose).map_err(|error| refuse(told(&error)))?;
        if let Some(source) = self.all.last_mut() {
            source.same = Same::at(&real);
        }
        Ok(())
    }

    fn add(&mut self, at: &Path, purpose: Use) -> io::Result<()> {
        let is_directory = at.metadata()?.is_dir();
        // The same path named to be read and to be written may be written.
        self.all.retain(|known| known.at != at);
        self.all.push(Source { at: at.to_owned(), purpose, is_directory, same: None, tree: None });
        Ok(())
    }

    /// Refuses an order by which something may only be read in a directory that may be written, unless `kept` says of that
    /// directory's path that it stays what it is.
    pub(super) fn overlap_nowhere(&self, kept: impl Fn(&Path) -> bool) -> Result<(), Refusal> {
        let written = self.paths(&[Use::Write]);
        let within = |path: &Path| written.iter().any(|above| path.starts_with(above) && !kept(path));
        match self.all.iter().find(|source| source.purpose == Use::Named && within(&source.at)) {
            Some(source) => {
                let reason =
                    "it lies in a directory that may be written, and could be changed or put aside there";
                Err(Refusal::Path { path: source.at.clone(), reason: reason.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Whether the program will find itself.
    fn check(&self, program: &Path) -> Result<(), Refusal> {
        let real = program.canonicalize().map_err(|error| Refusal::Program(told(&error)))?;
        let named = named(program).unwrap_or_else(|| real.clone());
        let sees = |path: &Path| self.all.iter().any(|source| path.starts_with(&source.at));
        if sees(&real) && sees(&named) {
            return Ok(());
        }
        let unseen = if sees(&real) { named } else { real };
        Err(Refusal::Program(format!(
            "the sandbox does not show {}: name it, or its directory, among the paths it may read",
            unseen.display()
        )))
    }

    /// The paths of these uses, for fences that go by path.
    pub(super) fn paths(&self, uses: &[Use]) -> Vec<PathBuf> {
        self.all
            .iter()
            .filter(|source| uses.contains(&source.purpose))
            .map(|source| source.at.clone())
            .collect()
    }
}

/// The path of a file whose directory is real, while its own name may be a link.
fn named(path: &Path) -> Option<PathBuf> {
    let name: &OsStr = path.file_name()?;
    Some(path.parent()?.canonicalize().ok()?.join(name))
}

pub(super) fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is not there".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be looked at".to_owned(),
        _ => error.to_string(),
    }
}
