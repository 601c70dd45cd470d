//! Which files we believe: those that only this user (or root) can have written, and for secrets only this user read.
//!
//! A file is judged by its open handle, not by its name, so that what was checked is what is read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What a file may do to us, and so what we demand of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It can start programs or change what is allowed: nobody else may write it.
    Program,
    /// It holds secrets: nobody else may read it either, and it is no link.
    Private,
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum Distrust {
    /// Another user owns it.
    #[error("{0} belongs to user {owner}, not to you (user {us}), so it is not used; take it over with `chown {us} {0}`, or remove it", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Owner { path: PathBuf, owner: u32, us: u32 },
    /// Others may write it.
    #[error("{0} can be written by other users (mode {mode:03o}), so it is not used; close it with `chmod go-w {0}`", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Writable { path: PathBuf, mode: u32 },
    /// Others may read it.
    #[error("{0} can be read by other users (mode {mode:03o}) and holds secrets, so it is not used; close it with `chmod 600 {0}`", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Readable { path: PathBuf, mode: u32 },
    /// It is something else than a file.
    #[error("{0} is not an ordinary file; put a file there, or remove it", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    NotAFile { path: PathBuf },
    /// It is something else than a directory.
    #[error("{0} is not a directory; make one there, or name another", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    NotADirectory { path: PathBuf },
    /// It is a link where none may be.
    #[error("{0} is a link; secrets and keys must be files of their own: put the file itself there", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Link { path: PathBuf },
    /// It is larger than anything of its kind.
    #[error("{0} is larger than {limit} bytes, so it is not read", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    TooLarge { path: PathBuf, limit: u64 },
    /// It holds more than can be looked at.
    #[error("{0} holds more than {most} files, so it cannot be seen that nobody else may write any; keep fewer there", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    TooMany { path: PathBuf, most: usize },
    /// It could not be read.
    #[error("{0} could not be read: {error}; make it readable for you, or remove it", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Io { path: PathBuf, error: io::Error },
}

/// The most bytes a configuration or secrets file may have.
pub(crate) const LIMIT: u64 = 1024 * 1024;

/// A file's bytes and when it last changed, if it is there and can be trusted. `None` if there is none.
pub fn read(path: &Path, kind: Kind) -> Result<Option<Content>, Distrust> {
    let io = |error| Distrust::Io { path: path.to_owned(), error };
    let Some(file) = open(path, kind)? else { return Ok(None) };
    let metadata = file.metadata().map_err(io)?;
    judge(path, &metadata, kind)?;
    let mut bytes = Vec::new();
    (&file).take(LIMIT + 1).read_to_end(&mut bytes).map_err(io)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIMIT {
        return Err(Distrust::TooLarge { path: path.to_owned(), limit: LIMIT });
    }
    Ok(Some(Content { bytes, changed: u64::try_from(metadata.mtime()).unwrap_or_default() }))
}

/// Whether there is a directory, and nobody else may put files there that can start programs.
pub(crate) fn directory(path: &Path) -> Result<bool, Distrust> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Distrust::Io { path: path.to_owned(), error }),
    };
    if !metadata.is_dir() {
        return Err(Distrust::NotADirectory { path: path.to_owned() });
    }
    judge_owner(path, &metadata, Kind::Program).map(|()| true)
}

/// Whether nobody else can have put there what a path leads to. Links are followed; what is judged is the place itself and
/// every directory above it, up to `top` where it lies in there, else all of them. Of what is not there yet, the nearest
/// directory that is.
pub(crate) fn place(path: &Path, top: &Path) -> Result<(), Distrust> {
    let io = |error| Distrust::Io { path: path.to_owned(), error };
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    let (real, top) = (there.canonicalize().map_err(io)?, top.canonicalize().map_err(io)?);
    let within = real.starts_with(&top);
    for (height, part) in real.ancestors().enumerate() {
        let metadata = part.metadata().map_err(io)?;
        // In a sticky directory others cannot replace what is not theirs.
        if height == 0 || !(metadata.is_dir() && metadata.mode() & 0o1000 != 0) {
            judge_owner(part, &metadata, Kind::Program)?;
        }
        if within && part == top {
            break;
        }
    }
    Ok(())
}

/// Whether nobody else can have written anything in that directory, however deep; of links, where they lead.
pub(crate) fn tree(top: &Path, most: usize) -> Result<(), Distrust> {
    let (mut left, mut count) = (vec![top.to_owned()], 0);
    while let Some(directory) = left.pop() {
        let io = |error| Distrust::Io { path: directory.clone(), error };
        for entry in std::fs::read_dir(&directory).map_err(io)? {
            let path = entry.map_err(io)?.path();
            count += 1;
            if count > most {
                return Err(Distrust::TooMany { path: top.to_owned(), most });
            }
            let metadata = path.symlink_metadata().map_err(io)?;
            if metadata.is_symlink() {
                place(&path, top)?;
                continue;
            }
            judge_owner(&path, &metadata, Kind::Program)?;
            if metadata.is_dir() {
                left.push(path);
            }
        }
    }
    Ok(())
}

/// The part of that path that other users may not read, or not pass through.
pub(crate) fn closed_to_others(path: &Path) -> Option<PathBuf> {
    let closed =
        |part: &Path, bits: u32| part.metadata().is_ok_and(|metadata| metadata.mode() & bits != bits);
    let bits = if path.is_dir() { 0o005 } else { 0o004 };
    let above = path.ancestors().skip(1).find(|part| closed(part, 0o001));
    above.or(Some(path).filter(|path| closed(path, bits))).map(Path::to_owned)
}

/// What was read.
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// When the file last changed, in seconds since 1970.
    pub changed: u64,
}

fn open(path: &Path, kind: Kind) -> Result<Option<File>, Distrust> {
    // Without O_NONBLOCK, a FIFO put there would hang the start.
    let nonblock = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = match kind {
        Kind::Program => nonblock,
        Kind::Private => nonblock | rustix::fs::OFlags::NOFOLLOW,
    };
    let custom = i32::try_from(flags.bits()).unwrap_or_default();
    match OpenOptions::new().read(true).custom_flags(custom).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(Distrust::Link { path: path.to_owned() })
        }
        Err(error) => Err(Distrust::Io { path: path.to_owned(), error }),
    }
}

fn judge(path: &Path, metadata: &Metadata, kind: Kind) -> Result<(), Distrust> {
    if !metadata.is_file() {
        return Err(Distrust::NotAFile { path: path.to_owned() });
    }
    judge_owner(path, metadata, kind)
}

fn judge_owner(path: &Path, metadata: &Metadata, kind: Kind) -> Result<(), Distrust> {
    let path = || path.to_owned();
    let (us, owner, mode) = (user(), metadata.uid(), metadata.mode() & 0o777);
    let root_may = kind == Kind::Program && owner == 0;
    if owner != us && !root_may {
        return Err(Distrust::Owner { path: path(), owner, us });
    }
    if mode & 0o022 != 0 {
        return Err(Distrust::Writable { path: path(), mode });
    }
    if kind == Kind::Private && mode & 0o077 != 0 {
        return Err(Distrust::Readable { path: path(), mode });
    }
    Ok(())
}

/// Who we are to the file system.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn file(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.toml");
        fs::write(&path, "x = 1").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    #[test]
    fn a_file_that_is_not_there_is_nothing_and_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(&dir.path().join("no"), Kind::Program).unwrap().is_none());
    }

    #[test]
    fn what_others_may_write_is_refused_with_the_way_out() {
        let (_dir, path) = file(0o664);
        let refused = read(&path, Kind::Program).err().unwrap().to_string();
        assert!(refused.contains("chmod go-w") && refused.contains("664"), "{refused}");
    }

    #[test]
    fn secrets_that_others_may_read_are_refused_and_configuration_is_not() {
        let (_dir, path) = file(0o644);
        assert!(matches!(read(&path, Kind::Private), Err(Distrust::Readable { .. })));
        assert_eq!(read(&path, Kind::Program).unwrap().unwrap().bytes, b"x = 1");
    }

    #[test]
    fn what_is_closed_to_others_is_named_with_the_directory_that_closes_it() {
        let (dir, path) = file(0o644);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(closed_to_others(&path), None);
        assert_eq!(closed_to_others(dir.path()), None);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(closed_to_others(&path).as_deref(), Some(dir.path()));
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(
            closed_to_others(dir.path()).as_deref(),
            Some(dir.path()),
            "it can be entered and not listed"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(closed_to_others(&path), Some(path));
    }

    #[test]
    fn a_link_to_configuration_is_followed_and_one_to_secrets_is_not() {
        let (dir, path) = file(0o600);
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(read(&link, Kind::Program).unwrap().is_some());
        assert!(matches!(read(&link, Kind::Private), Err(Distrust::Link { .. })));
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused_and_none_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!directory(&dir.path().join("no")).unwrap());
        assert!(directory(dir.path()).unwrap());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(directory(dir.path()), Err(Distrust::Writable { .. })));
        let (_dir, path) = file(0o600);
        assert!(matches!(directory(&path), Err(Distrust::NotADirectory { .. })));
    }

    #[test]
    fn a_place_is_judged_with_the_directories_above_it_and_where_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let (top, other) = (dir.path().join("top"), dir.path().join("other"));
        for directory in [&top, &top.join("bin"), &other] {
            fs::create_dir(directory).unwrap();
            open(directory, 0o755);
        }
        let (file, link) = (top.join("bin/run"), top.join("link"));
        fs::write(&file, "x").unwrap();
        open(&file, 0o755);
        symlink(other.join("run"), &link).unwrap();
        fs::write(other.join("run"), "x").unwrap();
        open(&other.join("run"), 0o755);
        for path in [&file, &link, &top.join("none/at/all")] {
            place(path, &top).unwrap();
        }
        open(&other, 0o777);
        assert!(
            matches!(place(&link, &top), Err(Distrust::Writable { path, .. }) if path.ends_with("other"))
        );
        open(&other, 0o1777);
        place(&link, &top).unwrap();
        open(&top.join("bin"), 0o775);
        assert!(matches!(place(&file, &top), Err(Distrust::Writable { path, .. }) if path.ends_with("bin")));
        open(&top.join("bin"), 0o755);
        open(&file, 0o757);
        assert!(matches!(place(&file, &top), Err(Distrust::Writable { path, .. }) if path.ends_with("run")));
        open(&file, 0o755);
        open(dir.path(), 0o777);
        place(&file, &top).unwrap();
        assert!(place(&link, &top).is_err(), "it lies outside");
    }

    #[test]
    fn directories_and_endless_files_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(read(dir.path(), Kind::Program), Err(Distrust::NotAFile { .. })));
        assert!(matches!(read(Path::new("/dev/zero"), Kind::Program), Err(Distrust::NotAFile { .. })));
        let (_dir, path) = file(0o600);
        fs::write(&path, vec![b'#'; 1024 * 1024 + 1]).unwrap();
        assert!(matches!(read(&path, Kind::Program), Err(Distrust::TooLarge { .. })));
    }
}
