//! `[plugins]`: where plugins lie, each a directory that may bring external servers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Invalid;
use super::workspace::{fits, place};
use crate::home::Home;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["dirs"];

/// How many directories there may be.
const MOST: usize = 64;

/// Where plugins lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plugins {
    /// Directories of plugins: relative to the home, or absolute.
    pub dirs: Vec<String>,
}

impl Default for Plugins {
    fn default() -> Self {
        Self { dirs: vec!["plugins".to_owned()] }
    }
}

impl Plugins {
    /// Where they are, in the order they are named; `~` is what the environment says.
    pub(crate) fn places(&self, home: &Home, environment: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        self.dirs.iter().map(|directory| place(home, directory, environment)).collect()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let invalid = |reason: String| Err(Invalid::new("plugins.dirs", reason));
        if self.dirs.len() > MOST {
            return invalid(format!("holds more than {MOST} directories"));
        }
        if !self.dirs.iter().all(|directory| fits(directory)) {
            return invalid("holds an empty path, or one with NUL: write a directory".to_owned());
        }
        Ok(())
    }
}
