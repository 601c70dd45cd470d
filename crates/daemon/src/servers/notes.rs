//! Where small things are kept over restarts: one file for each, in `run/notes` of the home.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use covenant_mcp::upstream::ports;

use crate::atomic;

/// The most bytes of one note.
const LIMIT: usize = 4 * 1024 * 1024;

/// The longest key.
const LONGEST: usize = 128;

/// Notes in one directory.
pub(crate) struct Notes {
    directory: PathBuf,
}

impl Notes {
    /// Notes in that directory, which is there.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The file of that key, if it can be one.
    fn file(&self, key: &str) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_key = (1..=LONGEST).contains(&key.len()) && key.bytes().all(plain);
        is_key.then(|| self.directory.join(key))
    }
}

impl ports::Notes for Notes {
    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        let limit = u64::try_from(LIMIT).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let file = File::open(self.file(key)?).ok()?;
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= LIMIT).then_some(bytes)
    }

    fn keep(&self, key: &str, bytes: &[u8]) {
        let kept = match self.file(key) {
            None => Err(io::Error::other("it cannot be called that")),
            Some(_) if bytes.len() > LIMIT => Err(io::Error::other(format!("it is over {LIMIT} bytes"))),
            Some(file) => atomic::replace(&file, bytes),
        };
        if let Err(error) = kept {
            tracing::debug!(target: "covenant", key, "a note is not kept: {error}");
            self.forget(key);
        }
    }

    fn forget(&self, key: &str) {
        if let Some(file) = self.file(key) {
            // It may not be there.
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use covenant_mcp::upstream::ports::Notes as _;

    use super::*;

    #[test]
    fn what_is_kept_is_recalled_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path().to_owned());
        assert_eq!(notes.recall("tools-a"), None);
        notes.keep("tools-a", b"one");
        notes.keep("tools-a", b"two");
        let again = Notes::new(directory.path().to_owned());
        assert_eq!(again.recall("tools-a").as_deref(), Some(&b"two"[..]));
        let mode = directory.path().join("tools-a").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        again.forget("tools-a");
        assert_eq!(notes.recall("tools-a"), None);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_note_that_is_too_large_is_none_and_replaces_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::new(directory.path().to_owned());
        notes.keep("a", b"old");
        notes.keep("a", &vec![b'x'; LIMIT + 1]);
        assert_eq!(notes.recall("a"), None, "the old one is not true any more");
        std::fs::write(directory.path().join("b"), vec![b'x'; LIMIT + 1]).unwrap();
        assert_eq!(notes.recall("b"), None);
    }

    #[test]
    fn a_key_never_leads_out_of_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("notes");
        std::fs::create_dir(&inside).unwrap();
        let notes = Notes::new(inside);
        std::fs::write(directory.path().join("secret"), "x").unwrap();
        for key in ["../secret", "", ".", "a/b", "a.b", &"x".repeat(LONGEST + 1)] {
            notes.keep(key, b"y");
            assert_eq!(notes.recall(key), None, "{key}");
            notes.forget(key);
        }
        assert_eq!(std::fs::read(directory.path().join("secret")).unwrap(), b"x");
    }
}
