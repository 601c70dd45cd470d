//! Secrets and servers as the files have them now, read together: an entry may hold what must be hidden, and name what is.

use covenant_mcp::fleet::Wanted;
use covenant_model::secret::Secret;
use covenant_model::server::Entry;

use super::credentials::credentials;
use super::known::Known;
use crate::config::Config;
use crate::home::Home;
use crate::secrets::{Secrets, SecretsError};

/// What was read.
pub(crate) struct Reading {
    /// Everything that must be hidden.
    pub(crate) secrets: Secrets,
    /// The servers of all files.
    pub(crate) found: Vec<Wanted>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
    /// What of that is about servers.
    pub(crate) about_servers: Vec<String>,
}

impl Reading {
    /// Reads everything; what was `added` while the daemon runs is hidden as well.
    pub(crate) fn read(
        home: &Home,
        config: &Config,
        environment: &dyn Fn(&str) -> Option<String>,
        added: &[Entry],
    ) -> Result<Self, SecretsError> {
        let mut loaded = Secrets::load(home, config, environment)?;
        for entry in added {
            let known = Known { secrets: &loaded.secrets, environment, plugin: None };
            let credentials = credentials_of(entry, &known);
            loaded.secrets.hide(credentials);
        }
        let about_servers = loaded.server_warnings;
        let warnings = loaded.warnings.into_iter().chain(about_servers.iter().cloned()).collect();
        Ok(Self { secrets: loaded.secrets, found: loaded.servers, warnings, about_servers })
    }
}

/// What in an entry must not be shown.
pub(super) fn credentials_of(entry: &Entry, known: &Known<'_>) -> Vec<(String, Secret)> {
    let keys = serde_json::to_value(entry).unwrap_or_default();
    keys.as_object().map(|keys| credentials(keys, known)).unwrap_or_default()
}
