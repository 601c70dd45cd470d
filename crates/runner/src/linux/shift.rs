//! Root's files in the hands of nobody: a program of a daemon that runs as root is nobody, and what was named for it should be
//! its own all the same.
//!
//! An id-mapped mount shows what root owns as owned by nobody, for that mount alone, and what the program writes there is
//! root's outside. Some file systems cannot do that (overlays, network file systems); then the ordinary rights count.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::channel::Channel;
use crate::linux::identity::{Identity, NOBODY};
use crate::linux::monitor::Watched;
use crate::linux::sources::{Sources, Use};
use crate::linux::{sys, view};

/// Prepares the named paths, as far as it can be done. From outside, as root.
pub(super) fn prepare(sources: &mut Sources) {
    let named = |purpose: Use| matches!(purpose, Use::Named | Use::Write);
    if Identity::wanted() != Identity::Nobody || !sources.all.iter().any(|source| named(source.purpose)) {
        return;
    }
    let Ok(users) = users() else { return };
    for source in sources.all.iter_mut().filter(|source| named(source.purpose)) {
        let shifted = view::copied(source).and_then(|tree| {
            sys::set_attributes(tree.as_fd(), 0, Some(users.as_fd()))?;
            Ok(tree)
        });
        source.tree = shifted.ok();
    }
}

/// A user namespace in which root is called nobody. It needs a process to be made by and none to stay.
fn users() -> io::Result<OwnedFd> {
    let (ours, mut theirs) = Channel::pair()?;
    let Some(pid) = sys::clone(libc::CLONE_NEWUSER)? else {
        drop(ours);
        // Until the other end closes.
        theirs.receive().ok();
        std::process::exit(0)
    };
    drop(theirs);
    let keeper = Watched::new(pid)?;
    let file = |name: &str| format!("/proc/{}/{name}", pid.as_raw_nonzero());
    let map = format!("0 {NOBODY} 1\n");
    let made =
        std::fs::write(file("uid_map"), &map).and_then(|()| std::fs::write(file("gid_map"), &map)).and_then(
            |()| Ok(rustix::fs::open(file("ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?),
        );
    drop(ours);
    keeper.wait();
    made
}
