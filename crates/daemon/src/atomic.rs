//! How a private file is written: whole or not at all, readable by its owner alone, on disk before the old one goes.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use covenant_gate::random;

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
    use std::os::unix::fs::PermissionsExt as _;

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
    fn nothing_is_left_behind_where_it_cannot_be_put() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
