//! Notices that something happened in a directory: at once where the system tells, else by looking every two seconds.
//!
//! Directories are watched and not files, so that a file that is replaced by another of its name is seen. What happened is
//! not told: whoever waits looks for himself. Writes to a file that stays open are no news, for the database in the home
//! is written to with every call.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;

/// How often is looked where nobody tells.
const POLL: Duration = Duration::from_secs(2);

/// Waits for news of directories.
pub(super) struct Lookout {
    #[cfg(target_os = "linux")]
    told: Option<linux::Told>,
    /// Whether every directory is watched by the system.
    whole: bool,
}

impl Lookout {
    /// A lookout that watches nothing yet.
    pub(super) fn new() -> Self {
        #[cfg(target_os = "linux")]
        let told = linux::Told::open()
            .inspect_err(|error| {
                tracing::info!(target: "covenant", "the system does not tell of changed files, so they are looked at every 2 s: {error}");
            })
            .ok();
        Self {
            #[cfg(target_os = "linux")]
            told,
            whole: false,
        }
    }

    /// Watches those directories too, as far as they are there.
    pub(super) fn watch(&mut self, directories: &[PathBuf]) {
        #[cfg(target_os = "linux")]
        {
            self.whole = self.told.as_ref().is_some_and(|told| told.watch(directories));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = directories;
    }

    /// Comes back when something may have happened. Cancel safe.
    pub(super) async fn news(&self) {
        let look = async {
            if self.whole {
                std::future::pending::<()>().await;
            }
            sleep(POLL).await;
        };
        #[cfg(target_os = "linux")]
        if let Some(told) = &self.told {
            tokio::select! {
                () = told.news() => {}
                () = look => {}
            }
            return;
        }
        look.await;
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! The kernel's own word: inotify.

    use std::io;
    use std::path::PathBuf;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;
    use tokio::net::unix::pipe::Receiver;

    /// What the kernel tells, which is read as a pipe is.
    pub(super) struct Told(Receiver);

    impl Told {
        pub(super) fn open() -> io::Result<Self> {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            Ok(Self(Receiver::from_owned_fd_unchecked(fd)?))
        }

        /// Whether all of those that are there are watched. To name one again changes nothing.
        pub(super) fn watch(&self, directories: &[PathBuf]) -> bool {
            let events = WatchFlags::CREATE
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            directories.iter().fold(true, |whole, directory| {
                let watched = inotify::add_watch(&self.0, directory, events);
                // What is not there is seen to come by the directory above.
                whole & matches!(watched, Ok(_) | Err(Errno::NOENT | Errno::NOTDIR))
            })
        }

        pub(super) async fn news(&self) {
            let mut events = [0; 4096];
            while self.0.readable().await.is_ok() {
                match self.0.try_read(&mut events) {
                    Ok(_) => return,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
            }
            // It does not come back: then nobody must turn in circles.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn files_that_come_change_or_are_replaced_are_news() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mut lookout = Lookout::new();
        lookout.watch(&[directory.path().to_owned(), at("missing")]);
        assert!(lookout.whole, "what is missing is no gap");
        fs::write(at("a"), "1").unwrap();
        timeout(LONG, lookout.news()).await.unwrap();
        fs::write(at(".a.tmp"), "2").unwrap();
        timeout(LONG, lookout.news()).await.unwrap();
        fs::rename(at(".a.tmp"), at("a")).unwrap();
        timeout(LONG, lookout.news()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn where_nobody_tells_it_looks_every_two_seconds() {
        let lookout = Lookout {
            #[cfg(target_os = "linux")]
            told: None,
            whole: false,
        };
        let begun = tokio::time::Instant::now();
        lookout.news().await;
        assert_eq!(begun.elapsed(), POLL);
    }
}
