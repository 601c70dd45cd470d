//! How a path becomes a handle: by one request to the kernel that may not leave the root, or step by step where no such
//! request is known.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::path::Place;
use super::{Root, Why};

/// How often a resolution is tried again that others disturbed by moving directories.
#[cfg(target_os = "linux")]
const ATTEMPTS: usize = 64;

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The kernel follows the whole path and stays beneath the root (`openat2`).
    #[cfg(target_os = "linux")]
    Kernel,
    /// One directory after the other, without following any link and without `..`.
    Steps,
}

impl Way {
    /// What works for that directory.
    #[cfg(target_os = "linux")]
    pub(super) fn of(root: impl AsFd) -> Self {
        match kernel(root.as_fd(), ".", OFlags::PATH | OFlags::CLOEXEC) {
            // An old kernel, or a sandbox around us that knows no such request: both are answered by the stricter way.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => Self::Steps,
            _ => Self::Kernel,
        }
    }

    /// What works for that directory.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: impl AsFd) -> Self {
        Self::Steps
    }
}

impl Root {
    /// Opens what lies there, whatever it is; never waits for the other end of a pipe, and gets no terminal.
    pub(super) fn opened(&self, whole: &str, flags: OFlags) -> Result<OwnedFd, Why> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(match self.way {
            #[cfg(target_os = "linux")]
            Way::Kernel => kernel(self.handle.as_fd(), whole, flags)?,
            Way::Steps => steps(self.handle.as_fd(), whole, flags)?,
        })
    }

    /// Opens a directory.
    pub(super) fn directory(&self, whole: &str) -> Result<OwnedFd, Why> {
        self.opened(whole, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The directory a file lies in, made where it is missing, and the name of the file.
    pub(super) fn parent<'p>(&self, place: &'p Place) -> Result<(OwnedFd, &'p str), Why> {
        let (parent, name) = place.split().ok_or(Why::Directory)?;
        let directory = match self.directory(&parent) {
            // What is above something that is not there, nobody can say.
            Err(Why::Missing) if !parent.split('/').any(|part| part == "..") => {
                self.made_directory(&parent)?
            }
            other => other?,
        };
        Ok((directory, name))
    }

    /// Makes each directory of the path that is missing. Every one is opened from the root again, so that a link put in
    /// its place is judged like any other.
    fn made_directory(&self, whole: &str) -> Result<OwnedFd, Why> {
        let mut here = self.directory(".")?;
        let mut reached = String::new();
        for part in whole.split('/') {
            if !reached.is_empty() {
                reached.push('/');
            }
            reached.push_str(part);
            here = match self.directory(&reached) {
                Err(Why::Missing) => match rustix::fs::mkdirat(&here, part, self.care.directory()) {
                    Ok(()) | Err(Errno::EXIST) => self.directory(&reached)?,
                    Err(errno) => return Err(errno.into()),
                },
                other => other?,
            };
        }
        Ok(here)
    }
}

#[cfg(target_os = "linux")]
fn kernel(root: BorrowedFd<'_>, whole: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut attempt = 0;
    loop {
        attempt += 1;
        match rustix::fs::openat2(root, whole, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if attempt < ATTEMPTS => {}
            other => return other,
        }
    }
}

fn steps(root: BorrowedFd<'_>, whole: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let between = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here: Option<OwnedFd> = None;
    let mut parts = whole.split('/').peekable();
    while let Some(part) = parts.next() {
        if part == ".." {
            return Err(Errno::XDEV);
        }
        let how = if parts.peek().is_some() { between } else { flags } | OFlags::NOFOLLOW;
        let from = here.as_ref().map_or(root, AsFd::as_fd);
        let next = rustix::fs::openat(from, part, how, Mode::empty());
        here = Some(next.map_err(|errno| unless_link(from, part, errno))?);
    }
    here.ok_or(Errno::NOENT)
}

/// Systems disagree on what they say of a link that is not followed.
fn unless_link(directory: BorrowedFd<'_>, name: &str, errno: Errno) -> Errno {
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Symlink) => Errno::LOOP,
        _ => errno,
    }
}
