//! What a name stands for: a file, a directory, a symbolic link or something else, and what the system knows of it.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Stat, statat};

use super::Why;

/// What lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum FileKind {
    File,
    Directory,
    Link,
    /// A device, a pipe, a socket.
    Other,
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// What the system knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// How many bytes a file has.
    pub size: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified: i64,
    /// Which file it is, on its disk.
    pub inode: u64,
}

impl Metadata {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanoseconds(stat),
            inode: stat.st_ino,
        }
    }

    /// Of a name in that directory: of a symbolic link, the link itself.
    pub(super) fn at(directory: impl AsFd, name: &str) -> Result<Self, Why> {
        Ok(Self::of(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

#[expect(clippy::useless_conversion, reason = "the types differ between systems")]
fn nanoseconds(stat: &Stat) -> i64 {
    let seconds = i64::try_from(stat.st_mtime).unwrap_or_default();
    let fraction = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(fraction)
}
