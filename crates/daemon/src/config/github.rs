//! `[github]`: where issues are read and filed, and as whom.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Invalid, fill};

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["token", "base_url"];

/// GitHub, or an Enterprise server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitHub {
    /// A token, mostly `${secret:GITHUB_TOKEN}`.
    pub token: String,
    /// Where its API is; an Enterprise server has it at `https://HOST/api/v3`.
    pub base_url: String,
}

impl Default for GitHub {
    fn default() -> Self {
        Self { token: String::new(), base_url: "https://api.github.com".to_owned() }
    }
}

impl GitHub {
    /// The same without credentials.
    pub(super) fn shown(&self) -> Self {
        Self { token: fill::hidden(&self.token), base_url: fill::hidden_address(&self.base_url) }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.token.is_empty() {
            return Err(Invalid::new("github.token", "is missing: write token = \"${secret:GITHUB_TOKEN}\""));
        }
        fill::could_be_filled(&self.token).map_err(|reason| Invalid::new("github.token", reason))?;
        fill::could_be_address(&self.base_url).map_err(|reason| Invalid::new("github.base_url", reason))
    }
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        f.debug_struct("GitHub").field("token", &shown.token).field("base_url", &shown.base_url).finish()
    }
}
