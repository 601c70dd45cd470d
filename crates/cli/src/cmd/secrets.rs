//! `covenant secrets`: named values that tools may use and that nothing ever shows.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use covenant_model::api::{Removed, SecretBody, SecretEntry};
use covenant_model::secret::{Secret, check_name, check_value};
use http::Method;

use crate::client::segment;
use crate::cmd::capabilities::short;
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

/// More than any credential has; the daemon's own limit is lower, and says so.
const INPUT_LIMIT: u64 = 1024 * 1024;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant secrets set GITHUB_TOKEN
  covenant secrets list
  covenant secrets remove GITHUB_TOKEN";
const SET: &str = "\
Examples:
  covenant secrets set GITHUB_TOKEN               # asks, and does not show it
  covenant secrets set GITHUB_TOKEN < token.txt   # reads standard input

The value is never an argument: arguments show in process lists and in the
shell's history.";
const LIST: &str = "\
Examples:
  covenant secrets list            # names and where from, never values
  covenant secrets list --json";
const REMOVE: &str = "\
Examples:
  covenant secrets remove GITHUB_TOKEN";

/// Keep named values that nothing ever shows.
#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    Set(Set),
    List(List),
    Remove(Remove),
}

/// Set a secret; the value comes from a prompt or from standard input.
#[derive(Debug, Args)]
#[command(after_help = SET)]
pub(crate) struct Set {
    /// Its name: capital letters, digits and `_`.
    name: String,
    /// Taken only to say why it is refused.
    #[arg(hide = true)]
    value: Vec<OsString>,
}

/// List the secrets by name.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {}

/// Remove a secret.
#[derive(Debug, Args)]
#[command(after_help = REMOVE)]
pub(crate) struct Remove {
    /// Its name.
    name: String,
}

impl Secrets {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Set(set) => set.run(setting),
            Self::List(_) => list(setting),
            Self::Remove(remove) => remove.run(setting),
        }
    }
}

impl Set {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        if !self.value.is_empty() {
            return Err(Failure::usage(
                "a secret's value is not taken as an argument: it would show in process lists and in the shell's history",
                format!(
                    "run `covenant secrets set {}` and type the value when asked, or send it to standard input; \
                     if this was a real value, replace it: it is in the history now",
                    print::escape(&self.name)
                ),
            ));
        }
        check_name(&self.name).map_err(|error| Failure::usage(error.to_string(), ""))?;
        let value = read_value(&self.name)?;
        check_value(&self.name, value.reveal()).map_err(|error| Failure::usage(error.to_string(), ""))?;
        let body = SecretBody { value: value.reveal().to_owned() };
        let path = format!("/api/v1/secrets/{}", segment(&self.name));
        let answer = setting.client()?.send(Method::PUT, &path, &body)?;
        if setting.json() {
            print::json_text(&answer)?;
        } else {
            print::line(&format!("set {}", self.name))?;
        }
        Ok(Exit::Done)
    }
}

/// Asks on a terminal without showing what is typed; elsewhere reads standard input, less one line break at its end.
fn read_value(name: &str) -> Result<Secret, Failure> {
    let unread = |error: std::io::Error| {
        Failure::usage(
            format!("the value of {name} could not be read: {error}"),
            "send it to standard input as UTF-8 text",
        )
    };
    if std::io::stdin().is_terminal() {
        return rpassword::prompt_password(format!("value of {name} (not shown): "))
            .map(Secret::new)
            .map_err(unread);
    }
    let mut text = String::new();
    std::io::stdin().take(INPUT_LIMIT).read_to_string(&mut text).map_err(unread)?;
    let kept =
        text.strip_suffix('\n').map_or(text.len(), |rest| rest.strip_suffix('\r').unwrap_or(rest).len());
    text.truncate(kept);
    Ok(Secret::new(text))
}

fn list(setting: &Setting) -> Result<Exit, Failure> {
    let secrets: Vec<SecretEntry> = setting.client()?.list("/api/v1/secrets")?;
    if setting.json() {
        print::json(&secrets)?;
        return Ok(Exit::Done);
    }
    if secrets.is_empty() {
        print::note("there are no secrets; set one with: covenant secrets set NAME");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "SOURCE", "SET"]);
    for secret in &secrets {
        let set_at = secret.set_at.map(|moment| short(&moment.to_string())).unwrap_or_default();
        table.row([(&secret.name).into(), (&secret.source).into(), set_at.into()]);
    }
    table.print()?;
    Ok(Exit::Done)
}

impl Remove {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let removed: Removed =
            setting.client()?.delete(&format!("/api/v1/secrets/{}", segment(&self.name)))?;
        if setting.json() {
            print::json(&removed)?;
        } else {
            print::line(&format!("removed {}", print::escape(&removed.removed)))?;
        }
        Ok(Exit::Done)
    }
}
