//! Which directories of an interpreter may be shown to a sandboxed program: by their real paths, each once, and nothing
//! that holds more than an interpreter.

use std::path::{Path, PathBuf};

/// Directories in a home that hold more than one program's files.
const SHARED_IN_HOME: [&str; 5] = [".local", ".local/share", ".config", ".cache", ".local/state"];

/// Directories that hold everybody's things.
const SHARED: [&str; 14] = [
    "/", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv", "/sys",
    "/tmp", "/var",
];

/// Directories that every sandboxed program sees.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"];

/// What is shown so far.
#[derive(Debug)]
pub(super) struct Shown<'h> {
    home: Option<&'h Path>,
    paths: Vec<PathBuf>,
}

impl<'h> Shown<'h> {
    /// Nothing yet, for a user with that home.
    pub(super) fn new(home: Option<&'h Path>) -> Self {
        Self { home, paths: Vec::new() }
    }

    /// Shows what is there, unless it is seen anyhow or too wide.
    pub(super) fn add(&mut self, path: &Path) {
        if let Ok(real) = path.canonicalize()
            && !is_system(&real)
            && !self.paths.iter().any(|known| real.starts_with(known))
            && !is_too_wide(&real, self.home)
        {
            self.paths.push(real);
        }
    }

    /// All of it.
    pub(super) fn paths(self) -> Vec<PathBuf> {
        self.paths
    }
}

/// Whether every sandboxed program sees it.
pub fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Whether it holds more than an interpreter: what everybody shares, a home or what contains ours, and the few
/// directories that all programs of a user share.
pub(super) fn is_too_wide(path: &Path, home: Option<&Path>) -> bool {
    let real = home.and_then(|home| home.canonicalize().ok());
    let is_ours =
        |home: &Path| home.starts_with(path) || SHARED_IN_HOME.iter().any(|part| path == home.join(part));
    SHARED.iter().any(|shared| path == Path::new(shared))
        || path.parent() == Some(Path::new("/home"))
        || home.into_iter().chain(real.as_deref()).any(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_home_is_never_shown() {
        let homes = Path::new("/home");
        let home = homes.join("ada");
        for wide in ["/", "/srv", "/root", "ada", "bob", "ada/.config", "."] {
            assert!(is_too_wide(&homes.join(wide), Some(&home)), "{wide}");
        }
        for narrow in ["/venv", "ada/venv", "/srv/python", "ada/.local/share/uv/python/x"] {
            assert!(!is_too_wide(&homes.join(narrow), Some(&home)), "{narrow}");
        }
        assert!(is_too_wide(Path::new("/"), None));
    }

    #[test]
    fn what_is_named_by_a_link_is_shown_where_it_really_is_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/lib")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let mut shown = Shown::new(None);
        for path in ["link", "real", "real/lib", "missing"] {
            shown.add(&root.join(path));
        }
        shown.add(Path::new("/usr/lib"));
        assert_eq!(shown.paths(), [root.join("real")]);
    }
}
