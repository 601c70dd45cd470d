//! `covenant doctor`: looks at everything a daemon needs, and says what is wrong and what to do. Changes nothing, starts
//! no daemon, works with and without one.

mod agents;
mod daemon;
mod files;
mod machine;
mod sandbox;
mod servers;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant doctor                  # exit code 1 if something is broken
  covenant doctor --json";

/// Look for what is wrong, and say what to do.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// Not looked at.
    Skip,
    /// It works, and a person should know.
    Warn,
    /// It does not work.
    Fail,
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    name: &'static str,
    state: State,
    detail: String,
    action: String,
}

impl Finding {
    pub(super) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Ok, detail: detail.into(), action: String::new() }
    }

    pub(super) fn skip(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Skip, detail: detail.into(), action: String::new() }
    }

    pub(super) fn warn(name: &'static str, detail: impl Into<String>, action: impl Into<String>) -> Self {
        Self { name, state: State::Warn, detail: detail.into(), action: action.into() }
    }

    pub(super) fn fail(name: &'static str, detail: impl Into<String>, action: impl Into<String>) -> Self {
        Self { name, state: State::Fail, detail: detail.into(), action: action.into() }
    }

    /// An error whose sentence ends with the remedy.
    pub(super) fn told(name: &'static str, error: &impl std::fmt::Display) -> Self {
        let told = Failure::told(Exit::Failed, error);
        Self::fail(name, told.message(), told.help())
    }

    /// A remark whose sentence ends with the remedy.
    pub(super) fn remark(name: &'static str, remark: &str) -> Self {
        Self { state: State::Warn, ..Self::told(name, &remark) }
    }
}

/// The whole answer for machines.
#[derive(Debug, Serialize)]
struct Answer<'f> {
    ok: bool,
    checks: &'f [Finding],
}

impl Doctor {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let mut findings = files::home(&setting.home);
        findings.extend(files::config(&setting.home));
        findings.extend(files::tls(&setting.home, setting.now()));
        findings.extend(files::secrets(&setting.home));
        findings.extend(files::tools(&setting.home));
        findings.extend(files::identity(&setting.home));
        findings.extend(daemon::all(setting));
        findings.extend(servers::all(setting));
        findings.extend(agents::all(setting));
        findings.extend(files::audit(&setting.home));
        findings.extend(machine::all(setting));
        findings.push(sandbox::all(setting));
        let ok = findings.iter().all(|finding| finding.state != State::Fail);
        if setting.json() {
            print::json(&Answer { ok, checks: &findings })?;
        } else {
            show(&findings)?;
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

fn show(findings: &[Finding]) -> Result<(), Failure> {
    for finding in findings {
        let (word, colour) = match finding.state {
            State::Ok => ("ok", AnsiColor::Green),
            State::Skip => ("skip", AnsiColor::Cyan),
            State::Warn => ("warn", AnsiColor::Yellow),
            State::Fail => ("fail", AnsiColor::Red),
        };
        let style = Style::new().bold().fg_color(Some(colour.into()));
        print::line(&format!(
            "{style}{word:<4}{style:#}  {:<9} {}",
            finding.name,
            print::escape(&finding.detail)
        ))?;
        if !finding.action.is_empty() {
            print::line(&format!("{:16}do: {}", "", print::escape(&finding.action)))?;
        }
    }
    print::line(&format!("\n{}", verdict(findings)))
}

/// The whole in one sentence. What was not looked at is not called well.
fn verdict(findings: &[Finding]) -> String {
    let count = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    match (count(State::Fail), count(State::Warn), count(State::Skip)) {
        (0, 0, 0) => "all is well".to_owned(),
        (0, 0, skipped) => format!("nothing wrong was found; {skipped} not checked"),
        (0, odd, 0) => format!("it works; {odd} to look at"),
        (0, odd, skipped) => format!("nothing broken was found; {odd} to look at, {skipped} not checked"),
        (bad, odd, _) => format!("{bad} broken, {odd} to look at"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_not_called_well() {
        let ok = Finding::ok("home", "");
        assert_eq!(verdict(std::slice::from_ref(&ok)), "all is well");
        let skipped = [ok, Finding::skip("database", "")];
        assert_eq!(verdict(&skipped), "nothing wrong was found; 1 not checked");
    }
}
