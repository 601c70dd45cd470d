//! The log file: appended to, and moved aside when it is full. A disk that cannot take a line loses that line only.

use std::fs::{File, OpenOptions, rename};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How large the file grows before it is moved aside.
const FULL: u64 = 10 * 1024 * 1024;

/// How many files there are in all.
const FILES: u32 = 5;

/// A log file and its older ones, `NAME.1` to `NAME.4`.
pub(super) struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    full: u64,
}

impl Rotating {
    /// Goes on with that file, or begins it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::with(path, FULL)
    }

    fn with(path: &Path, full: u64) -> io::Result<Self> {
        let (file, size) = open(path)?;
        Ok(Self { path: path.to_owned(), file, size, full })
    }

    /// Appends one line. Nobody can be told where it fails: this is where failures are told.
    pub(super) fn write(&mut self, line: &[u8]) {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.size > 0 && self.size.saturating_add(length) > self.full {
            self.rotate();
        }
        if self.file.write_all(line).is_ok() {
            self.size = self.size.saturating_add(length);
        }
    }

    fn rotate(&mut self) {
        let aside = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..FILES - 1).rev() {
            let _ = rename(aside(number), aside(number + 1));
        }
        // Where the file cannot be moved, it is gone on with: a log that grows is better than none.
        if rename(&self.path, aside(1)).is_ok()
            && let Ok((file, size)) = open(&self.path)
        {
            (self.file, self.size) = (file, size);
        }
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_full_file_is_moved_aside_and_at_most_five_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("covenant.log");
        let mut log = Rotating::with(&path, 100).unwrap();
        for number in 0..200 {
            log.write(format!("line {number:04}\n").as_bytes());
        }
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            names,
            ["covenant.log", "covenant.log.1", "covenant.log.2", "covenant.log.3", "covenant.log.4"]
        );
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(text("covenant.log").ends_with("line 0199\n"));
        let (old, new) = (text("covenant.log.1"), text("covenant.log"));
        let last: u32 = old.lines().last().unwrap()[5..].parse().unwrap();
        assert_eq!(
            new.lines().next().unwrap(),
            format!("line {:04}", last + 1),
            "no line is lost between files"
        );
        assert!(names.iter().all(|name| dir.path().join(name).metadata().unwrap().len() <= 100));
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_is_gone_on_with_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("covenant.log");
        Rotating::with(&path, 100).unwrap().write(b"one\n");
        Rotating::with(&path, 100).unwrap().write(b"two\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_line_longer_than_the_file_is_still_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("covenant.log");
        let mut log = Rotating::with(&path, 10).unwrap();
        log.write(&[b'x'; 50]);
        log.write(&[b'y'; 50]);
        assert_eq!(fs::read(&path).unwrap(), [b'y'; 50]);
    }
}
