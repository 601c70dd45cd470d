//! A disk that is small enough to fill. Needs root, as mounting does.

use std::path::{Path, PathBuf};

/// A mounted file system of a few megabytes, unmounted when dropped.
pub struct Tmpfs {
    at: tempfile::TempDir,
}

impl Tmpfs {
    /// Mounts one; `None` without the right to (where `CI` is set, the test stops instead).
    ///
    /// # Panics
    /// If `CI` is set and mounting failed.
    pub fn mount(megabytes: u32) -> Option<Self> {
        let at = tempfile::Builder::new().prefix("cov").tempdir().expect("a temporary directory");
        let size = format!("size={megabytes}m,mode=0700");
        if run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], at.path()) {
            return Some(Self { at });
        }
        assert!(std::env::var_os("CI").is_none(), "CI must be able to mount a tmpfs");
        #[expect(clippy::print_stderr, reason = "a skipped part is one loud line")]
        {
            eprintln!("SKIPPED: the test of a full disk needs root to mount a tmpfs");
        }
        None
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.at.path()
    }

    /// Writes a file until nothing more fits; removing it makes room again.
    ///
    /// # Panics
    /// If it cannot be written at all.
    pub fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.at.path().join("filler");
        let mut file = std::fs::File::create(&path).expect("a file on the small disk");
        for size in [65_536, 4096, 512, 64, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        run("umount", &["-l"], self.at.path());
    }
}

#[expect(clippy::disallowed_methods, reason = "tests mount a disk of their own")]
fn run(program: &str, arguments: &[&str], at: &Path) -> bool {
    std::process::Command::new(program).args(arguments).arg(at).status().is_ok_and(|status| status.success())
}
