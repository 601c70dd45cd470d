//! `[rate_limit]`: how often a token, or a local connection without one, may ask.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["rate", "burst", "tools"];

/// How often callers may ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimit {
    /// Requests per second; 0 is no limit.
    pub rate: f64,
    /// How many may come at once.
    pub burst: u32,
    /// Further limits by tool: calls per second, for all callers together.
    pub tools: BTreeMap<String, f64>,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { rate: 10.0, burst: 20, tools: BTreeMap::new() }
    }
}

impl RateLimit {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if !(0.0..=1e9).contains(&self.rate) {
            return Err(Invalid::new("rate_limit.rate", "must be requests per second, or 0 for no limit"));
        }
        if self.tools.values().any(|rate| !(0.0..=1e9).contains(rate)) {
            let reason = "must name tools and calls per second, such as { echo = 5 }; 0 is no limit";
            return Err(Invalid::new("rate_limit.tools", reason));
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
