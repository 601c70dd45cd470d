//! A directory held by its handle: everything beneath it, and nothing else. What lies beneath is decided by the kernel,
//! at the moment of use, and never by comparing texts.
//!
//! Paths are written as people write them: relative (`notes.md`), absolute with the root's public name first
//! (`/workspace/notes.md`), or absolute inside the real directory. Symbolic links are followed where they lead to something
//! inside, are relative and are not the thing written to; where the kernel cannot follow them safely, none is.
//!
//! Everything here blocks: call it from `tokio::task::spawn_blocking`.

mod error;
mod kind;
mod list;
mod path;
mod read;
mod resolve;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

pub use self::error::{FileError, Why};
pub(crate) use self::error::{escaped, plain};
pub use self::kind::{FileKind, Metadata};
pub use self::list::{Entry, Listing, Page};
pub use self::read::{Lines, Range};
pub use self::walk::{Found, Step, Walked};
pub use self::write::{Join, Unsettled};

use self::path::Place;
use self::resolve::Way;

/// A directory, and everything beneath it.
#[derive(Debug)]
pub struct Root {
    handle: OwnedFd,
    way: Way,
    /// Where it really is: absolute paths may begin with either.
    real: [PathBuf; 2],
    shown: String,
    care: Care,
}

/// Who may see what is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Files 0644 and directories 0755, less what the process's mask takes away.
    Shared,
    /// Files 0600 and directories 0700.
    Private,
}

impl Root {
    /// The directory at that path, called that: `workspace` makes `/workspace/…` a path of it.
    pub fn open(path: &Path, shown: &str) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, path, flags, Mode::empty());
        let handle = opened.map_err(|errno| FileError::new(errno.into(), shown, shown))?;
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let way = Way::of(&handle);
        Ok(Self {
            handle,
            way,
            real: [path.to_owned(), canonical],
            shown: shown.to_owned(),
            care: Care::Shared,
        })
    }

    /// The same, made first where it is missing, with that care; it is also how everything beneath it is made.
    pub fn made(path: &Path, shown: &str, care: Care) -> Result<Self, FileError> {
        let made = DirBuilder::new().recursive(true).mode(care.directory_bits()).create(path);
        made.map_err(|error| FileError::new(error.into(), shown, shown))?;
        Ok(Self { care, ..Self::open(path, shown)? })
    }

    /// The same, where no symbolic link is ever followed and no path has `..`: for directories in which some names are not
    /// meant for callers, so that none of them has a second name.
    pub fn unlinked(self) -> Self {
        Self { way: Way::Steps, ..self }
    }

    /// What it is called.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Where it was opened. Only for telling people: whoever opens a path beneath it by name can be misled.
    pub fn path(&self) -> &Path {
        let [given, _] = &self.real;
        given
    }

    /// The path as it reads from the root: without `.`, doubled slashes and the root's own name. `..` stays.
    pub fn relative(&self, path: &str) -> Result<String, FileError> {
        self.named(path, |place| Ok(place.whole()))
    }

    /// What lies there; of a symbolic link, what it leads to.
    pub fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        self.named(path, |place| {
            let (parent, name) = match place.split() {
                Some((parent, name)) => (self.directory(&parent)?, name),
                None => return Ok(Metadata::of(&rustix::fs::fstat(self.directory(&place.whole())?)?)),
            };
            let found = Metadata::at(&parent, name)?;
            if found.kind != FileKind::Link {
                return Ok(found);
            }
            Ok(Metadata::of(&rustix::fs::fstat(self.opened(&place.whole(), OFlags::RDONLY)?)?))
        })
    }

    /// Removes a file, or a symbolic link itself. Directories stay.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        self.named(path, |place| {
            let (parent, name) = place.split().ok_or(Why::Directory)?;
            let parent = self.directory(&parent)?;
            if Metadata::at(&parent, name)?.kind == FileKind::Directory {
                return Err(Why::Directory);
            }
            Ok(rustix::fs::unlinkat(&parent, name, rustix::fs::AtFlags::empty())?)
        })
    }

    /// Does something with a path; a failure says which path, beneath what.
    fn named<T>(&self, path: &str, act: impl FnOnce(&Place) -> Result<T, Why>) -> Result<T, FileError> {
        Place::read(path, &self.shown, &self.real)
            .and_then(|place| act(&place))
            .map_err(|why| FileError::new(why, &self.shown, path))
    }
}

impl Care {
    fn file(self) -> Mode {
        let own = Mode::RUSR | Mode::WUSR;
        match self {
            Self::Shared => own | Mode::RGRP | Mode::ROTH,
            Self::Private => own,
        }
    }

    fn directory(self) -> Mode {
        match self {
            Self::Shared => Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH,
            Self::Private => Mode::RWXU,
        }
    }

    /// The same as the standard library writes it, on every system.
    fn directory_bits(self) -> u32 {
        match self {
            Self::Shared => 0o755,
            Self::Private => 0o700,
        }
    }
}
