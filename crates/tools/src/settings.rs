//! What the configuration says to tools, resolved: paths are absolute, and secrets are filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use covenant_model::secret::Secret;
use url::Url;

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `[workspace] path`, or why that cannot be it: a sentence.
    pub workspace: Result<PathBuf, String>,
    /// Where each principal has a directory for what it remembers.
    pub memory: PathBuf,
    /// `[vault]`, or why there is none: a sentence.
    pub vault: Result<Vault, String>,
    /// `[[calendars]]`.
    pub calendars: Vec<Calendar>,
    /// `[github]`, where it is written.
    pub github: Option<GitHub>,
    /// `[chat.NAME]`.
    pub chat: BTreeMap<String, Chat>,
    /// `[scripts]`.
    pub scripts: Scripts,
    /// What is written there and cannot be used.
    pub left_out: Vec<LeftOut>,
}

/// Something of the configuration that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it would be for.
    pub service: Outside,
    /// What it is, why it is not used and what to do: a sentence.
    pub reason: String,
}

/// What the configuration has a word for, and can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are their own")]
pub enum Outside {
    Calendars,
    GitHub,
    Chat,
    Allowlist,
}

impl Settings {
    /// Why nothing of that is there: because what is written cannot be used, or else because nothing is.
    pub(crate) fn why_not(&self, service: Outside, unwritten: &str) -> String {
        let left_out = self.left_out.iter().find(|left_out| left_out.service == service);
        left_out.map_or(unwritten, |left_out| &left_out.reason).to_owned()
    }
}

/// Why there is no vault where nobody wrote of one.
pub const NO_VAULT: &str = "no vault is configured: write `[vault]` and `path = \"…\"` in config.toml";

/// An Obsidian vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is kept in step with its git remote.
    pub git_sync: bool,
}

/// A calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    /// What people call it.
    pub name: String,
    /// Where it is read from.
    pub source: CalendarSource,
}

/// Where a calendar is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalendarSource {
    /// A file.
    File(PathBuf),
    /// An address, which may hold a credential.
    Address(Url),
}

/// GitHub, or an Enterprise server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHub {
    /// What it knows us by.
    pub token: Secret,
    /// Where its API is.
    pub base_url: Url,
    /// What is said in place of either.
    pub hidden: Hidden,
}

/// What is said in place of credentials: the name of the secret they came from, or what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// In place of the token.
    pub token: String,
    /// In place of what is long in the address.
    pub url: String,
}

impl Default for Hidden {
    fn default() -> Self {
        Self { token: "token".to_owned(), url: "url".to_owned() }
    }
}

/// A way to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    /// What is spoken there.
    pub provider: Provider,
    /// What it knows us by.
    pub token: Option<Secret>,
    /// Where its API is, if elsewhere than usual; for a webhook where to post.
    pub url: Option<Url>,
    /// What is said in place of either.
    pub hidden: Hidden,
}

/// What chat services speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are their own")]
pub enum Provider {
    Slack,
    Discord,
    Telegram,
    Matrix,
    Webhook,
}

/// Scripts, and what each run of one may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripts {
    /// Where they lie.
    pub path: PathBuf,
    /// How long one may run.
    pub within: Duration,
    /// How much memory one may use.
    pub memory_mb: u64,
    /// Those that need no approval: by name (without `.star`), the hash of the text (`sha256:…`), or none where any text
    /// will do.
    pub allowlist: BTreeMap<String, Option<String>>,
}
