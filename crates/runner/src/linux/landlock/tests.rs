//! Every attempt is made twice by real processes: as it is, where it works, and behind the fence, where it must not.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::*;
use crate::linux::attempt::{Outcome, attempt, works_behind, works_only_without};

mod files;
mod neighbours;

/// A directory to try things in: `secret` lies outside the fence, `shown` may be read, `own` may be written.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["secret", "shown", "own", "own/below"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        for name in ["secret/file", "shown/file", "own/file", "own/below/file"] {
            fs::write(root.path().join(name), "text").unwrap();
        }
        Self { root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn fence(&self) -> Fence {
        let system = ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(PathBuf::from);
        Fence {
            read: system.into_iter().chain([self.at("shown")]).collect(),
            write: vec![self.at("own"), "/dev/null".into()],
            connect: Ports::All,
            bind: true,
        }
    }
}

/// Puts up a fence.
fn within(fence: &Fence) -> io::Result<()> {
    prepare(fence)?.restrict()
}

#[test]
fn a_kernel_tells_its_strength_by_one_number() {
    assert_eq!(Strength::of(0), Strength::default());
    let first = Strength { files: true, abi: 1, ..Strength::default() };
    assert_eq!(Strength::of(1), first);
    assert_eq!(Strength::of(3), Strength { truncate: true, abi: 3, ..first });
    assert_eq!(Strength::of(5), Strength { truncate: true, tcp: true, abi: 5, ..first });
    assert_eq!(Strength::of(8), Strength { truncate: true, tcp: true, scopes: true, abi: 8, ..first });
    assert_eq!(Strength::of(9).abi, 9);
    assert!(Strength::of(9).sockets && Strength::of(12).sockets);
}

#[test]
fn a_kernel_without_landlock_is_no_error() {
    use crate::linux::seccomp::without_call;
    let place = Place::new();
    let outcome = attempt(|| {
        without_call(libc::SYS_landlock_create_ruleset)?;
        if Strength::probe() != Strength::default() {
            return Err(io::ErrorKind::Other.into());
        }
        within(&place.fence())?;
        fs::read(place.at("secret/file")).map(drop)
    });
    assert_eq!(outcome, Outcome::Fine);
}

#[test]
fn a_path_that_is_not_there_is_named() {
    let place = Place::new();
    for (missing, kind) in
        [("nowhere", io::ErrorKind::NotFound), ("shown/file/below", io::ErrorKind::NotADirectory)]
    {
        let mut fence = place.fence();
        fence.read.push(place.at(missing));
        let error = prepare(&fence).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(missing), "{error}");
    }
}
