//! A root with links in every direction, and things beside it that nobody may reach or change.

mod attacks;
mod paths;
#[cfg(target_os = "linux")]
mod race;
mod reading;
mod writing;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::resolve::Way;
use super::*;

/// What stands in every file outside.
const SECRET: &str = "nobody may read this";

/// A name that no path inside has, whatever was written there.
const ONLY_OUTSIDE: &str = "seen-only-outside";

/// A root called `workspace`, and its surroundings.
struct World {
    whole: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { whole: TempDir::new().unwrap() };
        let (inside, outside) = (world.inside(), world.beside("outside"));
        fs::create_dir_all(inside.join("sub/deep")).unwrap();
        fs::write(inside.join("notes.md"), "notes").unwrap();
        fs::write(inside.join("sub/deep/file.txt"), "deep").unwrap();
        for neighbour in ["outside/secret.txt", "inside-evil/secret.txt", "workspace/secret.txt"] {
            fs::create_dir_all(world.beside(neighbour).parent().unwrap()).unwrap();
            fs::write(world.beside(neighbour), SECRET).unwrap();
            fs::write(world.beside(neighbour).with_file_name(ONLY_OUTSIDE), "").unwrap();
        }
        let links: &[(&str, &Path)] = &[
            ("to_sub", Path::new("sub")),
            ("to_notes", Path::new("./sub/../notes.md")),
            ("out", Path::new("../outside")),
            ("out_file", Path::new("../outside/secret.txt")),
            ("out_new", Path::new("../outside/new.txt")),
            ("sub/up", Path::new("../..")),
            ("absolute_out", &outside),
            ("absolute_in", &inside.join("notes.md")),
            ("loop_a", Path::new("loop_b")),
            ("loop_b", Path::new("loop_a")),
            ("self", Path::new("self")),
            ("nowhere", Path::new("missing")),
            ("magic", Path::new("/proc/self/cwd")),
        ];
        for (name, target) in links {
            symlink(target, inside.join(name)).unwrap();
        }
        let pipe = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, inside.join("pipe"), rustix::fs::FileType::Fifo, pipe, 0).unwrap();
        drop(UnixListener::bind(inside.join("socket")).unwrap());
        world
    }

    fn inside(&self) -> PathBuf {
        self.beside("inside")
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.whole.path().join(name)
    }

    /// The root by every way there is.
    fn roots(&self) -> Vec<Root> {
        let opened = || Root::open(&self.inside(), "workspace").unwrap();
        let steps = Root { way: Way::Steps, ..opened() };
        if opened().way == Way::Steps { vec![steps] } else { vec![opened(), steps] }
    }

    /// Everything outside the root: paths, and what stands there.
    fn surroundings(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.whole.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path == self.inside() {
                    continue;
                }
                if path.is_dir() {
                    open.push(path.clone());
                }
                found.insert(path.clone(), fs::read(&path).ok());
            }
        }
        found
    }
}
