//! `[vault]`: an Obsidian vault that tools may read, search and write.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Invalid;
use super::workspace::{fits, place};
use crate::home::Home;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["path", "git_sync"];

/// Where the vault is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vault {
    /// A directory: relative to the home, or absolute.
    pub path: String,
    /// Whether it is kept in step with the git remote it has.
    pub git_sync: bool,
}

impl Default for Vault {
    fn default() -> Self {
        Self { path: "vault".to_owned(), git_sync: false }
    }
}

impl Vault {
    /// The directory; `~` is what the environment says.
    pub(crate) fn place(&self, home: &Home, environment: &dyn Fn(&str) -> Option<String>) -> PathBuf {
        place(home, &self.path, environment)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if fits(&self.path) {
            return Ok(());
        }
        Err(Invalid::new("vault.path", "is empty, or holds NUL: write a directory"))
    }
}
