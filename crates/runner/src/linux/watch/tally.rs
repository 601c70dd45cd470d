//! How many bytes are in a directory and all below it, added up a few thousand entries at a time.
//!
//! By descriptor and without following a link, so that a program cannot lead us elsewhere while we walk. Every file
//! counts once, however many names it has or gets meanwhile.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Dir, FileType, fstat, statat};

use super::Slice;
use crate::linux::scratch::enter;

/// How deep directories may lie in each other. Each level holds a descriptor; no honest program needs as many.
const DEEPEST: usize = 200;

/// What an entry takes at least, so that many empty files fill a directory too.
const LEAST: u64 = 512;

/// The sum of one directory, taken again and again.
#[derive(Debug)]
pub(super) struct Tally {
    path: PathBuf,
    root: Option<OwnedFd>,
    device: u64,
    trail: Vec<Level>,
    known: HashSet<u64>,
    sum: u64,
}

/// A directory on the way from the root to where we are.
#[derive(Debug)]
struct Level {
    listing: Dir,
    listed: bool,
    below: Vec<CString>,
}

/// How far a round has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is more to see.
    Part,
    /// Everything was seen: so many bytes.
    Whole(u64),
    /// There is more than there is room.
    Over,
}

impl Tally {
    pub(super) fn new(path: PathBuf) -> Self {
        let mut tally =
            Self { path, root: None, device: 0, trail: Vec::new(), known: HashSet::new(), sum: 0 };
        tally.open();
        tally
    }

    /// The device the directory is on.
    pub(super) fn device(&self) -> Option<u64> {
        self.root.is_some().then_some(self.device)
    }

    fn open(&mut self) {
        let path = CString::new(self.path.as_os_str().as_encoded_bytes()).unwrap_or_default();
        self.root = enter(CWD, &path).ok();
        self.device = self.root.as_ref().and_then(|root| fstat(root).ok()).map_or(0, |stat| stat.st_dev);
    }

    /// Takes in entries for a while.
    pub(super) fn go_on(&mut self, slice: &mut Slice, room: u64) -> Progress {
        if self.trail.is_empty() && !self.begin() {
            return Progress::Whole(0);
        }
        loop {
            if self.sum > room || self.trail.len() > DEEPEST {
                self.trail.clear();
                return Progress::Over;
            }
            if !self.step() {
                return Progress::Whole(self.sum);
            }
            if slice.is_over() {
                return Progress::Part;
            }
        }
    }

    /// Begins a round, if the directory can be read.
    fn begin(&mut self) -> bool {
        if self.root.is_none() {
            self.open();
        }
        (self.sum, self.known) = (0, HashSet::new());
        let listing = self.root.as_ref().and_then(|root| Dir::read_from(root).ok());
        self.trail.extend(listing.map(|listing| Level { listing, listed: false, below: Vec::new() }));
        !self.trail.is_empty()
    }

    /// Takes in one entry, or goes down or up one level; false after the last one.
    fn step(&mut self) -> bool {
        let Some(level) = self.trail.last_mut() else { return false };
        if !level.listed {
            match level.listing.read() {
                Some(Ok(entry)) => self.count(entry.file_name().to_owned()),
                // What cannot be listed any further has gone.
                Some(Err(_)) | None => level.listed = true,
            }
            return true;
        }
        let Some(name) = level.below.pop() else {
            self.trail.pop();
            return !self.trail.is_empty();
        };
        let listing = level.listing.fd().and_then(|parent| enter(parent, &name)).and_then(Dir::new);
        self.trail.extend(listing.map(|listing| Level { listing, listed: false, below: Vec::new() }));
        true
    }

    fn count(&mut self, name: CString) {
        let Some(level) = self.trail.last_mut() else { return };
        if [&b"."[..], b".."].contains(&name.as_bytes()) {
            return;
        }
        let parent = level.listing.fd();
        let Ok(stat) = parent.and_then(|parent| statat(parent.as_fd(), &name, AtFlags::SYMLINK_NOFOLLOW))
        else {
            return;
        };
        if stat.st_dev == self.device && self.known.insert(stat.st_ino) {
            let bytes = u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512);
            self.sum = self.sum.saturating_add(bytes.max(LEAST));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                level.below.push(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    const PLENTY: u64 = 1 << 40;

    fn whole(tally: &mut Tally) -> u64 {
        loop {
            match tally.go_on(&mut Slice::of(7), PLENTY) {
                Progress::Part => {}
                Progress::Whole(sum) => return sum,
                Progress::Over => panic!("over"),
            }
        }
    }

    fn fill(path: &Path, bytes: usize) {
        fs::write(path, vec![1; bytes]).unwrap();
        File::open(path).unwrap().sync_all().unwrap();
    }

    #[test]
    fn files_at_all_levels_count_once_and_links_lead_nowhere() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fill(&elsewhere.path().join("large"), 5_000_000);
        let mut tally = Tally::new(home.path().to_owned());
        assert_eq!(whole(&mut tally), 0);

        let deep = home.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fill(&deep.join("file"), 1_000_000);
        fs::hard_link(deep.join("file"), home.path().join("again")).unwrap();
        symlink(elsewhere.path(), deep.join("directory")).unwrap();
        symlink(elsewhere.path().join("large"), deep.join("link")).unwrap();
        let sum = whole(&mut tally);
        assert!((1_000_000..1_100_000).contains(&sum), "{sum}");

        fs::remove_dir_all(home.path().join("a")).unwrap();
        let sum = whole(&mut tally);
        assert!((1_000_000..1_050_000).contains(&sum), "{sum}");
        fs::remove_file(home.path().join("again")).unwrap();
        assert_eq!(whole(&mut tally), 0);
    }

    #[test]
    fn the_walk_ends_as_soon_as_there_is_too_much() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..300 {
            File::create(home.path().join(number.to_string())).unwrap();
        }
        let mut tally = Tally::new(home.path().to_owned());
        assert_eq!(tally.go_on(&mut Slice::of(1000), 100 * 512), Progress::Over);
        assert_eq!(tally.go_on(&mut Slice::of(1000), 300 * 512), Progress::Whole(300 * 512));
    }

    #[test]
    fn directories_without_end_are_too_much() {
        let home = tempfile::tempdir().unwrap();
        let mut path = home.path().to_owned();
        for _ in 0..DEEPEST + 10 {
            path.push("d");
            fs::create_dir(&path).unwrap();
        }
        let mut tally = Tally::new(home.path().to_owned());
        assert_eq!(tally.go_on(&mut Slice::of(10_000), PLENTY), Progress::Over);
    }

    #[test]
    fn a_directory_that_is_gone_is_empty() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("scratch");
        assert_eq!(Tally::new(path.clone()).go_on(&mut Slice::of(10), PLENTY), Progress::Whole(0));
        fs::create_dir(&path).unwrap();
        let mut tally = Tally::new(path.clone());
        fs::remove_dir(&path).unwrap();
        assert_eq!(tally.go_on(&mut Slice::of(10), PLENTY), Progress::Whole(0));
    }
}
