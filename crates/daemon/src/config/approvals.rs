//! `[approvals]`: how long a call waits for a person.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["wait_secs", "expire_secs"];

/// How long questions to a person wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approvals {
    /// How many seconds a call stands still for the answer before it is refused with the question's id.
    pub wait_secs: u64,
    /// After how many seconds a question is dropped.
    pub expire_secs: u64,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { wait_secs: 0, expire_secs: 86_400 }
    }
}

impl Approvals {
    pub(super) fn check(self) -> Result<(), Invalid> {
        if !(1..=366 * 86_400).contains(&self.expire_secs) {
            return Err(Invalid::new("approvals.expire_secs", "must lie between 1 second and a year"));
        }
        if self.wait_secs > 600 {
            return Err(Invalid::new(
                "approvals.wait_secs",
                "must be at most 600: clients give up before that",
            ));
        }
        Ok(())
    }
}
