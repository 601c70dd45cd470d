//! What is asked of the fleet and what it says.

use covenant_model::server::Plan;

/// A server that should be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What people call it.
    pub name: String,
    /// The file it comes from, or `runtime`.
    pub source: String,
    /// Whether it is to run.
    pub enabled: bool,
    /// How; or why it cannot, in a sentence.
    pub plan: Result<Plan, String>,
}

/// What a set of wanted servers changed: names, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Were not there before.
    pub added: Vec<String>,
    /// Have another plan now, and start anew.
    pub changed: Vec<String>,
    /// Are gone, and their tools with them.
    pub removed: Vec<String>,
}

/// There is no server of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no server `{0}`")]
pub struct NoServer(pub String);
