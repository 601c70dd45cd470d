//! A scratch directory on disk, for hosts that cannot give a program one in memory: made for one run, removed with it.
//!
//! What a program leaves is removed by descriptor, never through a link, whatever rights it took from its own
//! directories and however deep it nested them: each directory below the first level is moved up there and emptied in its
//! turn, so two descriptors are enough.

use std::ffi::{CStr, CString};
use std::fs::DirBuilder;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::fs::{chmod, chown, fchmod, fstat, open, openat, renameat_with, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::linux::identity::Identity;

/// How often a directory that fills while it is emptied is emptied again.
const ROUNDS: usize = 100;

/// How a directory is opened: never through a link.
const WAY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A scratch directory, which goes when this does.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes an empty directory for that run, for nobody but the program's user.
    pub(crate) fn make(parent: &Path, run: &str, owner: (u32, u32)) -> Result<Self, String> {
        let path = parent.join(run);
        let told = |cause: &dyn std::fmt::Display| {
            format!("no scratch directory could be made at {}: {cause}", path.display())
        };
        if !path.starts_with(parent)
            || path.parent() != Some(parent)
            || path.file_name() != Some(run.as_ref())
        {
            return Err(told(&"the name of a run is no path"));
        }
        let (user, group) = owner;
        let another = geteuid().as_raw() != user;
        // A program that runs as another user must get through to its own directory, but need not see the others.
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(if another { 0o711 } else { 0o700 });
        builder.create(parent).map_err(|cause| told(&cause))?;
        builder.recursive(false).mode(0o700).create(&path).map_err(|cause| told(&cause))?;
        let scratch = Self { path: path.clone() };
        if another {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            chown(&path, Some(user), Some(group)).map_err(|cause| told(&cause))?;
        }
        Ok(scratch)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and all in it.
    pub(crate) fn remove(self) -> Result<(), String> {
        remove(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is nobody to tell here; what stays is swept by whoever sweeps after a crash.
        remove(&self.path).ok();
    }
}

/// Removes a directory and all in it. Fine if it is not there.
pub(crate) fn remove(path: &Path) -> Result<(), String> {
    let told =
        |cause: Errno| format!("the scratch directory {} could not be removed: {cause}", path.display());
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(told(Errno::INVAL));
    };
    let name = CString::new(name.as_encoded_bytes()).map_err(|_| told(Errno::INVAL))?;
    let parent = match open(parent, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(told)?,
    };
    for _ in 0..ROUNDS {
        match enter(parent.as_fd(), &name) {
            Err(Errno::NOENT) => return Ok(()),
            // It is no directory, or no longer: a name is all there is to remove.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return unlinkat(&parent, &name, AtFlags::empty()).map_err(told);
            }
            opened => empty(&opened.map_err(told)?).map_err(told)?,
        }
        match unlinkat(&parent, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Somebody is still writing to it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(cause) => return Err(told(cause)),
        }
    }
    Err(told(Errno::NOTEMPTY))
}

/// Takes everything out of the top directory, once.
fn empty(top: &OwnedFd) -> Result<(), Errno> {
    let mut waiting = names(top)?;
    let mut fresh = 0;
    while let Some(name) = waiting.pop() {
        if !unlink(top, &name)? {
            waiting.extend(lift(top, &name, &mut fresh)?);
        }
    }
    Ok(())
}

/// Takes the files out of a directory at the first level, moves the directories in it up to that level, and removes it.
/// Says how those are called now.
fn lift(top: &OwnedFd, name: &CStr, fresh: &mut u64) -> Result<Vec<CString>, Errno> {
    let mut lifted = Vec::new();
    let Some(directory) = gone(enter(top.as_fd(), name))? else { return Ok(lifted) };
    for name in names(&directory)? {
        if !unlink(&directory, &name)? {
            lifted.extend(move_up(&directory, &name, top, fresh)?);
        }
    }
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        // If somebody filled it meanwhile, the next round finds it.
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(lifted),
        removed => gone(removed).map(|_| lifted),
    }
}

/// Removes a file; false if it is a directory, or may be.
fn unlink(directory: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        removed => gone(removed).map(|_| true),
    }
}

fn move_up(from: &OwnedFd, name: &CStr, top: &OwnedFd, fresh: &mut u64) -> Result<Option<CString>, Errno> {
    // To move a directory is to change what is above it, which takes the right to write to it.
    if gone(enter(from.as_fd(), name))?.is_none() {
        return Ok(None);
    }
    loop {
        *fresh += 1;
        let new = CString::new(format!(".{fresh}")).map_err(|_| Errno::INVAL)?;
        match renameat_with(from, name, top, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            moved => return gone(moved).map(|done| done.map(|()| new)),
        }
    }
}

/// Nothing where there is nothing (any more), or something that is no directory.
fn gone<T>(done: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match done {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        done => done.map(Some),
    }
}

/// What is in a directory.
fn names(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let entries = Dir::read_from(directory)?.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    let others =
        entries.filter(|name| !name.as_ref().is_ok_and(|name| [c".", c".."].contains(&name.as_c_str())));
    others.collect()
}

/// Opens a directory to read it, and never what a link leads to. Where its owner, who we are, may not look into it or
/// change it, that is put right first.
pub(super) fn enter(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    match openat(parent, name, WAY | OFlags::RDONLY, Mode::empty()) {
        Ok(directory) => {
            let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
            if !mode.contains(Mode::RWXU) && !geteuid().is_root() {
                fchmod(&directory, mode | Mode::RWXU).ok();
            }
            Ok(directory)
        }
        Err(Errno::ACCESS) => {
            // A descriptor of this kind needs no right to the directory, and stays with it whatever gets its name.
            let found = openat(parent, name, WAY | OFlags::PATH, Mode::empty())?;
            let way = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
            chmod(way, Mode::RWXU)?;
            openat(&found, c".", WAY | OFlags::RDONLY, Mode::empty())
        }
        Err(cause) => Err(cause),
    }
}

/// Where scratch directories are made: there, unless the program is another user who could not get there. A daemon that
/// runs as root keeps its home closed to the one its programs run as.
pub(crate) fn parent(wanted: PathBuf) -> PathBuf {
    let open = |path: &Path| path.metadata().is_ok_and(|about| about.mode() & 0o001 != 0);
    let another = Identity::attainable().ids().0 != geteuid().as_raw();
    // What lies below is made as it is needed.
    let closed = |path: &Path| path.ancestors().skip(1).any(|above| above.exists() && !open(above));
    if another && closed(&wanted) { std::env::temp_dir() } else { wanted }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;
    use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

    use super::*;
    use crate::linux::identity::NOBODY;

    #[test]
    fn a_directory_that_the_program_could_not_get_to_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        chmod(home.path(), Mode::from_raw_mode(0o700)).unwrap();
        let wanted = home.path().join("run/scratch");
        let expected = if owner().0 == geteuid().as_raw() { wanted.clone() } else { std::env::temp_dir() };
        assert_eq!(parent(wanted.clone()), expected);
        chmod(home.path(), Mode::from_raw_mode(0o711)).unwrap();
        assert_eq!(parent(wanted.clone()), wanted);
    }

    fn owner() -> (u32, u32) {
        Identity::attainable().ids()
    }
    use crate::linux::alone::alone;

    #[test]
    fn a_directory_of_ones_own_is_made_once_and_goes_with_all_in_it() {
        let home = tempfile::tempdir().unwrap();
        let parent = home.path().join("scratch");
        let scratch = Scratch::make(&parent, "run-1", owner()).unwrap();
        let found = fs::metadata(scratch.path()).unwrap();
        assert_eq!(found.mode() & 0o777, 0o700);
        assert_eq!(found.uid(), if geteuid().is_root() { NOBODY } else { geteuid().as_raw() });
        let error = Scratch::make(&parent, "run-1", owner()).unwrap_err();
        assert!(error.contains("run-1"), "{error}");
        fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        scratch.remove().unwrap();
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        remove(&parent.join("run-1")).unwrap();
        for name in ["..", ".", "", "a/b", "/etc"] {
            assert!(Scratch::make(&parent, name, owner()).is_err(), "{name}");
        }
    }

    #[test]
    fn what_links_lead_to_stays() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("kept"), "kept").unwrap();
        let scratch = Scratch::make(home.path(), "run", owner()).unwrap();
        symlink(elsewhere.path(), scratch.path().join("directory")).unwrap();
        symlink(elsewhere.path().join("kept"), scratch.path().join("file")).unwrap();
        fs::create_dir(scratch.path().join("below")).unwrap();
        symlink(elsewhere.path(), scratch.path().join("below/directory")).unwrap();
        scratch.remove().unwrap();
        assert!(elsewhere.path().join("kept").exists());

        let link = home.path().join("link");
        symlink(elsewhere.path(), &link).unwrap();
        remove(&link).unwrap();
        assert!(elsewhere.path().join("kept").exists() && fs::symlink_metadata(&link).is_err());
    }

    #[test]
    fn directories_nested_deeper_than_any_path_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(home.path(), "run", owner()).unwrap();
        let mut here = open(scratch.path(), WAY, Mode::empty()).unwrap();
        let name = CString::new("d".repeat(200)).unwrap();
        for _ in 0..1000 {
            mkdirat(&here, &name, Mode::RWXU).unwrap();
            here = openat(&here, &name, WAY, Mode::empty()).unwrap();
        }
        mkdirat(&here, c".1", Mode::RWXU).unwrap();
        scratch.remove().unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn directories_a_program_shut_are_opened_and_removed() {
        if !alone("linux::scratch::tests::directories_a_program_shut_are_opened_and_removed") {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        if geteuid().is_root() {
            // Rights do not stop root: become the user the program would be.
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            chown(home.path(), Some(user), Some(group)).unwrap();
            set_thread_res_gid(group, group, group).unwrap();
            set_thread_res_uid(user, user, user).unwrap();
        }
        let parent = home.path().join("parent");
        let scratch = Scratch::make(&parent, "run", owner()).unwrap();
        for mode in [0o000, 0o400, 0o300, 0o500] {
            let path = scratch.path().join(format!("{mode:o}"));
            fs::create_dir_all(path.join("a/b")).unwrap();
            fs::write(path.join("a/file"), "text").unwrap();
            for below in ["a/b", "a", ""] {
                fs::set_permissions(path.join(below), fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o000)).unwrap();
        scratch.remove().unwrap();
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        fs::remove_dir(&parent).unwrap();
    }

    #[test]
    fn a_directory_that_is_filled_while_it_goes_is_removed_all_the_same() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let scratch = Scratch::make(home.path(), "run", owner()).unwrap();
            let path = scratch.path().to_owned();
            let writer = std::thread::spawn(move || {
                for number in 0..100 {
                    let directory = path.join(format!("{number}/{number}"));
                    fs::create_dir_all(&directory)
                        .and_then(|()| fs::write(directory.join("file"), "text"))
                        .ok();
                    if !path.exists() {
                        break;
                    }
                }
            });
            remove(scratch.path()).ok();
            writer.join().unwrap();
            scratch.remove().unwrap();
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }
}
