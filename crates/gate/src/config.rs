//! The gate's own settings, and the limits of each.

use std::collections::BTreeMap;
use std::time::Duration;

/// What can be set; a reload replaces it whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Requests per second and token, or connection for local callers without one; 0 is no limit.
    pub rate: f64,
    /// How many requests may come at once.
    pub burst: u32,
    /// Further limits by tool, in calls per second for all callers together.
    pub tool_rates: BTreeMap<String, f64>,
    /// The most bytes of one result.
    pub output_bytes: usize,
    /// How long a call waits for a person.
    pub approvals_expire: Duration,
    /// How long a call stands still for a person's word before it is refused.
    pub approvals_wait: Duration,
    /// How many calls of one principal may wait.
    pub approvals_per_principal: u32,
    /// What stands before an id in the address of the page about an approval; none where there are no such pages.
    pub approvals_page: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: 10.0,
            burst: 20,
            tool_rates: BTreeMap::new(),
            output_bytes: 4 * 1024 * 1024,
            approvals_expire: Duration::from_hours(24),
            approvals_wait: Duration::ZERO,
            approvals_per_principal: 64,
            approvals_page: None,
        }
    }
}
