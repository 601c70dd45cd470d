//! One daemon per home: an advisory lock on the file `lock`, which says who holds it. The kernel frees it when that
//! process dies, however it dies, so a file left behind is no obstacle.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use covenant_model::time::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::home::Home;

/// The lock of a home, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// What the holder wrote about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its process.
    pub pid: u32,
    /// When it started.
    pub since: Timestamp,
    /// Where its socket lies, if not in the home.
    #[serde(default)]
    pub socket: Option<String>,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon has it.
    #[error("a daemon already serves {}: process {}, since {}; see `covenant status`, end it with `covenant stop`", home.display(), note.pid, note.since)]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Held { home: PathBuf, note: Note },
    /// Another process has it and has not said who it is.
    #[error("another process is starting a daemon for {}; try again in a moment", home.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Taken { home: PathBuf },
    /// The file system said no.
    #[error("the lock {} cannot be taken: {error}; the home must lie on a local file system you can write to", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Io { path: PathBuf, error: io::Error },
}

impl Lock {
    /// Takes the lock of that home, or says who has it.
    pub fn take(home: &Home, note: &Note) -> Result<Self, LockError> {
        let path = home.lock();
        let io = |error| LockError::Io { path: path.clone(), error };
        let mut file = open(home, true).map_err(io)?;
        // Someone who only looks whether the lock is held has it for an instant: a few tries tell the two apart.
        for attempt in 0.. {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if attempt < 5 => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(home)),
                Err(error) => return Err(io(error.into())),
            }
        }
        write(&mut file, note).map_err(io)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Who serves that home now; `None` if nobody does.
pub fn holder(home: &Home) -> Option<Note> {
    let file = open(home, false).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => note(home),
        _ => None,
    }
}

/// What the last holder wrote, whether or not it still lives.
pub(crate) fn note(home: &Home) -> Option<Note> {
    let mut text = String::new();
    open(home, false).ok()?.take(8192).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn held(home: &Home) -> LockError {
    let root = home.root().to_owned();
    match note(home) {
        Some(note) => LockError::Held { home: root, note },
        None => LockError::Taken { home: root },
    }
}

fn open(home: &Home, make: bool) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    OpenOptions::new().read(true).write(make).create(make).mode(0o600).custom_flags(flags).open(home.lock())
}

fn write(file: &mut File, note: &Note) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let mut text = serde_json::to_vec(note)?;
    text.push(b'\n');
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        (dir, home)
    }

    fn me() -> Note {
        Note { pid: 4711, since: Timestamp::from_millis(1_763_253_156_123), socket: None }
    }

    #[test]
    fn a_second_daemon_is_told_who_holds_the_home() {
        let (_dir, home) = home();
        let _lock = Lock::take(&home, &me()).unwrap();
        let refused = Lock::take(&home, &Note { pid: 1, ..me() }).unwrap_err().to_string();
        assert!(
            refused.contains("process 4711") && refused.contains("2025-11-16T00:32:36.123Z"),
            "{refused}"
        );
        assert_eq!(holder(&home), Some(me()));
    }

    #[test]
    fn a_lock_that_was_given_back_can_be_taken() {
        let (_dir, home) = home();
        drop(Lock::take(&home, &me()).unwrap());
        assert_eq!(holder(&home), None);
        Lock::take(&home, &me()).unwrap();
    }

    #[test]
    fn a_file_left_by_a_dead_process_is_no_obstacle() {
        let (_dir, home) = home();
        std::fs::write(home.lock(), r#"{"pid":1,"since":"2020-01-01T00:00:00.000Z"}"#).unwrap();
        assert_eq!(holder(&home), None);
        let _lock = Lock::take(&home, &me()).unwrap();
        assert_eq!(holder(&home), Some(me()));
    }

    #[test]
    fn rubbish_in_the_file_is_no_obstacle() {
        let (_dir, home) = home();
        std::fs::write(home.lock(), [0xff; 100]).unwrap();
        let _lock = Lock::take(&home, &me()).unwrap();
        assert_eq!(holder(&home), Some(me()));
    }

    #[test]
    fn a_holder_that_has_not_said_who_it_is_is_reported_as_starting() {
        let (_dir, home) = home();
        let file = open(&home, true).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        assert!(matches!(Lock::take(&home, &me()), Err(LockError::Taken { .. })));
    }
}
