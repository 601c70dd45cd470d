//! `[approvals]`: how long a call waits for a person.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["expire_secs"];

/// Documented keys that this version does not use.
pub(super) const LATER: &[&str] = &["wait_secs"];

/// How long questions to a person wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approvals {
    /// After how many seconds a question is dropped.
    pub expire_secs: u64,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { expire_secs: 86_400 }
    }
}

impl Approvals {
    pub(super) fn check(self) -> Result<(), Invalid> {
        if !(1..=366 * 86_400).contains(&self.expire_secs) {
            return Err(Invalid::new("approvals.expire_secs", "must lie between 1 second and a year"));
        }
        Ok(())
    }
}
