//! `covenant mcp remove` and `restart`: one server, by name.

use clap::Args;
use covenant_model::server::{ServerState, ServerStatus};
use serde_json::{Value, json};

use super::advice::{self, Kind};
use super::waiting::wait;
use super::{clause, counted, path};
use crate::args::server;
use crate::client::decode;
use crate::exit::{Exit, Failure};
use crate::print::{self, escape};
use crate::setting::Setting;

const REMOVE: &str = "\
Examples:
  covenant mcp remove time         # its tools are gone at once

Every entry of that name goes from the files of the home, and the rest of them
stays as it is. A server that comes with a plugin goes with it: remove the
plugin, or set `enabled = false` in its entry. Grants for its tools stay, and do
nothing until a tool of that name is there again.";
const RESTART: &str = "\
Examples:
  covenant mcp restart time        # also wakes one that is quarantined

Calls that are under way end with an error that says so.";

/// Disconnect a server, and remove it and its tools for good.
#[derive(Debug, Args)]
#[command(after_help = REMOVE)]
pub(crate) struct Remove {
    /// Its name.
    #[arg(value_parser = server)]
    name: String,
}

/// Start a server anew, whatever state it is in.
#[derive(Debug, Args)]
#[command(after_help = RESTART)]
pub(crate) struct Restart {
    /// Its name.
    #[arg(value_parser = server)]
    name: String,
}

impl Remove {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.client()?;
        let removed: Value = client.delete(&path(&self.name, "?persist=true")).map_err(|failure| {
            let status = client.get::<ServerStatus>(&path(&self.name, ""));
            let by_hand = |status: ServerStatus| of_a_plugin(&status).or_else(|| nameless(&status));
            status.ok().and_then(by_hand).unwrap_or(failure)
        })?;
        if setting.json() {
            print::json(&removed)?;
        } else {
            print::line(&gone(&self.name, &removed))?;
        }
        Ok(Exit::Done)
    }
}

impl Restart {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.client()?;
        let place = path(&self.name, "/restart");
        let answer = wait(setting, &self.name, "", || client.call(&place, &json!({})))?;
        let status: ServerStatus = decode(&answer)?;
        if setting.json() {
            print::json_text(&answer)?;
        } else if status.connected {
            let tools = counted(status.tool_count, "tool");
            print::line(&format!("restarted {}: ready, {tools}", escape(&status.name)))?;
        }
        if status.connected { Ok(Exit::Done) } else { Err(unready(&status)) }
    }
}

/// What is said of a server that is gone: every file its entry was taken from.
fn gone(name: &str, removed: &Value) -> String {
    let files = removed.get("files").and_then(Value::as_array);
    let files: Vec<_> = files.into_iter().flatten().filter_map(Value::as_str).map(escape).collect();
    if files.is_empty() {
        return format!("removed {}", escape(name));
    }
    format!("removed {} from {}", escape(name), files.join(" and "))
}

/// Why a server that a plugin brings is not removed, and how it is.
fn of_a_plugin(status: &ServerStatus) -> Option<Failure> {
    let source = &status.source;
    let is_plugin = source.ends_with("plugin.toml") || source.ends_with("plugin.json");
    is_plugin.then(|| {
        Failure::usage(
            format!("`{}` comes with a plugin: its entry stands in {source}", status.name),
            "remove the plugin's directory, or set `enabled = false` in that entry; either takes effect by itself",
        )
    })
}

/// Why an entry without a name is not removed: it is called by its place, and no file has that name.
fn nameless(status: &ServerStatus) -> Option<Failure> {
    let error = status.error.as_deref().filter(|error| error.contains("`name` is missing"))?;
    let place = error.split(": ").next().unwrap_or(&status.source);
    Some(Failure::usage(
        format!("`{}` is an entry without a name, and cannot be removed by one", status.name),
        format!("edit it: give it a `name`, or delete it ({place})"),
    ))
}

/// A server that was to run and does not.
fn unready(status: &ServerStatus) -> Failure {
    let why = match (&status.error, status.state) {
        (Some(error), _) => clause(&status.name, error),
        (None, ServerState::Disabled) => "does not run: its entry says `enabled = false`".to_owned(),
        (None, state) => format!("does not answer: it is {}", state.as_str()),
    };
    let next = advice::next(Kind::of(status), &status.name, &why, &advice::place(&status.source));
    Failure::failed(format!("`{}` {why}", status.name), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_stays_away_is_a_failure_with_its_reason_and_the_next_command() {
        let status = r#"{"name": "my files", "connected": false, "state": "quarantined", "tool_count": 0, "tools": [],
            "error": "the server `my files` ended with exit code 1"}"#;
        let failure = unready(&serde_json::from_str(status).unwrap());
        assert_eq!(failure.exit(), Exit::Failed);
        assert_eq!(failure.message(), "`my files` ended with exit code 1");
        assert!(failure.help().contains("covenant mcp test 'my files'"), "{failure:?}");
    }

    #[test]
    fn every_file_that_a_server_was_removed_from_is_named() {
        assert_eq!(gone("a", &json!({"name": "a", "removed": true})), "removed a");
        let files = json!({"name": "a", "removed": true, "files": ["config.toml", "secrets.toml"]});
        assert_eq!(gone("a", &files), "removed a from config.toml and secrets.toml");
    }

    #[test]
    fn an_entry_without_a_name_is_told_with_its_line() {
        let status = |error: &str| {
            let status = json!({"name": "config.toml line 12", "connected": false, "state": "failed", "tool_count": 0,
                "tools": [], "source": "config.toml", "error": error});
            nameless(&serde_json::from_value(status).unwrap())
        };
        let error = "/srv/home/config.toml, line 12: [[mcp.servers]] \"config.toml line 12\": `name` is missing: say \
                     what the server is called";
        let failure = status(error).unwrap();
        assert!(failure.help().ends_with("delete it (/srv/home/config.toml, line 12)"), "{failure:?}");
        assert_eq!(status("/srv/home/config.toml, line 12: `command` is missing"), None);
    }

    #[test]
    fn the_server_of_a_plugin_is_told_from_others() {
        let status = |source: &str| {
            let status = json!({"name": "a", "connected": true, "state": "ready", "tool_count": 0, "tools": [],
                "source": source});
            of_a_plugin(&serde_json::from_value(status).unwrap())
        };
        let failure = status("plugins/notes/plugin.toml").unwrap();
        assert!(failure.message().contains("plugins/notes/plugin.toml"), "{failure:?}");
        assert!(failure.help().contains("`enabled = false`"), "{failure:?}");
        assert_eq!(status("config.toml"), None);
    }
}
