//! The database file before `SQLite` sees it: whose it is, what it is, and that nobody else can read it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use covenant_model::time::Timestamp;

use crate::open::OpenError;

/// Whether the file was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Was {
    /// It was, and is ours.
    There,
    /// It was not, and is now an empty file of ours.
    Made,
}

/// Sees to it that there is a file that only we can read and that we can write.
pub(crate) fn prepare(path: &Path) -> Result<Was, OpenError> {
    let unusable =
        |error: io::Error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() };
    match create(path) {
        Ok(_) => return Ok(Was::Made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_owner(path)?,
        Err(error) => return Err(unusable(error)),
    }
    // SQLite would make these anew, so one that cannot be used must be found before it tries.
    for suffix in ["-wal", "-shm"] {
        let beside = beside(path, suffix);
        if beside.exists() {
            check_owner(&beside)?;
        }
    }
    OpenOptions::new().read(true).write(true).open(path).map_err(unusable)?;
    Ok(Was::There)
}

fn check_owner(path: &Path) -> Result<(), OpenError> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() })?;
    if !metadata.is_file() {
        return Err(OpenError::Unusable { path: path.to_owned(), reason: "it is not a regular file".into() });
    }
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        return Err(OpenError::OtherOwner { path: path.to_owned(), owner: metadata.uid(), us });
    }
    Ok(())
}

/// Makes an empty file that only we can read. It must not be there yet.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the empty file that a backup of that version goes into, and says where it is.
pub(crate) fn create_backup(path: &Path, version: u32, now: Timestamp) -> io::Result<PathBuf> {
    let moment: String = now.to_string().chars().filter(|c| *c != ':' && *c != '-').take(15).collect();
    let mut attempt = 0_u32;
    loop {
        let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let target = beside(path, &format!(".backup-v{version}-{moment}Z{again}"));
        match create(&target) {
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Waits until a file and its name are on disk.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
