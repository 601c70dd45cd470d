//! `[sandbox]`: what happens where this machine cannot keep a sandbox's promises.

use serde::{Deserialize, Serialize};

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["required"];

/// What happens where a sandbox has gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// Whether a sandboxed program is refused where a promise cannot be kept in full, instead of run with a report of it.
    pub required: bool,
}
