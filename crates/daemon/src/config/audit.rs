//! `[audit]`: how surely and how long is recorded.

use serde::{Deserialize, Serialize};

use super::Invalid;
use super::anchor_url::AnchorUrl;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["durability", "sink", "anchor_url", "keep_days"];

/// How the audit log is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    /// When a row counts as written.
    pub durability: Durability,
    /// Where rows go.
    pub sink: Sink,
    /// Where checkpoints are posted.
    pub anchor_url: AnchorUrl,
    /// After how many days rows go; 0 is never.
    pub keep_days: u32,
}

/// When a row counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Once the operating system has it; on disk within a tenth of a second.
    #[default]
    Group,
    /// Once it is on disk.
    Strict,
}

/// Where rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sink {
    /// Into files in the home.
    #[default]
    Files,
    /// Into the database, where a row counts as written once it is committed, whatever `durability` says.
    Database,
}

impl Audit {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        self.anchor_url.check()
    }
}
