//! `[workspace]`: where the files lie that tools may work on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Invalid;
use crate::home::Home;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["path"];

/// Where the workspace is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workspace {
    /// A directory: relative to the home, or absolute.
    pub path: String,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { path: "workspace".to_owned() }
    }
}

impl Workspace {
    /// The directory; `~` is what the environment says.
    pub(crate) fn place(&self, home: &Home, environment: &dyn Fn(&str) -> Option<String>) -> PathBuf {
        place(home, &self.path, environment)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if fits(&self.path) {
            return Ok(());
        }
        Err(Invalid::new("workspace.path", "is empty, or holds NUL: write a directory"))
    }
}

/// Whether that can be a path.
pub(super) fn fits(path: &str) -> bool {
    !path.is_empty() && !path.contains('\0')
}

/// A path of the configuration: from the user's home directory, from the covenant's home, or absolute.
pub fn place(home: &Home, path: &str, environment: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    let own = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let user = environment("HOME").filter(|user| !user.is_empty());
    match own.zip(user) {
        Some((rest, user)) => Path::new(&user).join(rest.trim_start_matches('/')),
        None => home.root().join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_home_from_the_users_or_absolute() {
        let home = Home::at(Path::new("/srv/covenant")).unwrap();
        let ada = |name: &str| (name == "HOME").then(|| "/users/ada".to_owned());
        for (path, whole) in [
            ("workspace", "/srv/covenant/workspace"),
            ("/data", "/data"),
            ("~", "/users/ada"),
            ("~/work", "/users/ada/work"),
            ("~bob", "/srv/covenant/~bob"),
        ] {
            assert_eq!(place(&home, path, &ada), Path::new(whole), "{path}");
        }
        assert_eq!(place(&home, "~/work", &|_| None), Path::new("/srv/covenant/~/work"));
    }
}
