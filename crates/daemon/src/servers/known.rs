//! What the variables and secrets in an entry stand for: the daemon's environment and its secrets.

use covenant_model::secret::Secret;
use covenant_model::server::Lookup;

use crate::secrets::Secrets;

/// The values of one moment.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The secrets.
    pub(crate) secrets: &'a Secrets,
    /// The environment.
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The directory of the plugin whose entry is read.
    pub(crate) plugin: Option<&'a str>,
}

/// How entries of other hosts' plugins name their own directory.
pub(super) const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";

impl Lookup for Known<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        match self.plugin {
            Some(root) if name == PLUGIN_ROOT => Some(root.to_owned()),
            _ => (self.environment)(name),
        }
    }

    fn secret(&self, name: &str) -> Option<Secret> {
        self.secrets.get(name).cloned()
    }

    fn home(&self) -> Option<String> {
        (self.environment)("HOME").filter(|home| !home.is_empty())
    }
}
