//! Whether anything happened in a tree of directories since it was last looked through. Costs one request to ask.
//!
//! The system is believed only where it tells of everything: not for directories of other machines, nor where it runs out of
//! room for more of them.

use std::path::{Path, PathBuf};

/// What the system tells of a tree.
pub(super) struct Watch {
    #[cfg(target_os = "linux")]
    told: Option<linux::Told>,
    top: PathBuf,
    whole: bool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            told: linux::Told::open().ok(),
            top: PathBuf::new(),
            whole: false,
        }
    }

    /// Begins with the top, and forgets what was told so far: everything is looked at now.
    pub(super) fn begin(&mut self, top: &Path) {
        self.has_news();
        top.clone_into(&mut self.top);
        #[cfg(target_os = "linux")]
        {
            self.whole = self.told.is_some() && linux::is_local(top);
        }
        self.add("");
    }

    /// Watches a directory of the tree too.
    pub(super) fn add(&mut self, path: &str) {
        #[cfg(target_os = "linux")]
        if let Some(told) = self.told.as_ref().filter(|_| self.whole) {
            self.whole = told.watch(&self.top.join(path));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = path;
    }

    /// Whether the system tells of everything.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether it told of something.
    pub(super) fn has_news(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        return self.told.as_ref().is_some_and(linux::Told::drained);
        #[cfg(not(target_os = "linux"))]
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! The kernel's own word: inotify.

    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;

    /// File systems whose files change without the kernel knowing: NFS, SMB, CIFS, FUSE, 9P, Ceph, AFS.
    const REMOTE: [u64; 8] =
        [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x6573_5546, 0x0102_1997, 0x00c3_6400, 0x5346_414f];

    pub(super) struct Told(OwnedFd);

    impl Told {
        pub(super) fn open() -> Result<Self, Errno> {
            inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map(Self)
        }

        /// Whether the directory is watched, or has gone again.
        pub(super) fn watch(&self, directory: &Path) -> bool {
            let events = WatchFlags::CREATE
                | WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let watched = inotify::add_watch(&self.0, directory, events);
            matches!(watched, Ok(_) | Err(Errno::NOENT | Errno::NOTDIR))
        }

        /// Whether there was anything; afterwards there is nothing.
        pub(super) fn drained(&self) -> bool {
            let mut events = [0_u8; 16 * 1024];
            let mut some = false;
            // A flood has an end: what comes after it is there the next time.
            for _ in 0..1024 {
                match rustix::io::read(&self.0, &mut events) {
                    Ok(1..) => some = true,
                    Err(Errno::INTR) => {}
                    Ok(0) | Err(_) => break,
                }
            }
            some
        }
    }

    pub(super) fn is_local(directory: &Path) -> bool {
        rustix::fs::statfs(directory).is_ok_and(|found| !REMOTE.contains(&magic(found.f_type)))
    }

    /// Half of the numbers are negative where the type is small.
    fn magic(kind: impl TryInto<i64>) -> u64 {
        kind.try_into().unwrap_or_default().cast_unsigned() & 0xffff_ffff
    }
}
