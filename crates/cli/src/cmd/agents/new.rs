//! `covenant agents new`: a directory in the home with a manifest and a program that works, to be changed.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use covenant_daemon::agents::catalogue::Catalogue;
use covenant_daemon::home::Home;
use covenant_model::manifest::{Runtime, tool_of};
use serde_json::json;

use super::template::{self, Template};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant agents new helper
  covenant agents new helper --runtime rust-bin
  covenant agents new helper --runtime node --json

It lies in the home as agents/NAME: a manifest in which every key is explained,
and a program that calls a tool and answers. Nothing that is there is changed.";

/// Names that Cargo keeps for its own directories.
const OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Make an agent to begin with.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct New {
    /// Its name.
    #[arg(value_parser = name)]
    name: String,
    /// What it is written for: `rust-bin`, `python3` or `node`.
    #[arg(long, value_name = "RUNTIME", default_value = "python3", value_parser = runtime)]
    runtime: Runtime,
}

/// Reads the name of a new agent.
fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    let sound = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(plain)
        && (1..=32).contains(&text.len());
    if sound {
        return Ok(text.to_owned());
    }
    Err("a new agent's name is 1 to 32 small letters, digits, `_` and `-`, and begins with a letter, such as `helper`"
        .to_owned())
}

/// Reads a runtime.
fn runtime(text: &str) -> Result<Runtime, String> {
    Runtime::read(text)
        .ok_or_else(|| format!("`{text}` is not a runtime: write `rust-bin`, `python3` or `node`"))
}

impl New {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let (home, name) = (&setting.home, self.name.as_str());
        if self.runtime == Runtime::RustBin && OF_CARGO.contains(&name) {
            return Err(Failure::usage(
                format!("`{name}` cannot be the name of a program: Cargo keeps it for itself"),
                "choose another name",
            ));
        }
        if home.exists() {
            home.check().map_err(|error| Failure::told(Exit::Usage, &error))?;
        }
        free(home, name)?;
        let template = template::of(self.runtime);
        let directory = home.agents().join(name);
        let files = make(&directory, name, template)?;
        let next = next(&directory, name, template);
        if setting.json() {
            print::json(&json!({
                "name": name,
                "id": format!("{name}@local"),
                "runtime": self.runtime.as_str(),
                "directory": directory,
                "manifest": directory.join("agent.toml"),
                "files": files,
                "next": next,
            }))?;
            return Ok(Exit::Done);
        }
        for file in &files {
            print::line(&print::escape(&file.display().to_string()))?;
        }
        print::note(&format!("\n{name} is an agent. Next:"));
        for step in next {
            print::note(&format!("  {step}"));
        }
        Ok(Exit::Done)
    }
}

/// Refuses a name that another agent has.
fn free(home: &Home, name: &str) -> Result<(), Failure> {
    let catalogue = Catalogue::scan(home);
    let (id, tool) = (format!("{name}@local"), tool_of(name));
    let taken = catalogue.agents.iter().find(|agent| agent.id == id || agent.tool() == tool);
    match taken {
        Some(other) => Err(Failure::usage(
            format!("{} is an agent of that name already", other.file.display()),
            "choose another name, or remove that file",
        )),
        None => Ok(()),
    }
}

/// Writes the files of a new agent, all or none. Others may not write them, whatever the umask says, else they are not used.
fn make(directory: &Path, name: &str, template: Template) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::failed(
            format!("{} cannot be made: {error}", path.display()),
            "make its place writable for you",
        )
    };
    if let Some(agents) = directory.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(agents);
        made.map_err(|error| failed(agents, &error))?;
    }
    DirBuilder::new().mode(0o755).create(directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(
            format!("{} is there already, and nothing in it was changed", directory.display()),
            "choose another name, or remove it",
        ),
        _ => failed(directory, &error),
    })?;
    let mut files = Vec::new();
    for (place, text) in template.files {
        let path = directory.join(place);
        if let Err(error) = write(&path, &template::filled(text, name)) {
            // We have just made it, and nobody has put anything of theirs there.
            let _ = std::fs::remove_dir_all(directory);
            return Err(failed(&path, &error));
        }
        files.push(path);
    }
    Ok(files)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(above) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(above)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(text.as_bytes())
}

/// What to do now, as it can be typed.
fn next(directory: &Path, name: &str, template: Template) -> Vec<String> {
    let place = quoted(&directory.display().to_string());
    let built = template.build.map(|build| format!("(cd {place} && {build})"));
    let rest =
        ["covenant agents reload".to_owned(), format!("covenant intent --agent {name} \"what time is it?\"")];
    built.into_iter().chain(rest).collect()
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    if path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
