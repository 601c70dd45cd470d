//! `covenant mcp test`: connects anew, lists the tools, disconnects, and says which of these failed.

use anstyle::{AnsiColor, Style};
use clap::Args;
use covenant_model::server::{Phase, ServerStatus, ServerTest};
use serde_json::json;

use super::advice::{self, Kind};
use super::waiting::wait;
use super::{counted, path, word};
use crate::args::server;
use crate::client::decode;
use crate::exit::{Exit, Failure};
use crate::print::{self, escape};
use crate::setting::{Output, Setting};

/// How many lines of a log are shown to people.
const LINES: usize = 20;

const EXAMPLES: &str = "\
Examples:
  covenant mcp test time           # exit code 1 if a phase failed
  covenant mcp test time --json

It is started or reached once more, beside the one that runs. The phases are
entry (can it be used as it is written), start (the program runs, the URL is
reached), handshake (it answers as an MCP server does), list (its tools) and
stop.";

/// Try a server: connect, list its tools, disconnect.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Test {
    /// Its name.
    #[arg(value_parser = server)]
    name: String,
}

impl Test {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let client = setting.client()?;
        let place = path(&self.name, "/test");
        let answer = wait(setting, &self.name, "", || client.call(&place, &json!({})))?;
        let tried: ServerTest = decode(&answer)?;
        if setting.json() {
            print::json_text(&answer)?;
        } else {
            tried.phases.iter().try_for_each(|phase| print::line(&line(phase)))?;
        }
        if !tried.ok {
            if !setting.json() {
                log(&tried);
            }
            // What it is decides only what to advise.
            let status = client.get::<ServerStatus>(&path(&self.name, "")).ok();
            let kind = status.as_ref().map_or(Kind::Program, Kind::of);
            let place = advice::place(status.map(|status| status.source).unwrap_or_default().as_str());
            return Err(failed(kind, &place, &tried, setting.output));
        }
        if !setting.json() {
            print::line(&verdict(&tried))?;
        }
        Ok(Exit::Done)
    }
}

/// One phase: how it ended, what it was, how long it took, what there is to say.
fn line(phase: &Phase) -> String {
    let (said, colour) = if phase.ok { ("ok", AnsiColor::Green) } else { ("failed", AnsiColor::Red) };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let detail = phase.detail.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = format!(
        "{style}{said:<6}{style:#}  {:<9} {:>6} ms  {}",
        escape(&phase.phase),
        phase.ms,
        escape(&detail)
    );
    text.trim_end().to_owned()
}

/// What is said of a server that works.
fn verdict(tried: &ServerTest) -> String {
    let era = tried.era.as_deref().map(|era| format!(", era {}", escape(era))).unwrap_or_default();
    format!("\n{} works: {}{era}", escape(&tried.name), counted(tried.tools.len(), "tool"))
}

/// What it said last, beside the answer.
fn log(tried: &ServerTest) {
    if tried.log.is_empty() {
        return;
    }
    let last = tried.log.iter().skip(tried.log.len().saturating_sub(LINES));
    let lines: Vec<String> = last.map(|line| format!("  {}", escape(line))).collect();
    print::note(&format!("\nthe last lines of its log:\n{}", lines.join("\n")));
}

/// What it ends with. People have read the reason in the line of its phase already.
fn failed(kind: Kind, place: &str, tried: &ServerTest, output: Output) -> Failure {
    let Some(phase) = tried.phases.iter().rfind(|phase| !phase.ok) else {
        return Failure::failed(format!("the test of `{}` did not come to an end", tried.name), "");
    };
    let help = help(kind, place, &tried.name, phase);
    let message = format!("`{}` failed in the phase {}", tried.name, phase.phase);
    match output {
        Output::People => Failure::failed(message, help),
        Output::Machines => Failure::failed(format!("{message}: {}", phase.detail), help),
    }
}

/// What to do about a phase that failed.
fn help(kind: Kind, place: &str, name: &str, phase: &Phase) -> String {
    let name = word(name);
    match (phase.phase.as_str(), kind) {
        ("entry", _) => {
            "correct its entry, or remove it and add it anew: docs/servers.md has every key".to_owned()
        }
        ("start" | "handshake", Kind::Web) => advice::web(&phase.detail, place),
        ("start", Kind::Program) => {
            "see whether the same command works by itself; a program is looked for on the daemon's PATH"
                .to_owned()
        }
        ("handshake", Kind::Program) => format!(
            "it was started, and did not answer as an MCP server does: its log may say more (covenant mcp logs {name}); \
             see also whether `transport` and `era` of its entry are right"
        ),
        ("list", Kind::Web) => {
            "it is connected and lists no tools: see `list_timeout_secs` in its entry".to_owned()
        }
        ("list", Kind::Program) => {
            format!("it is connected and lists no tools: see what it says with `covenant mcp logs {name}`")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: [&str; 4] = ["entry", "start", "handshake", "list"];

    fn tried(phase: &str, ok: bool) -> ServerTest {
        ServerTest {
            name: "time".to_owned(),
            ok,
            phases: vec![
                Phase { phase: "start".to_owned(), ok: true, ms: 12, detail: String::new() },
                Phase { phase: phase.to_owned(), ok, ms: 10_000, detail: "did not\nanswer".to_owned() },
            ],
            tools: vec!["now".to_owned()],
            era: Some("legacy".to_owned()),
            log: Vec::new(),
        }
    }

    #[test]
    fn each_phase_is_a_line_that_begins_with_how_it_ended() {
        let plain = |phase: &Phase| anstream::adapter::strip_str(&line(phase)).to_string();
        let lines: Vec<String> = tried("list", false).phases.iter().map(plain).collect();
        assert_eq!(lines, ["ok      start         12 ms", "failed  list       10000 ms  did not answer"]);
    }

    #[test]
    fn a_failed_phase_is_named_with_its_reason_and_what_to_do() {
        for (kind, phase) in
            [Kind::Program, Kind::Web].into_iter().flat_map(|kind| PHASES.map(|phase| (kind, phase)))
        {
            let failure = failed(kind, "", &tried(phase, false), Output::Machines);
            assert_eq!(failure.exit(), Exit::Failed);
            assert!(failure.message().contains(&format!("in the phase {phase}: did not")), "{failure:?}");
            assert!(!failure.help().is_empty(), "{phase}");
            assert!(kind == Kind::Program || !failure.help().contains("log"), "{failure:?}");
        }
    }

    #[test]
    fn a_server_that_works_is_told_in_a_line() {
        assert_eq!(verdict(&tried("stop", true)), "\ntime works: 1 tool, era legacy");
    }
}
