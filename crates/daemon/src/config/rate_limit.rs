//! `[rate_limit]`: how often a token, or a local connection without one, may ask.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["rate", "burst"];

/// How often callers may ask.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimit {
    /// Requests per second; 0 is no limit.
    pub rate: f64,
    /// How many may come at once.
    pub burst: u32,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { rate: 10.0, burst: 20 }
    }
}

impl RateLimit {
    pub(super) fn check(self) -> Result<(), Invalid> {
        if !(0.0..=1e9).contains(&self.rate) {
            return Err(Invalid::new("rate_limit.rate", "must be requests per second, or 0 for no limit"));
        }
        if self.burst == 0 {
            return Err(Invalid::new(
                "rate_limit.burst",
                "must be at least 1: with 0 nobody could ask anything",
            ));
        }
        Ok(())
    }
}
