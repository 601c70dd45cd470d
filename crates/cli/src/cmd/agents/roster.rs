//! `covenant agents list`, `show`, `reload`, `usage`: the agents a daemon knows, and what they used.

use std::time::Duration;

use clap::Args;
use covenant_model::api::{AgentEntry, AgentUsage, AgentsRead};
use serde_json::{Value, json};

use crate::client::{decode, segment};
use crate::exit::{Exit, Failure};
use crate::print::{self, Table};
use crate::setting::Setting;

const LIST: &str = "\
Examples:
  covenant agents list
  covenant agents list --json

A manifest that is not used is listed too, with what is wrong in it.";
const SHOW: &str = "\
Examples:
  covenant agents show research@local --json

It is the manifest as the daemon read it, with what it leaves out filled in.";
const RELOAD: &str = "\
Examples:
  covenant agents reload

Runs that are under way stay as they are.";
const USAGE: &str = "\
Examples:
  covenant agents usage
  covenant agents usage --since 1d --json

A run costs one credit for each second it has begun. CAP is what the manifest
allows in an hour (`settlement.budget_credits_per_hour`), 0 is no limit.";

/// List the agents there are.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {}

/// Show the manifest of one.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {
    /// Its id or its name.
    id: String,
}

/// Read the manifests again.
#[derive(Debug, Args)]
#[command(after_help = RELOAD)]
pub(crate) struct Reload {}

/// See what agents used.
#[derive(Debug, Args)]
#[command(after_help = USAGE)]
pub(crate) struct Usage {
    /// Since when, in whole hours or days.
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = hours)]
    since: u64,
}

fn hours(text: &str) -> Result<u64, String> {
    let span = covenant_model::time::span(text).map_err(|error| error.to_string())?;
    if span < Duration::from_hours(1) || span.as_secs() % 3600 != 0 {
        return Err(format!("`{text}` is not in whole hours; write `1h`, `24h` or `7d`"));
    }
    Ok(span.as_secs() / 3600)
}

impl List {
    pub(super) fn run(setting: &Setting) -> Result<Exit, Failure> {
        let agents: Vec<AgentEntry> = setting.client()?.list("/api/v1/agents")?;
        if setting.json() {
            print::json(&agents)?;
            return Ok(Exit::Done);
        }
        if agents.is_empty() {
            print::note(&format!(
                "there are no agents; make one with: covenant agents new NAME, or put a manifest into {}; what is new there is read by: covenant agents reload",
                setting.home.agents().display()
            ));
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["ID", "NAME", "VERSION", "RUNTIME", "STATUS", "MANIFEST"]);
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        for agent in &agents {
            table.row([
                text(&agent.id).into(),
                text(&agent.name).into(),
                text(&agent.version).into(),
                text(&agent.runtime).into(),
                (&agent.status).into(),
                (&agent.file).into(),
            ]);
        }
        table.print()?;
        for problem in agents.iter().flat_map(|agent| &agent.problems) {
            print::warn(&print::escape(problem));
        }
        Ok(Exit::Done)
    }
}

impl Show {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let document = setting.client()?.get_raw(&format!("/api/v1/agents/{}", segment(&self.id)))?;
        if setting.json() {
            print::json_text(&document)?;
            return Ok(Exit::Done);
        }
        let manifest: Value = decode(&document)?;
        for (section, members) in manifest.as_object().into_iter().flatten() {
            print::line(&format!("[{}]", print::escape(section)))?;
            let lines: Vec<(&str, String)> = match members.as_object() {
                Some(members) => members.iter().map(|(key, value)| (key.as_str(), shown(value))).collect(),
                None => vec![("", shown(members))],
            };
            print::facts(&lines)?;
            print::line("")?;
        }
        Ok(Exit::Done)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Reload {
    pub(super) fn run(setting: &Setting) -> Result<Exit, Failure> {
        let read: AgentsRead = setting.client()?.post("/api/v1/agents/reload", &json!({}))?;
        if setting.json() {
            print::json(&read)?;
            return Ok(Exit::Done);
        }
        let count = read.agents.len();
        let agents = if count == 1 { "agent" } else { "agents" };
        print::line(&format!(
            "{count} {agents}, {} changed, {} gone",
            read.changed.len(),
            read.removed.len()
        ))?;
        for problem in read.problems.iter().chain(&read.warnings) {
            print::warn(&print::escape(problem));
        }
        Ok(Exit::Done)
    }
}

impl Usage {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let usage: Vec<AgentUsage> =
            setting.client()?.list(&format!("/api/v1/agents/usage?hours={}", self.since))?;
        if setting.json() {
            print::json(&usage)?;
            return Ok(Exit::Done);
        }
        if usage.is_empty() {
            print::note("there are no agents; make one with: covenant agents new NAME");
            return Ok(Exit::Done);
        }
        let mut table = Table::new(&["AGENT", "RUNS", "CREDITS", "CAP"]);
        for one in &usage {
            table.row([
                (&one.agent).into(),
                one.runs.to_string().into(),
                one.credits.to_string().into(),
                one.cap.to_string().into(),
            ]);
        }
        table.print()?;
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::hours;

    #[test]
    fn a_span_is_in_whole_hours() {
        assert_eq!((hours("1h"), hours("2d")), (Ok(1), Ok(48)));
        for wrong in ["30m", "90m", "0h", "x", ""] {
            assert!(hours(wrong).is_err(), "{wrong}");
        }
    }
}
