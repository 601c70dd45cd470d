//! `[cluster]`: whose signatures on grants are accepted beside this home's own.

use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

use super::Invalid;
use crate::identity::parse_public;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["trusted_keys"];

/// Which daemons share a database with this one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// Their public keys (`identity/local.pub`).
    pub trusted_keys: Vec<String>,
}

impl Cluster {
    /// The keys themselves.
    pub fn keys(&self) -> Vec<VerifyingKey> {
        self.trusted_keys.iter().filter_map(|text| parse_public(text.trim())).collect()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self.trusted_keys.iter().find(|text| parse_public(text.trim()).is_none()) {
            Some(text) => {
                let start: String = text.chars().take(16).flat_map(char::escape_debug).collect();
                let reason =
                    format!("holds `{start}…`, which is no public key: copy the line in identity/local.pub");
                Err(Invalid::new("cluster.trusted_keys", reason))
            }
            None => Ok(()),
        }
    }
}
