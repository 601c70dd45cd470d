//! How a private file is written: whole or not at all, readable by its owner alone, on disk before the old one goes.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use covenant_gate::random;
use zeroize::Zeroizing;

/// Puts a file with that content there, mode 0600. A reader sees the old content or the new, never a part.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = draft(path)?;
    let written = put(&draft, content, File::sync_all).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written?;
    File::open(directory(path)?)?.sync_all()
}

/// Puts a file with that content in the place of one that still holds what was read of it; of none, where none was there.
/// Who may read it stays as it was, unless others could write it. Whether it was done: nothing is, where somebody else has
/// written it since.
pub(crate) fn exchange(path: &Path, before: Option<&[u8]>, content: &[u8]) -> io::Result<bool> {
    let draft = draft(path)?;
    let written = put(&draft, content, |file| {
        keep_mode(file, path)?;
        file.sync_all()
    });
    let exchanged = written.and_then(|()| {
        let same = now(path)?.as_deref().map(Vec::as_slice) == before;
        if same { fs::rename(&draft, path).map(|()| true) } else { Ok(false) }
    });
    if !matches!(exchanged, Ok(true)) {
        let _ = fs::remove_file(&draft);
    }
    if exchanged? {
        File::open(directory(path)?)?.sync_all()?;
        return Ok(true);
    }
    Ok(false)
}

/// What a file holds; nothing where there is none.
fn now(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a draft the mode and the group of the file it is for, where there is one that others cannot write.
fn keep_mode(draft: &File, path: &Path) -> io::Result<()> {
    let Ok(found) = path.metadata() else { return Ok(()) };
    let mode = found.mode() & 0o777;
    // A group that cannot be given is not let in.
    if mode & 0o022 == 0 && fchown(draft, None, Some(found.gid())).is_ok() {
        draft.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The same for what may be lost with the machine: nobody waits for the disk.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = draft(path)?;
    let written = put(&draft, content, |_| Ok(())).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn directory(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other("a file needs a directory"))
}

fn draft(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("a file needs a name"))?;
    Ok(directory(path)?.join(draft_name(name)?))
}

fn draft_name(name: &std::ffi::OsStr) -> io::Result<OsString> {
    let random = random::bytes::<8>().map_err(io::Error::other)?;
    let mut draft = OsString::from(".");
    draft.push(name);
    draft.push(format!(".{:016x}.tmp", u64::from_be_bytes(random)));
    Ok(draft)
}

fn put(draft: &Path, content: &[u8], finish: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(content)?;
    finish(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_stays_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, "old and long").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn a_file_that_somebody_else_wrote_is_not_exchanged_and_who_may_read_it_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        assert!(exchange(&path, None, b"one").unwrap());
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        assert!(!exchange(&path, None, b"two").unwrap(), "it is there now");
        assert!(!exchange(&path, Some(b"other"), b"two").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        for (before, after) in [(0o640, 0o640), (0o400, 0o400), (0o644, 0o644), (0o660, 0o600)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            assert!(exchange(&path, Some(b"one"), b"one").unwrap());
            assert_eq!(mode(), after, "{before:o}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn nothing_is_left_behind_where_it_cannot_be_put() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
