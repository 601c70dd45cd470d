//! Going through everything beneath a directory, by handle, without following a link. Names come in order, each directory
//! before what it holds.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::vec;

use rustix::fs::{Mode, OFlags};

use super::list::{Entry, entries};
use super::path::DEEPEST;
use super::read::whole;
use super::{FileError, FileKind, Metadata, Root, Why};

/// The most bytes of names that are held at once.
const HELD: usize = 48 << 20;

/// What one name costs beside its letters.
const NAME: usize = 64;

/// Something that was found.
pub struct Found<'a> {
    /// Its path from the root.
    pub path: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What it is; of a symbolic link, the link.
    pub kind: FileKind,
    directory: &'a OwnedFd,
    root: &'a str,
}

/// Where to go from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// On; into it, where it is a directory.
    In,
    /// On, and not into it.
    Past,
    /// Nowhere.
    Stop,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walked {
    /// How many directories were not entered: they went away, may not be read, or lie too deep.
    pub skipped: u64,
    /// How many names were passed over: they are not UTF-8, so that nothing can be opened by them, or there were too many.
    pub unnamed: u64,
}

impl Found<'_> {
    /// What the system knows of it.
    pub fn metadata(&self) -> Result<Metadata, FileError> {
        Metadata::at(self.directory, self.name).map_err(|why| FileError::new(why, self.root, self.path))
    }

    /// The bytes of the file, unless it has more than that many. A link put in its place meanwhile is not followed.
    pub fn read(&self, most: u64) -> Result<Vec<u8>, FileError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        rustix::fs::openat(self.directory, self.name, flags, Mode::empty())
            .map_err(Why::from)
            .and_then(|handle| whole(handle, most))
            .map_err(|why| FileError::new(why, self.root, self.path))
    }
}

/// A directory that is being gone through.
struct Level {
    directory: OwnedFd,
    path: String,
    names: vec::IntoIter<Entry>,
    weight: usize,
}

impl Root {
    /// Shows everything beneath that directory.
    pub fn walk(&self, path: &str, each: &mut dyn FnMut(Found<'_>) -> Step) -> Result<Walked, FileError> {
        self.named(path, |place| {
            let mut walked = Walked::default();
            let start = place.whole();
            let path = if start == "." { String::new() } else { start.clone() };
            let mut levels = vec![Level::read(self.directory(&start)?, path, HELD, &mut walked)?];
            while let Some(level) = levels.last_mut() {
                let Some(entry) = level.names.next() else {
                    levels.pop();
                    continue;
                };
                match each(level.found(&entry, &level.beneath(&entry.name), &self.shown)) {
                    Step::Stop => break,
                    Step::In if entry.kind == FileKind::Directory => {
                        let entered = entered(&levels, &entry.name, &mut walked);
                        walked.skipped += u64::from(entered.is_none());
                        levels.extend(entered);
                    }
                    Step::In | Step::Past => {}
                }
            }
            Ok(walked)
        })
    }
}

/// The directory of that name in the last of these, unless that is too deep, or it cannot be read.
fn entered(levels: &[Level], name: &str, walked: &mut Walked) -> Option<Level> {
    let above = levels.last().filter(|_| levels.len() < DEEPEST)?;
    let held: usize = levels.iter().map(|level| level.weight).sum();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(&above.directory, name, flags, Mode::empty()).ok()?;
    Level::read(directory, above.beneath(name), HELD.saturating_sub(held), walked).ok()
}

impl Level {
    fn read(directory: OwnedFd, path: String, room: usize, walked: &mut Walked) -> Result<Self, Why> {
        let mut names = Vec::new();
        let mut weight = 0;
        let listed = directory.try_clone()?;
        entries(listed, &mut |_| ControlFlow::Continue(()), &mut |entry| {
            if entry.name.contains('\u{fffd}') || weight + entry.name.len() + NAME > room {
                walked.unnamed += 1;
            } else {
                weight += entry.name.len() + NAME;
                names.push(entry);
            }
            ControlFlow::Continue(())
        })?;
        names.sort_unstable();
        Ok(Self { directory, path, names: names.into_iter(), weight })
    }

    fn beneath(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    fn found<'a>(&'a self, entry: &'a Entry, path: &'a str, root: &'a str) -> Found<'a> {
        Found { path, name: &entry.name, kind: entry.kind, directory: &self.directory, root }
    }
}
