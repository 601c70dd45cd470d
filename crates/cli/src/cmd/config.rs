//! `covenant config`: the settings in effect, and where they stand. Works with and without a daemon.

use clap::{Args, Subcommand};
use covenant_daemon::config::{Config as Settings, Overrides};
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant config show
  covenant config path";
const SHOW: &str = "\
Examples:
  covenant config show             # what the daemon uses, or would use
  covenant config show --json";
const PATH: &str = "\
Examples:
  covenant config path
  $EDITOR \"$(covenant config path)\" && covenant reload";

/// See the settings in effect.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    Show(Show),
    Path(Path),
}

/// Show every setting with its effective value, secrets hidden.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {}

/// Print where the configuration file is, or would be.
#[derive(Debug, Args)]
#[command(after_help = PATH)]
pub(crate) struct Path {}

impl Config {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Show(_) => show(setting),
            Self::Path(_) => {
                let path = setting.home.config();
                if setting.json() {
                    print::json(&serde_json::json!({"path": path, "exists": path.exists()}))?;
                } else {
                    print::line(&path.display().to_string())?;
                }
                Ok(Exit::Done)
            }
        }
    }
}

fn show(setting: &Setting) -> Result<Exit, Failure> {
    let effective = if let Some(client) = setting.running()? {
        client.get("/api/v1/config")?
    } else {
        let loaded = Settings::load(&setting.home, &Overrides::from_environment())
            .map_err(|error| Failure::told(Exit::Usage, &error))?;
        print::warn_all(&loaded.warnings, "covenant doctor");
        print::note("no daemon runs; these are the values one would start with");
        loaded.config.effective()
    };
    if setting.json() {
        print::json(&effective)?;
        return Ok(Exit::Done);
    }
    let mut first = true;
    for (section, keys) in effective.as_object().into_iter().flatten() {
        let gap = if std::mem::take(&mut first) { "" } else { "\n" };
        print::line(&format!("{gap}[{}]", print::escape(section)))?;
        for (key, value) in keys.as_object().into_iter().flatten() {
            print::line(&format!("{} = {}", print::escape(key), toml(value)))?;
        }
    }
    Ok(Exit::Done)
}

/// A value as `config.toml` would have it. Strings, numbers, booleans and lists of them are written as in JSON.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => print::escape_json(&other.to_string()).into_owned(),
    }
}
