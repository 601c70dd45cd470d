//! The file system a sandboxed program sees: built anew in a mount namespace, from nothing.
//!
//! The root is an empty directory in memory, read-only once it is built. What the program may see is mounted into it,
//! read-only unless it may write there; `/proc` shows only the sandbox, and nothing can be written to it; its scratch
//! directory is a file system of its own, so its size is a fact and it is gone with the last process.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    mount_remount, move_mount, open_tree, unmount,
};

use crate::linux::hidden::Same;
use crate::linux::sources::{Source, Sources, Use};
use crate::linux::sys;
use crate::order::Sandbox;

/// Where the program may write, runs, and has its home.
pub(super) const SCRATCH: &str = "/scratch";

/// Where the new root may be mounted while it is built: what lies there has been opened before.
const STAGES: [&str; 2] = ["/tmp", "/usr"];

/// Files of `/proc` that tell of the whole machine.
const MASKED: &[&str] = &[
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/sysrq-trigger",
];

/// Whose scratch directory it is.
pub(super) struct Owner {
    /// User.
    pub(super) uid: u32,
    /// Group.
    pub(super) gid: u32,
}

/// Why there is no view.
pub(super) enum Trouble {
    /// This host gives the namespace no rights: every order would fail.
    Host(io::Error),
    /// Something that this order asks for.
    Order(io::Error),
}

/// Builds the view and moves this process into it.
pub(super) fn enter(sources: &Sources, sandbox: &Sandbox, owner: &Owner) -> Result<(), Trouble> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(host)?;
    let mut mounts = Vec::with_capacity(sources.all.len());
    for source in &sources.all {
        let tree = detached(source).map_err(|error| Trouble::Order(in_the_way(&source.at, &error)))?;
        mounts.push((source, tree));
    }
    leave().map_err(Trouble::Host)?;
    scratch(sources, sandbox, owner).map_err(Trouble::Order)?;
    furnish(sources, mounts).map_err(Trouble::Order)?;
    mask();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
    mount_remount("/", flags, c"").map_err(host)
}

fn host(errno: rustix::io::Errno) -> Trouble {
    Trouble::Host(errno.into())
}

/// Leaves everything for an empty root, with its own `/proc`.
fn leave() -> io::Result<()> {
    let no_suid = MountFlags::NOSUID | MountFlags::NODEV;
    let stage = STAGES.into_iter().find(|stage| Path::new(stage).is_dir()).unwrap_or("/");
    mount("tmpfs", stage, "tmpfs", no_suid, Some(c"size=1m,nr_inodes=4096,mode=755"))?;
    std::env::set_current_dir(stage)?;
    std::fs::create_dir("proc")?;
    // A container that hides parts of its own `/proc` cannot give out a whole one; programs get by without.
    mount("proc", "proc", "proc", no_suid | MountFlags::NOEXEC | MountFlags::RDONLY, None).ok();
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

/// A copy of what is mounted at a source, with all below it, that is mounted nowhere yet. Of what was named: the very
/// file or directory that was looked at.
pub(super) fn copied(source: &Source) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    if source.same.is_none() {
        return Ok(open_tree(CWD, &source.at, flags)?);
    }
    Ok(open_tree(found(source)?, c"", flags | OpenTreeFlags::AT_EMPTY_PATH)?)
}

/// The very file or directory that was looked at when it was named.
pub(super) fn found(source: &Source) -> io::Result<OwnedFd> {
    let how = OFlags::PATH | OFlags::CLOEXEC;
    let found = openat2(CWD, &source.at, how, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    if Some(Same::of(&fstat(&found)?)) != source.same {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    Ok(found)
}

/// The same, with what may be done there.
fn detached(source: &Source) -> io::Result<OwnedFd> {
    let tree = match &source.tree {
        Some(tree) => tree.try_clone()?,
        None => copied(source)?,
    };
    let attributes = match source.purpose {
        Use::System | Use::Named => sys::READ_ONLY | sys::NO_SUID | sys::NO_DEVICES,
        Use::Write => sys::NO_SUID | sys::NO_DEVICES,
        Use::Device => sys::NO_SUID,
    };
    sys::set_attributes(tree.as_fd(), attributes, None)?;
    Ok(tree)
}

/// A file system in memory with a size, and the places programs expect to write to.
fn scratch(sources: &Sources, sandbox: &Sandbox, owner: &Owner) -> io::Result<()> {
    std::fs::create_dir(SCRATCH)?;
    let inodes = sandbox.disk_mb.saturating_mul(256).max(1024);
    let options =
        format!("size={}m,nr_inodes={inodes},mode=700,uid={},gid={}", sandbox.disk_mb, owner.uid, owner.gid);
    let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", SCRATCH, "tmpfs", flags, Some(options.as_c_str()))?;
    // Unless it was named itself; what was named below it is mounted in the scratch directory.
    if sources.all.iter().any(|source| source.at == Path::new("/tmp")) {
        std::fs::create_dir("/tmp")?;
    } else {
        std::os::unix::fs::symlink("scratch", "/tmp")?;
    }
    std::fs::create_dir("/dev")?;
    std::os::unix::fs::symlink("../scratch", "/dev/shm")?;
    for (name, to) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        std::os::unix::fs::symlink(format!("/proc/self/{to}"), Path::new("/dev").join(name))?;
    }
    Ok(())
}

/// Something to be put at a path.
enum Piece<'s> {
    Mount(&'s Source, OwnedFd),
    Nothing,
}

/// Puts everything in its place, what lies above first. A hidden directory is covered with an empty one after what holds
/// it and before what lies inside it.
fn furnish(sources: &Sources, mounts: Vec<(&Source, OwnedFd)>) -> io::Result<()> {
    let mut pieces: Vec<(&Path, Piece<'_>)> = Vec::new();
    for (source, tree) in mounts {
        pieces.push((&source.at, Piece::Mount(source, tree)));
    }
    for path in &sources.hidden {
        pieces.push((path, Piece::Nothing));
    }
    pieces.sort_by_key(|(path, piece)| (path.components().count(), matches!(piece, Piece::Nothing)));
    let mut covers = Vec::new();
    for (path, piece) in &pieces {
        match piece {
            Piece::Mount(source, tree) => {
                let placed = make_place(path, source.is_directory).and_then(|()| {
                    Ok(move_mount(tree, c"", CWD, *path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
                });
                placed.map_err(|error| in_the_way(path, &error))?;
            }
            Piece::Nothing if path.is_dir() => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                mount("tmpfs", *path, "tmpfs", flags, Some(c"size=64k,nr_inodes=1024,mode=755"))?;
                covers.push((*path, flags));
            }
            Piece::Nothing => {}
        }
    }
    // Only now: what lies inside had to be given its place.
    for (path, flags) in covers {
        mount_remount(path, flags | MountFlags::RDONLY, c"")?;
    }
    for link in &sources.links {
        if let Some(parent) = link.at.parent() {
            std::fs::create_dir_all(parent).ok();
        }
        // Where something shown holds the link already, it is there.
        std::os::unix::fs::symlink(&link.to, &link.at).ok();
    }
    Ok(())
}

/// Something to mount on, unless it is there.
fn make_place(path: &Path, is_directory: bool) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if is_directory {
        return std::fs::create_dir_all(path);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::File::create_new(path).map(drop)
}

/// Covers what tells of the whole machine.
fn mask() {
    for path in MASKED {
        // What is not there needs no cover; and all of it is read-only to begin with.
        rustix::mount::mount_bind("/dev/null", *path).ok();
    }
}

fn in_the_way(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
