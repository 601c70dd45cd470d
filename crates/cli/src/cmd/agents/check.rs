//! `covenant agents check`: everything that is wrong with a manifest, before a daemon reads it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use covenant_daemon::agents::entry;
use covenant_daemon::agents::manifest::{self, Problem, Reading};
use covenant_model::action::ActionPattern;
use covenant_model::manifest::Manifest;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant agents check agent.toml
  covenant agents check agent.toml --json

Nothing is run, and no daemon is needed. Everything that is wrong is written as
FILE:LINE:COLUMN, and the exit code is 1; 2 where the file cannot be read.";

/// Look whether a file could be a manifest.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The file.
    file: PathBuf,
}

/// What is said to programs.
#[derive(Serialize)]
struct Verdict<'r> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'r serde_json::Map<String, serde_json::Value>>,
    problems: &'r [Problem],
    warnings: &'r [Problem],
    /// Why its program cannot be run as things are.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'r str>,
}

impl Check {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let bytes = read(&self.file)?;
        let whole = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        let read = manifest::read(&whole, &bytes);
        let entry = read.as_ref().ok().and_then(|read| entry::check(&read.manifest, &setting.home).err());
        if setting.json() {
            let (good, problems) = (read.as_ref().ok(), read.as_ref().err());
            print::json(&Verdict {
                ok: read.is_ok(),
                manifest: good.map(|read| &read.manifest.document),
                problems: problems.map_or(&[], Vec::as_slice),
                warnings: good.map_or(&[], |read| read.warnings.as_slice()),
                entry: entry.as_deref(),
            })?;
        }
        let shown = self.file.display();
        let Reading { manifest, warnings } = read.map_err(|problems| {
            let many = match problems.len() {
                1 => "a problem".to_owned(),
                many => format!("{many} problems"),
            };
            // Each on a line of its own, from its beginning on, as editors look for them.
            let lines = problems.iter().map(|problem| placed(&self.file, problem));
            let lines = std::iter::once(format!("{shown} has {many}")).chain(lines).collect::<Vec<_>>();
            Failure::failed(lines.join("\n"), format!("correct {shown}, and check it again"))
        })?;
        if setting.json() {
            return Ok(Exit::Done);
        }
        let warnings = warnings.iter().map(|warning| placed(&self.file, warning));
        print::warn_all(&warnings.chain(entry).collect::<Vec<_>>(), "covenant agents check FILE --json");
        print::facts(&facts(&self.file, &manifest))?;
        Ok(Exit::Done)
    }
}

/// Where editors find it.
fn placed(file: &Path, problem: &Problem) -> String {
    format!("{}:{}:{}: {}", file.display(), problem.line, problem.column, problem.reason)
}

/// What the manifest says, in short.
fn facts(file: &Path, manifest: &Manifest) -> Vec<(&'static str, String)> {
    let listed =
        |actions: &[ActionPattern]| actions.iter().map(ActionPattern::as_str).collect::<Vec<_>>().join(", ");
    let facts = [
        ("ok", file.display().to_string()),
        ("id", manifest.id.clone()),
        ("name", manifest.name.clone()),
        ("version", manifest.version.clone()),
        ("description", manifest.description.clone()),
        ("tool", manifest.tool()),
        ("runtime", manifest.runtime.to_string()),
        ("entry", manifest.entry.clone()),
        ("required", listed(&manifest.required)),
        ("optional", listed(&manifest.optional)),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The bytes of a file that could be a manifest, and one more than it may have.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(
            format!("{} cannot be read: {error}", file.display()),
            "name a manifest, such as agent.toml",
        )
    };
    let most = u64::try_from(manifest::LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    opened.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}
