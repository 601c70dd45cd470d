//! Which place of the vault a caller names, if it is one that callers may name.

use std::path::Path;

use super::Vault;
use crate::files::{FileError, Root, Why, plain};
use crate::workspace::failed;

impl Vault {
    /// The vault, opened, and the path from it; `.` is the vault itself.
    pub(super) fn place(&self, path: &str) -> Result<(Root, String), String> {
        let root = self.root()?;
        let written = root.relative(path).map_err(|error| error.to_string())?;
        let mut names: Vec<&str> = Vec::new();
        for name in written.split('/') {
            match name {
                "." => {}
                ".." if names.pop().is_some() => {}
                ".." => return Err(FileError::new(Why::Escapes, root.shown(), path).to_string()),
                name => names.push(name),
            }
        }
        if names.iter().any(|name| name.starts_with('.')) {
            return Err(format!(
                "{} is no note: names that begin with a dot belong to Obsidian and git; use another name",
                plain(path)
            ));
        }
        let inside = if names.is_empty() { ".".to_owned() } else { names.join("/") };
        Ok((root, inside))
    }

    fn root(&self) -> Result<Root, String> {
        self.library.root().map_err(|error| {
            let directory = self.library.directory();
            unfit(directory, error.why).unwrap_or_else(|| failed("the vault cannot be opened")(error))
        })
    }
}

/// Why that directory is no vault, where the configuration is to be corrected.
pub(crate) fn unfit(directory: &Path, why: Why) -> Option<String> {
    let shown = directory.display();
    let path = "`path` of `[vault]` in config.toml";
    match why {
        Why::Missing => {
            Some(format!("the vault {shown} is not there; make that directory, or correct {path}"))
        }
        Why::NotADirectory => {
            Some(format!("the vault {shown} is not a directory, or goes through a file; correct {path}"))
        }
        _ => None,
    }
}

/// Whether the last name says what sort of file it is.
pub(super) fn has_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}
