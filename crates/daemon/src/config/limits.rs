//! `[limits]`: how large a request and a tool's output may be.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["request_bytes", "output_bytes"];

/// The largest value that makes sense: beyond it a single message could take all memory.
const LARGEST: usize = 1024 * 1024 * 1024;

/// How large things may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The most bytes of one request.
    pub request_bytes: usize,
    /// The most bytes of one tool's output.
    pub output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { request_bytes: 4 * 1024 * 1024, output_bytes: 4 * 1024 * 1024 }
    }
}

impl Limits {
    pub(super) fn check(self) -> Result<(), Invalid> {
        let reason = "must lie between 1024 and 1073741824 bytes";
        for (key, value) in
            [("limits.request_bytes", self.request_bytes), ("limits.output_bytes", self.output_bytes)]
        {
            if !(1024..=LARGEST).contains(&value) {
                return Err(Invalid::new(key, reason));
            }
        }
        Ok(())
    }
}
