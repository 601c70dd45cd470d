//! `covenant scripts`: which scripts there are, what each says, whether it may run; and whether a file could be one.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use covenant_daemon::config::workspace::place;
use covenant_model::api::{ScriptEntry, ScriptShown, SecretEntry};
use covenant_tools::script::check::{Checked, Flaw, check};
use covenant_tools::script::shelf::LONGEST;
use serde::Serialize;
use serde_json::Value;

use crate::args::script;
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant scripts list
  covenant scripts show weather           # the whole text, and its hash
  covenant scripts check weather.star     # before it is put into place";
const LIST: &str = "\
Examples:
  covenant scripts list
  covenant scripts list --json

A script lies as NAME.star in the directory that `[scripts] path` names, by
default `scripts` in the home. It runs once a person has approved its text:
covenant approvals list.";
const SHOW: &str = "\
Examples:
  covenant scripts show weather
  covenant scripts show weather --json

The hash can be written into the configuration, and that very text then needs
no approval:
  [scripts]
  allowlist = { weather = \"sha256:…\" }";
const CHECK: &str = "\
Examples:
  covenant scripts check weather.star

It is read and not run, and no daemon is needed. Where something is wrong, the
exit code is 1 and the place is written as FILE:LINE:COLUMN; 2 where the file
cannot be read.";

/// See the scripts there are, and whether each may run.
#[derive(Debug, Subcommand)]
pub(crate) enum Scripts {
    List(List),
    Show(Show),
    Check(Check),
}

/// List the scripts.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {}

/// Show one whole.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {
    /// Its name, with or without `.star`.
    #[arg(value_parser = script)]
    name: String,
}

/// Look whether a file could be a script.
#[derive(Debug, Args)]
#[command(after_help = CHECK)]
pub(crate) struct Check {
    /// The file.
    file: PathBuf,
}

impl Scripts {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(_) => list(setting),
            Self::Show(show) => show.run(setting),
            Self::Check(check) => check.run(setting),
        }
    }
}

fn list(setting: &Setting) -> Result<Exit, Failure> {
    let client = setting.client()?;
    let scripts: Vec<ScriptEntry> = client.list("/api/v1/scripts")?;
    if setting.json() {
        print::json(&scripts)?;
        return Ok(Exit::Done);
    }
    if scripts.is_empty() {
        print::note(&format!(
            "there are no scripts; put a file of Starlark into {0} as NAME.star, and see whether it could be one: \
             covenant scripts check FILE",
            directory(setting, &client)?.display()
        ));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "STATUS", "DESCRIPTION"]);
    for script in &scripts {
        let told = script.reason.as_ref().filter(|_| script.status == "unusable");
        table.row([(&script.name).into(), status(script).into(), told.unwrap_or(&script.description).into()]);
    }
    table.print()?;
    Ok(Exit::Done)
}

/// Where scripts lie, by the settings in effect.
fn directory(setting: &Setting, client: &Client) -> Result<PathBuf, Failure> {
    let effective: Value = client.get("/api/v1/config")?;
    let written = effective.pointer("/scripts/path").and_then(Value::as_str).unwrap_or("scripts");
    Ok(place(&setting.home, written, &|name| std::env::var(name).ok()))
}

/// The names of secrets as a person reads them: those that are not set are marked.
pub(crate) fn marked(client: &Client, names: &[String]) -> Result<String, Failure> {
    if names.is_empty() {
        return Ok(String::new());
    }
    let set: Vec<SecretEntry> = client.list("/api/v1/secrets")?;
    let missing = |name: &&String| !set.iter().any(|entry| entry.name == **name);
    let told = |name: &String| if missing(&name) { format!("{name} (not set)") } else { name.clone() };
    let mut text = names.iter().map(told).collect::<Vec<_>>().join(", ");
    if let Some(first) = names.iter().find(missing) {
        text += "; set it with: covenant secrets set ";
        text += first;
    }
    Ok(text)
}

/// How it stands, and by whose word.
fn status(script: &ScriptEntry) -> String {
    match script.allowlist.as_deref() {
        Some("pinned") => format!("{} by allowlist", script.status),
        Some(how) => format!("{} by allowlist, {how}", script.status),
        None => script.status.clone(),
    }
}

impl Show {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = format!("/api/v1/scripts/{}", segment(&self.name));
        let client = setting.client()?;
        let shown: ScriptShown = client.get(&path)?;
        if setting.json() {
            print::json(&shown)?;
            return Ok(Exit::Done);
        }
        let script = &shown.script;
        let mut facts = vec![("name", script.name.clone()), ("status", status(script))];
        let mut fact = |name, value: Option<&String>| {
            facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value.clone())));
        };
        fact("reason", script.reason.as_ref());
        fact("hash", script.sha256.as_ref());
        fact("description", Some(&script.description));
        fact("author", script.author.as_ref());
        fact("version", script.version.as_ref());
        fact("secrets", Some(&marked(&client, &script.secrets)?));
        print::facts(&facts)?;
        if let Some(text) = &shown.text {
            print::line("")?;
            for line in text.lines() {
                print::line(&print::escape_block(line))?;
            }
        }
        next(script);
        Ok(Exit::Done)
    }
}

/// What can be done about it.
fn next(script: &ScriptEntry) {
    match (&script.approval_id, script.status.as_str()) {
        (Some(id), "pending" | "modified") => {
            print::note(&format!(
                "\ndecide: covenant approvals approve {id}, or: covenant approvals reject {id}"
            ));
        }
        (Some(id), "rejected") => {
            print::note(&format!("\nto change that: covenant approvals approve {id} --revise"));
        }
        (None, "pending") => {
            print::note(
                "\nnobody has wanted to run this text yet; once somebody does, it is in: covenant approvals list",
            );
        }
        _ => {}
    }
}

/// What `check` says to programs.
#[derive(Serialize)]
struct Verdict<'c> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<&'c Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'c Flaw>,
}

impl Check {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let text = read(&self.file)?;
        let checked = check(&self.file.display().to_string(), &text);
        if setting.json() {
            let verdict =
                Verdict { ok: checked.is_ok(), script: checked.as_ref().ok(), error: checked.as_ref().err() };
            print::json(&verdict)?;
        }
        let Checked { header, functions, warnings } = checked.map_err(|flaw| {
            Failure::failed(flaw.to_string(), "correct that, and check it again; nothing was run")
        })?;
        if setting.json() {
            return Ok(Exit::Done);
        }
        print::warn_all(&warnings, "covenant scripts check FILE --json");
        let mut facts = vec![("ok", self.file.display().to_string())];
        for (name, value) in [
            ("description", header.description),
            ("author", header.author),
            ("version", header.version),
            ("secrets", header.secrets.join(", ")),
            ("functions", functions.join(", ")),
        ] {
            facts.extend(Some((name, value)).filter(|(_, value)| !value.is_empty()));
        }
        print::facts(&facts)?;
        Ok(Exit::Done)
    }
}

/// The text of a file that could be a script.
fn read(file: &Path) -> Result<String, Failure> {
    let shown = file.display();
    let help = "name a file of Starlark text";
    let unreadable = |error: std::io::Error| Failure::usage(format!("{shown} cannot be read: {error}"), help);
    let failed = |reason: String| Failure::failed(format!("{shown}: {reason}"), help);
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    opened.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
        return Err(failed(format!("it has more than {} KiB, and a script may not", LONGEST >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".to_owned()))
}
