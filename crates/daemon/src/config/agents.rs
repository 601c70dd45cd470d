//! `[agents]`: how many run at a time, and whether one that has spent its credits runs on.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["concurrency", "enforce_budget"];

/// How agents are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agents {
    /// How many runs there may be at a time; the others wait.
    pub concurrency: usize,
    /// Whether an intent is refused where its agent has spent the credits of the hour, instead of run and marked.
    pub enforce_budget: bool,
}

impl Default for Agents {
    fn default() -> Self {
        Self { concurrency: 4, enforce_budget: false }
    }
}

impl Agents {
    pub(super) fn check(self) -> Result<(), Invalid> {
        if !(1..=256).contains(&self.concurrency) {
            return Err(Invalid::new("agents.concurrency", "must lie between 1 and 256"));
        }
        Ok(())
    }
}
