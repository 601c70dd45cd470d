//! Which servers are wanted: every entry of every file, in order; the first of each name counts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use covenant_mcp::fleet::Wanted;
use covenant_model::secret::Secret;
use covenant_model::server::{Plan, check_name};

use super::credentials::credentials;
use super::entry::{self, Parsed};
use super::known::Known;
use super::plugins;
use super::written::{self, Written};
use crate::config::keys::shown;
use crate::config::{self, Config};
use crate::home::Home;
use crate::secrets::{Secrets, SecretsError};
use crate::trust::{self, Kind};

/// How many servers there may be in all files together.
const MOST: usize = 1000;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The servers, in order.
    pub(crate) wanted: Vec<Wanted>,
    /// What a person should know: entries that cannot be used, entries that stay out, keys without effect.
    pub(crate) warnings: Vec<String>,
    /// Values in entries that must not be shown.
    pub(crate) credentials: Vec<(String, Secret)>,
}

/// Reads the entries of `config.toml`, of `secrets.toml` and of the plugins.
pub(crate) fn read(
    home: &Home,
    config: &Config,
    secrets: &Secrets,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Found, SecretsError> {
    let known = Known { secrets, environment, plugin: None };
    let mut gathering = Gathering::new(home);
    for (path, kind) in files(home) {
        let Some(content) = trust::read(&path, kind)? else { continue };
        let text = config::utf8(&path, content.bytes)?;
        let (entries, warnings) = written::configuration(&path, &text)?;
        gathering.found.warnings.extend(warnings);
        for entry in entries {
            gathering.take(&path, &entry, &known);
        }
    }
    plugins::read(config, &known, &mut gathering);
    Ok(gathering.done())
}

/// The files of the home that hold entries, and what is demanded of each.
pub(super) fn files(home: &Home) -> [(PathBuf, Kind); 2] {
    [(home.config(), Kind::Program), (home.secrets(), Kind::Private)]
}

/// What was found so far.
pub(super) struct Gathering<'a> {
    pub(super) home: &'a Home,
    pub(super) found: Found,
    names: HashSet<String>,
    left_out: usize,
}

impl<'a> Gathering<'a> {
    fn new(home: &'a Home) -> Self {
        Self { home, found: Found::default(), names: HashSet::new(), left_out: 0 }
    }

    /// Takes an entry of that file in.
    pub(super) fn take(&mut self, path: &Path, written: &Written, known: &Known<'_>) {
        if let Some(keys) = &written.keys {
            self.found.credentials.extend(credentials(keys, known));
        }
        if self.found.wanted.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let source = self.home.shown(path);
        let name = name(written, &source);
        let stand = Stand { path, written, name: &name };
        if self.names.insert(name.clone()) {
            let (enabled, plan) = self.resolve(&stand, known);
            self.found.wanted.push(Wanted { name, source, enabled, plan });
            return;
        }
        let first = self.found.wanted.iter().find(|wanted| wanted.name == name);
        let first = first.map(|wanted| wanted.source.as_str()).unwrap_or_default();
        let rest = format!("stays out: {first} has a server of that name already; rename one of them");
        self.found.warnings.push(format!("{} {rest}", stand.at("name")));
    }

    /// Whether the server is to run, and how; or why it cannot.
    fn resolve(&mut self, stand: &Stand<'_>, known: &Known<'_>) -> (bool, Result<Plan, String>) {
        let Some(keys) = &stand.written.keys else {
            let sentence = format!("{} must be a table with the keys of a server", stand.at(""));
            self.found.warnings.push(format!("{sentence}; it is not used"));
            return (true, Err(sentence));
        };
        let Parsed { entry, remarks, more } = entry::parse(keys);
        let warnings = &mut self.found.warnings;
        for (key, remark) in &remarks {
            warnings.push(format!("{}: {remark}", stand.at(key)));
        }
        if more > 0 {
            warnings.push(format!("{}: {more} more keys without effect", stand.at("")));
        }
        let enabled = entry.as_ref().map_or(true, |entry| entry.enabled);
        let plan = entry.and_then(|entry| entry::plan(&entry, known));
        let plan = plan.map_err(|bad| format!("{}: {bad}", stand.at(&bad.key)));
        let plan = plan.and_then(|plan| {
            let judged = known.plugin.map_or(Ok(()), |root| plugins::judge(&plan, root));
            judged.map(|()| plan).map_err(|distrust| format!("{}: {distrust}", stand.at("command")))
        });
        if let (Err(sentence), true) = (&plan, enabled) {
            warnings.push(format!("{sentence}; the server is not used"));
        }
        (enabled, plan)
    }

    fn done(mut self) -> Found {
        if self.left_out > 0 {
            let sentence = format!(
                "there are more than {MOST} servers: {} of them, in the order of the files, stay out; remove some",
                self.left_out
            );
            self.found.warnings.push(sentence);
        }
        self.found
    }
}

/// An entry in its file.
struct Stand<'a> {
    path: &'a Path,
    written: &'a Written,
    name: &'a str,
}

impl Stand<'_> {
    /// Where that key of it stands, as sentences about it begin.
    fn at(&self, key: &str) -> String {
        let line = self.written.line(key).map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{}{line}: {} \"{}\"", self.path.display(), self.written.title, self.name)
    }
}

/// The name of an entry; where it has none, the place it stands at.
fn name(written: &Written, source: &str) -> String {
    match written.name.as_deref() {
        Some(name) if check_name(name).is_ok() => name.to_owned(),
        // Refused below, and shown all the same.
        Some(name) if !name.is_empty() => shown(name),
        _ => match written.line("") {
            Some(line) => format!("{source} line {line}"),
            None => format!("{source} without a name"),
        },
    }
}
