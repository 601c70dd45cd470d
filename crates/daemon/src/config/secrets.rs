//! `[secrets]`: which secrets come from the environment, by name.

use covenant_model::secret::check_name;
use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["from_env"];

/// Which secrets come from the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    /// The names of the variables, which are the names of the secrets.
    pub from_env: Vec<String>,
}

impl Secrets {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self.from_env.iter().find_map(|name| check_name(name).err()) {
            Some(error) => Err(Invalid::new("secrets.from_env", format!("holds a wrong name: {error}"))),
            None => Ok(()),
        }
    }
}
