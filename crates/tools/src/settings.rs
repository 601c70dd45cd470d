//! What the configuration says to tools, resolved: paths are absolute, and secrets are filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use covenant_model::secret::Secret;
use url::Url;

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `[workspace] path`.
    pub workspace: PathBuf,
    /// Where each principal has a directory for what it remembers.
    pub memory: PathBuf,
    /// `[vault]`, where it is written.
    pub vault: Option<Vault>,
    /// `[[calendars]]`.
    pub calendars: Vec<Calendar>,
    /// `[github]`, where it is written.
    pub github: Option<GitHub>,
    /// `[chat.NAME]`.
    pub chat: BTreeMap<String, Chat>,
    /// `[scripts]`.
    pub scripts: Scripts,
}

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
