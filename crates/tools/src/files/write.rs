//! Writing: whole or not at all, or at the end. A symbolic link in the last place is never written through and never
//! replaced: it is refused, and the sentence says to name what it leads to.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;

use covenant_gate::random;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::read::regular;
use super::{FileError, Root, Why};

/// How appended bytes follow what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Directly.
    Exactly,
    /// On a line of their own.
    OnNewLine,
}

impl Root {
    /// Puts a file with these bytes there, and the directories it needs. A reader sees the old content or the new, never a
    /// part; a file that was there keeps its permissions.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.named(path, |place| {
            let (parent, name) = self.parent(place)?;
            let before = replaceable(&parent, name)?;
            let draft = Draft::new(
                &parent,
                if before.is_some() { Mode::RUSR | Mode::WUSR } else { self.care.file() },
            )?;
            draft.fill(bytes, before.as_ref())?;
            draft.file.sync_all()?;
            draft.put(name)?;
            // The name is durable once its directory is. Some file systems cannot say.
            let _ = rustix::fs::fsync(&parent);
            Ok(())
        })
    }

    /// The same for whoever need not wait for the disk: every reader sees it from now on, and
    /// it is durable once what comes back has settled. A power cut before that may take it, or leave it empty.
    pub fn write_soon(&self, path: &str, bytes: &[u8]) -> Result<Unsettled, FileError> {
        self.named(path, |place| {
            let (parent, name) = self.parent(place)?;
            let before = replaceable(&parent, name)?;
            let mode = if before.is_some() { Mode::RUSR | Mode::WUSR } else { self.care.file() };
            let draft = Draft::new(&parent, mode)?;
            draft.fill(bytes, before.as_ref())?;
            let file = draft.file.try_clone()?;
            draft.put(name)?;
            Ok(Unsettled { file, parent })
        })
    }

    /// Adds bytes to the end of a file, which is made where it is missing, unless it would have more than that many.
    pub fn append(&self, path: &str, bytes: &[u8], join: Join, most: u64) -> Result<(), FileError> {
        self.named(path, |place| {
            let (parent, name) = self.parent(place)?;
            let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
            let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
            let (mut file, found) = regular(rustix::fs::openat(&parent, name, flags, self.care.file())?)?;
            let gap = join == Join::OnNewLine && found.size > 0 && !ends_line(&file, found.size)?;
            let gap: &[u8] = if gap { b"\n" } else { b"" };
            let added = u64::try_from(gap.len() + bytes.len()).unwrap_or(u64::MAX);
            if found.size.saturating_add(added) > most {
                return Err(Why::TooLarge(most));
            }
            // One write, so that what two callers add at once does not mix.
            file.write_all(&[gap, bytes].concat())?;
            Ok(file.sync_all()?)
        })
    }
}

/// A file that is written, and perhaps not yet on the disk.
#[derive(Debug)]
#[must_use = "it is durable once it has settled"]
pub struct Unsettled {
    file: File,
    parent: OwnedFd,
}

impl Unsettled {
    /// Waits until it is on the disk, with its name.
    pub fn settle(self) -> std::io::Result<()> {
        self.file.sync_all()?;
        let _ = rustix::fs::fsync(&self.parent);
        Ok(())
    }
}

fn ends_line(file: &File, size: u64) -> Result<bool, Why> {
    let mut last = [0];
    file.read_exact_at(&mut last, size - 1)?;
    Ok(last == *b"\n")
}

/// The regular file that has this name, if anything has.
fn replaceable(parent: &OwnedFd, name: &str) -> Result<Option<Stat>, Why> {
    let found = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(Some(found)),
        FileType::Directory => Err(Why::Directory),
        FileType::Symlink => Err(Why::Link),
        _ => Err(Why::Special),
    }
}

/// A file under a name nobody else uses, gone again unless it is put in its place.
struct Draft<'p> {
    parent: &'p OwnedFd,
    name: String,
    file: File,
    put: bool,
}

impl<'p> Draft<'p> {
    fn new(parent: &'p OwnedFd, mode: Mode) -> Result<Self, Why> {
        let drawn = random::bytes::<8>().map_err(|_| Why::Failed(Errno::IO))?;
        let name = format!(".covenant-{:016x}.tmp", u64::from_be_bytes(drawn));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(parent, name.as_str(), flags, mode)?);
        Ok(Self { parent, name, file, put: false })
    }

    /// Writes it all down, with the owner and permissions of the file it follows.
    fn fill(&self, bytes: &[u8], before: Option<&Stat>) -> Result<(), Why> {
        (&self.file).write_all(bytes)?;
        if let Some(before) = before {
            let now = rustix::fs::fstat(&self.file)?;
            if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) {
                let (user, group) =
                    (rustix::fs::Uid::from_raw(before.st_uid), rustix::fs::Gid::from_raw(before.st_gid));
                // Only root may; for others the file is theirs from now on.
                let _ = rustix::fs::fchown(self.file.as_fd(), Some(user), Some(group));
            }
            rustix::fs::fchmod(&self.file, Mode::from_raw_mode(before.st_mode & 0o777))?;
        }
        Ok(())
    }

    fn put(mut self, name: &str) -> Result<(), Why> {
        rustix::fs::renameat(self.parent, self.name.as_str(), self.parent, name)?;
        self.put = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.put {
            let _ = rustix::fs::unlinkat(self.parent, self.name.as_str(), AtFlags::empty());
        }
    }
}
