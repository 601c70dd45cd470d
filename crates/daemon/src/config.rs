//! The configuration: sections composed from one file each, read from `config.toml`, overridden by the environment
//! and the command line. Unknown keys are warned about by path; anything malformed stops the start with its place.

pub mod agents;
pub mod anchor_url;
pub mod approvals;
pub mod audit;
pub mod calendars;
pub mod chat;
pub mod cluster;
pub mod database;
pub(crate) mod fill;
pub mod github;
pub mod grounds;
pub mod http;
pub(crate) mod keys;
pub mod limits;
pub mod logging;
pub mod oidc;
pub mod operator;
pub(crate) mod place;
pub mod plugins;
pub mod rate_limit;
pub mod sandbox;
pub mod scripts;
pub mod secrets;
mod shown;
pub mod telemetry;
pub mod vault;
pub mod web;
pub mod workspace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::tls::CertificateError;
use crate::trust::{self, Distrust, Kind};

/// What the daemon is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where it listens.
    pub http: http::Http,
    /// How the operator confirms.
    pub operator: operator::Operator,
    /// Whose grants it accepts beside its own.
    pub cluster: cluster::Cluster,
    /// Where it keeps things.
    pub database: database::Database,
    /// What it logs.
    pub logging: logging::Logging,
    /// How often callers may call.
    pub rate_limit: rate_limit::RateLimit,
    /// How it records.
    pub audit: audit::Audit,
    /// Which secrets come from the environment.
    pub secrets: secrets::Secrets,
    /// How large things may be.
    pub limits: limits::Limits,
    /// How long questions to a person wait.
    pub approvals: approvals::Approvals,
    /// Where spans of calls are sent.
    pub telemetry: telemetry::Telemetry,
    /// Where programs and tools may go beyond the public Internet.
    pub web: web::Web,
    /// What happens where a sandbox has gaps.
    pub sandbox: sandbox::Sandbox,
    /// Where plugins lie.
    pub plugins: plugins::Plugins,
    /// Where the files lie that tools may work on.
    pub workspace: workspace::Workspace,
    /// A vault of notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<vault::Vault>,
    /// Calendars.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calendars: Vec<calendars::Calendar>,
    /// Where issues are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<github::GitHub>,
    /// By whom people may sign in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<oidc::Oidc>,
    /// Ways to people.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub chat: BTreeMap<String, chat::Chat>,
    /// Scripts.
    pub scripts: scripts::Scripts,
    /// How agents are run.
    pub agents: agents::Agents,
}

/// What overrides the file: the environment, and before it the command line.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `COVENANT_LISTEN`, `--listen`.
    pub listen: Option<String>,
    /// `--behind-proxy`.
    pub behind_proxy: bool,
    /// `COVENANT_DATABASE_URL`.
    pub database_url: Option<String>,
    /// `COVENANT_LOG`.
    pub log: Option<String>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not fit to be used.
    #[error(transparent)]
    Distrust(#[from] Distrust),
    /// The certificate it names is not fit to be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The file is no TOML, or a key has a value of another type.
    #[error("{}, line {line}, column {column}: {reason}", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Malformed { path: PathBuf, line: usize, column: usize, reason: String },
    /// A value is of the right type and makes no sense.
    #[error("{origin}: `{key}` {reason}")]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Invalid { origin: String, key: &'static str, reason: String },
}

/// A value that makes no sense: the key by its path, and the end of the sentence that begins with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid {
    key: &'static str,
    reason: String,
}

/// What was read, and what a person should know about it.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration in effect.
    pub config: Config,
    /// Unknown keys, and keys that this version does not use.
    pub warnings: Vec<String>,
}

impl Overrides {
    /// What the environment says.
    pub fn from_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            listen: set("COVENANT_LISTEN"),
            behind_proxy: false,
            database_url: set("COVENANT_DATABASE_URL"),
            log: set("COVENANT_LOG"),
        }
    }
}

impl Config {
    /// Reads the configuration of that home; without a file, everything has its default.
    pub fn load(home: &Home, overrides: &Overrides) -> Result<Loaded, ConfigError> {
        let path = home.config();
        let content = trust::read(&path, Kind::Program)?;
        let text = content.map(|content| utf8(&path, content.bytes)).transpose()?.unwrap_or_default();
        Self::parse(&path, &text, overrides)
    }

    /// Reads that text as the file with that name.
    pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<Loaded, ConfigError> {
        let malformed = |message: &str, span: Option<std::ops::Range<usize>>| {
            let (line, column) = place::of(text, span.map_or(0, |span| span.start));
            ConfigError::Malformed { path: path.to_owned(), line, column, reason: message.trim().to_owned() }
        };
        let document =
            toml_edit::Document::parse(text).map_err(|error| malformed(error.message(), error.span()))?;
        let mut config: Self = toml::from_str(text).map_err(|error| {
            let key = error.span().and_then(|span| place::key(document.as_table(), span.start));
            let named = key.map(|key| format!("`{key}`: ")).unwrap_or_default();
            malformed(&format!("{named}{}", in_words(error.message().trim())), error.span())
        })?;
        config.check().map_err(|invalid| {
            let origin = place::origin(path, text, &document, invalid.key);
            invalid.at(&origin)
        })?;
        config.apply(overrides)?;
        let mut warnings = keys::warnings(path, text, document.as_table());
        warnings.extend(config.scripts.warnings());
        Ok(Loaded { config, warnings })
    }

    fn apply(&mut self, overrides: &Overrides) -> Result<(), ConfigError> {
        let with = |origin: &'static str| move |invalid: Invalid| invalid.at(origin);
        if let Some(log) = &overrides.log {
            self.logging.level =
                log.parse().map_err(|reason| Invalid::new("logging.level", reason).at("COVENANT_LOG"))?;
        }
        if let Some(url) = &overrides.database_url {
            self.database.url.clone_from(url);
            self.database.check().map_err(with("COVENANT_DATABASE_URL"))?;
        }
        self.http.behind_proxy |= overrides.behind_proxy;
        if let Some(listen) = &overrides.listen {
            self.http.listen.clone_from(listen);
            self.http.check().map_err(with("COVENANT_LISTEN or --listen"))?;
        }
        self.http.check_reach().map_err(with("the address to listen on"))
    }

    fn check(&self) -> Result<(), Invalid> {
        self.http.check()?;
        self.operator.check()?;
        self.cluster.check()?;
        self.database.check()?;
        self.rate_limit.check()?;
        self.audit.check()?;
        self.secrets.check()?;
        self.limits.check()?;
        self.approvals.check()?;
        self.telemetry.check()?;
        self.web.check()?;
        self.plugins.check()?;
        self.workspace.check()?;
        self.vault.as_ref().map_or(Ok(()), vault::Vault::check)?;
        calendars::check(&self.calendars)?;
        self.github.as_ref().map_or(Ok(()), github::GitHub::check)?;
        self.oidc.as_ref().map_or(Ok(()), oidc::Oidc::check)?;
        chat::check(&self.chat)?;
        self.scripts.check()?;
        self.agents.check()
    }

    /// What the gate is told.
    pub fn gate(&self) -> covenant_gate::config::Config {
        covenant_gate::config::Config {
            rate: self.rate_limit.rate,
            burst: self.rate_limit.burst,
            tool_rates: self.rate_limit.tools.clone(),
            output_bytes: self.limits.output_bytes,
            approvals_expire: std::time::Duration::from_secs(self.approvals.expire_secs),
            approvals_wait: std::time::Duration::from_secs(self.approvals.wait_secs),
            ..covenant_gate::config::Config::default()
        }
    }
}

impl Invalid {
    fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }

    fn at(self, origin: &str) -> ConfigError {
        ConfigError::Invalid { origin: origin.to_owned(), key: self.key, reason: self.reason }
    }
}

/// The text of a file, or the place of its first byte that is not UTF-8.
pub(crate) fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let sound = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes().get(..sound).unwrap_or_default()).into_owned();
        let (line, column) = place::of(&text, sound);
        ConfigError::Malformed {
            path: path.to_owned(),
            line,
            column,
            reason: "this byte is not UTF-8".to_owned(),
        }
    })
}

/// Reads a TOML text whole, to be changed, or says where it is malformed.
pub(crate) fn toml(path: &Path, text: &str) -> Result<toml_edit::DocumentMut, ConfigError> {
    document(path, text).map(toml_edit::Document::into_mut)
}

/// The same with the place of everything in it, to be read.
pub(crate) fn document<'t>(path: &Path, text: &'t str) -> Result<toml_edit::Document<&'t str>, ConfigError> {
    toml_edit::Document::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        malformed(path, text, start, error.message().trim())
    })
}

/// That this is wrong at that byte of the text.
pub(crate) fn malformed(path: &Path, text: &str, offset: usize, reason: &str) -> ConfigError {
    let (line, column) = place::of(text, offset);
    ConfigError::Malformed { path: path.to_owned(), line, column, reason: reason.to_owned() }
}

/// A sentence of the reader without the names of types.
fn in_words(message: &str) -> String {
    let number = ["usize", "u64", "u32", "u16"].into_iter();
    let mut expected = number.map(|number| format!("expected {number}"));
    let rest = expected.find_map(|end| message.strip_suffix(end.as_str()).map(str::to_owned));
    rest.map_or_else(|| message.to_owned(), |rest| format!("{rest}expected a whole number"))
}

#[cfg(test)]
mod tests;
