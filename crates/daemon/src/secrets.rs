//! The named secrets: from `secrets.toml` and, by name, from the environment; and the redactor that hides them all.

mod address;
mod edit;
pub mod literal;

use std::path::{Path, PathBuf};

use covenant_mcp::fleet::Wanted;
use covenant_model::api::SecretEntry;
use covenant_model::redact::Redactor;
use covenant_model::secret::{BadSecret, Secret, check_name, check_value};
use covenant_model::time::Timestamp;
use toml_edit::Table;

use crate::config::{self, Config, ConfigError};
use crate::home::Home;
use crate::servers;
use crate::trust::{self, Distrust, Kind};

pub use edit::{EditError, Snapshot, remove, set};

/// Where a secret comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `secrets.toml`.
    File,
    /// The environment variable of the same name.
    Environment,
}

/// A secret and its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub value: Secret,
    /// Where it comes from.
    pub source: Source,
}

/// Every value that must never be shown.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    named: Vec<Named>,
    /// Credentials that stand in server entries, in the URLs of the configuration and of proxies. They have no name people gave them.
    literal: Vec<(String, Secret)>,
    changed: Option<Timestamp>,
}

/// Why the secrets cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The file is not fit to be used.
    #[error(transparent)]
    Distrust(#[from] Distrust),
    /// The file is malformed.
    #[error(transparent)]
    Malformed(#[from] ConfigError),
    /// An entry cannot be a secret.
    #[error("{}: {error}", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Entry { path: PathBuf, error: BadSecret },
    /// An entry is not text.
    #[error("{}: the value of {name} must be a text in quotes", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    NotText { path: PathBuf, name: String },
    /// The table is something else.
    #[error("{}: `secrets` must be a table; write `[secrets]` and the names below it", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    NotATable { path: PathBuf },
}

/// What was read, and what a person should know about it.
#[derive(Debug)]
pub struct Loaded {
    /// The secrets.
    pub secrets: Secrets,
    /// Variables that are not set, values that are hidden by others, secrets that the configuration asks for in vain.
    pub warnings: Vec<String>,
    /// What is wrong with entries of servers and with plugins.
    pub server_warnings: Vec<String>,
    /// The servers whose entries were read for what must be hidden in them.
    pub(crate) servers: Vec<Wanted>,
}

impl Loaded {
    /// How many servers the files and plugins name, those included whose entries cannot be used.
    pub fn server_count(&self) -> usize {
        self.servers.len()
    }
}

impl Secrets {
    /// Reads the secrets of that home, asking `environment` for those that the configuration takes from there.
    pub fn load(
        home: &Home,
        config: &Config,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Loaded, SecretsError> {
        let mut secrets = Self::default();
        let mut warnings = Vec::new();
        let path = home.secrets();
        if let Some(content) = trust::read(&path, Kind::Private)? {
            let text = config::utf8(&path, content.bytes)?;
            let document = config::toml(&path, &text)?;
            secrets.named = from_file(&path, document.as_table())?;
            warnings.extend(config::keys::unread_tables(&path, document.as_table()));
            secrets.changed = Some(Timestamp::from_millis(content.changed.saturating_mul(1000)));
        }
        for name in &config.secrets.from_env {
            secrets.take_variable(name, environment(name), &mut warnings);
        }
        secrets.literal.extend(from_config(config));
        secrets.literal.extend(of_proxies(environment));
        let found = servers::read(home, config, &secrets, environment)?;
        secrets.literal.extend(found.credentials);
        warnings.extend(config.telemetry.warning(&secrets));
        warnings.extend(config.oidc.as_ref().and_then(|oidc| oidc.warning(&secrets)));
        Ok(Loaded { secrets, warnings, server_warnings: found.warnings, servers: found.wanted })
    }

    fn take_variable(&mut self, name: &str, value: Option<String>, warnings: &mut Vec<String>) {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            warnings
                .push(format!("the secret {name} is to come from the environment, and ${name} is not set"));
            return;
        };
        let short = check_value(name, &value);
        let value = Secret::new(value);
        if let Err(error) = short {
            warnings.push(format!("${name} is not used as a secret: {error}"));
        } else if self.named.iter().any(|named| named.name == name) {
            warnings.push(format!("the secret {name} stands in secrets.toml, so ${name} is not used"));
            self.literal.push((name.to_owned(), value));
        } else {
            self.named.push(Named { name: name.to_owned(), value, source: Source::Environment });
        }
    }

    /// Hides those too, under their names: credentials of servers that stand in no file.
    pub(crate) fn hide(&mut self, credentials: Vec<(String, Secret)>) {
        self.literal.extend(credentials);
    }

    /// The named secrets.
    pub fn named(&self) -> &[Named] {
        &self.named
    }

    /// The secret with that name.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.named.iter().find(|named| named.name == name).map(|named| &named.value)
    }

    /// What may be shown of them, ordered by name.
    pub fn entries(&self) -> Vec<SecretEntry> {
        let mut entries: Vec<SecretEntry> = self.named.iter().map(|named| self.entry(named)).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    fn entry(&self, named: &Named) -> SecretEntry {
        let (source, set_at) = match named.source {
            Source::File => ("file".to_owned(), self.changed),
            Source::Environment => (format!("${}", named.name), None),
        };
        SecretEntry { name: named.name.clone(), source, set_at }
    }

    /// What hides them all.
    pub fn redactor(&self) -> Redactor {
        let named = self.named.iter().map(|named| (named.name.as_str(), named.value.reveal()));
        let literal = self.literal.iter().map(|(name, value)| (name.as_str(), value.reveal()));
        Redactor::new(named.chain(literal))
    }
}

fn from_file(path: &Path, root: &Table) -> Result<Vec<Named>, SecretsError> {
    let Some(item) = root.get("secrets") else { return Ok(Vec::new()) };
    let table = item.as_table_like().ok_or_else(|| SecretsError::NotATable { path: path.to_owned() })?;
    let mut named = Vec::new();
    for (name, item) in table.iter() {
        let entry = |error| SecretsError::Entry { path: path.to_owned(), error };
        check_name(name).map_err(entry)?;
        let not_text = || SecretsError::NotText { path: path.to_owned(), name: name.to_owned() };
        let value = item.as_str().ok_or_else(not_text)?;
        check_value(name, value).map_err(entry)?;
        named.push(Named {
            name: name.to_owned(),
            value: Secret::new(value.to_owned()),
            source: Source::File,
        });
    }
    Ok(named)
}

/// Credentials in `config.toml`: in the URLs of the database, of the anchor and of the collector of spans, and in what is
/// sent to that.
fn from_config(config: &Config) -> Vec<(String, Secret)> {
    let mut found = Vec::new();
    let passwords = config.database.passwords().into_iter();
    found.extend(passwords.flat_map(|password| literal::forms("DATABASE_PASSWORD", password)));
    let anchor = config.audit.anchor_url.address().map(|address| address.credentials());
    let collector = config.telemetry.address().map(|address| address.credentials());
    let headers = config.telemetry.otlp_headers.clone().into_iter().collect();
    for (called, credentials) in
        [("ANCHOR_URL", anchor), ("OTLP_ENDPOINT", collector), ("OTLP_HEADERS", Some(headers))]
    {
        let credentials = credentials.unwrap_or_default().into_iter();
        let likely = credentials.filter(|(name, value)| literal::is_likely(name, value));
        found.extend(likely.flat_map(|(_, value)| literal::forms(called, &value)));
    }
    found.extend(from_services(config));
    found
}

/// Credentials of services: tokens, and what is one in their addresses.
fn from_services(config: &Config) -> Vec<(String, Secret)> {
    let github = config.github.iter().flat_map(|github| {
        [
            ("GITHUB_TOKEN".to_owned(), github.token.as_str()),
            ("GITHUB_URL".to_owned(), github.base_url.as_str()),
        ]
    });
    let chats = config.chat.iter().flat_map(|(name, chat)| {
        let called = |key: &str| literal::name(&format!("CHAT_{name}_{key}"));
        let (token, url) = (called("TOKEN"), called("URL"));
        [(token, chat.token.as_str()), (url.clone(), chat.url.as_str()), (url, chat.base_url.as_str())]
    });
    let calendars = config.calendars.iter();
    let calendars = calendars
        .map(|calendar| (literal::name(&format!("CALENDAR_{}", calendar.name)), calendar.url.as_str()));
    let oidc = config.oidc.iter().map(|oidc| ("OIDC_CLIENT_SECRET".to_owned(), oidc.client_secret.as_str()));
    let values = github.chain(chats).chain(calendars).chain(oidc);
    values
        .flat_map(|(name, value)| {
            let parts =
                if value.contains("://") { address::credentials(value) } else { vec![value.to_owned()] };
            parts.into_iter().flat_map(move |part| literal::forms(&name, &part))
        })
        .collect()
}

/// The variables that name a proxy for what is sent.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// What the daemon shows to the proxies that its environment names.
fn of_proxies(environment: &dyn Fn(&str) -> Option<String>) -> Vec<(String, Secret)> {
    let named = PROXIES.into_iter().filter_map(|name| Some((name, environment(name)?)));
    named
        .flat_map(|(name, value)| {
            let shown = address::user(&value).into_iter();
            shown.flat_map(move |value| literal::forms(&literal::name(name), &value)).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests;
