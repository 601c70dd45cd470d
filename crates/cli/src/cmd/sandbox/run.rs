//! `covenant sandbox run`: one program in the sandbox, in the foreground. What can be typed, and what it ends with.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use covenant_model::time;
use covenant_runner::launch::StartError;
use covenant_runner::order::Network;
use serde_json::json;

use super::play::{self, Played, Show, Unplayed};
use super::{ground, order, promises, told};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::{Output, Setting};

const EXAMPLES: &str = "\
Examples:
  covenant sandbox run -- python3 -c 'print(2 + 2)'
  covenant sandbox run --read ./agent -- node \"$PWD/agent/main.js\"
  covenant sandbox run --network off --timeout 30s --memory-mb 256 -- ./tool
  covenant sandbox run --env LANG --env MODE=test --report -- /usr/bin/env
  covenant sandbox run --json --required -- ./tool < input > answer.json

It sees the system's programs and libraries, its own file, and what --read and
--write name; it runs in an empty directory that is gone afterwards, with an
environment of a few variables. See docs/sandbox.md.";

/// Run a program in the sandbox that agents get, here and now.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "covenant sandbox run [OPTIONS] -- <PROGRAM> [ARGUMENTS]...")]
pub(crate) struct Run {
    /// Where it may connect to.
    #[arg(long, value_name = "MODE", default_value = "outbound-https-only")]
    pub(super) network: Reach,
    /// A file or directory it may read; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(super) read: Vec<PathBuf>,
    /// A file or directory it may also write; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub(super) write: Vec<PathBuf>,
    /// The most memory it and all it starts may have, in MiB.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = amount)]
    pub(super) memory_mb: u64,
    /// The most it may write to its scratch directory, in MiB.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = amount)]
    pub(super) disk_mb: u64,
    /// The most processes and threads at a time.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = processes)]
    pub(super) pids: u32,
    /// End it after that time, such as `30s`.
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(super) timeout: Option<Duration>,
    /// A variable it gets: `NAME=VALUE`, or `NAME` for the value it has here.
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = variable)]
    pub(super) env: Vec<Variable>,
    /// Refuse to run it where a promise of the sandbox cannot be kept in full.
    #[arg(long)]
    pub(super) required: bool,
    /// Say afterwards which promises were kept, and by which means.
    #[arg(long)]
    pub(super) report: bool,
    /// The program, by path or by its name on PATH, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(super) program: Vec<String>,
}

/// Where a program may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reach {
    /// Nowhere but to the daemon.
    Off,
    /// To the daemon, and to TLS servers on port 443 by way of a proxy.
    OutboundHttpsOnly,
    /// Everywhere.
    Full,
}

/// A variable for the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(super) name: String,
    /// None is the value it has here.
    pub(super) value: Option<String>,
}

impl From<Reach> for Network {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Off => Self::Off,
            Reach::OutboundHttpsOnly => Self::OutboundHttpsOnly,
            Reach::Full => Self::Full,
        }
    }
}

impl Run {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        self.check_program()?;
        let runs = ground::runs(setting, &ground::config(setting)?)?;
        let order = order::order(&self, &setting.home, runs.sandbox())?;
        let show = if setting.json() { Show::Kept } else { Show::Through };
        let (timeout, output) = (self.timeout, setting.output);
        play::play(runs, order, show, timeout, move |outcome| {
            self.tell(output, outcome).unwrap_or_else(|failure| {
                failure.report(output);
                failure.exit()
            })
        })
    }

    /// What begins like an option is most likely one that was misspelt.
    fn check_program(&self) -> Result<(), Failure> {
        let Some(typed) = self.program.first().filter(|typed| typed.starts_with('-')) else { return Ok(()) };
        let name = typed.split('=').next().unwrap_or(typed);
        Err(Failure::usage(
            format!("`{name}` is not an option of `sandbox run`"),
            "see what there is: covenant sandbox run --help; a program whose name begins with `-` is given by path",
        ))
    }

    /// Says how it went.
    fn tell(&self, output: Output, outcome: Result<Played, Unplayed>) -> Result<Exit, Failure> {
        let played = match outcome {
            Ok(played) => played,
            Err(Unplayed::Refused(error)) => return Err(self.refused(output, &error)?),
            Err(Unplayed::Failed(failure)) => return Err(failure),
        };
        if output == Output::Machines {
            document(&played)?;
        } else if self.report {
            promises::note(&played.report);
        } else if !played.report.is_whole() {
            print::warn(&format!("{}; see which, and why, with --report", promises::verdict(&played.report)));
        }
        if let Some(error) = &played.output_lost {
            return Err(Failure::output(error));
        }
        match told::failure(self, &played) {
            None => Ok(Exit::Done),
            Some(failure) => Err(failure),
        }
    }

    /// Nothing ran: the sentence for it, with the table before it where one was asked for.
    fn refused(&self, output: Output, error: &StartError) -> Result<Failure, Failure> {
        if let StartError::Required(report) = error {
            if output == Output::Machines {
                print::json(&json!({"run": null, "report": report}))?;
            } else if self.report {
                promises::note(report);
            }
        }
        Ok(told::refusal(self, error))
    }
}

/// All that is known of a run, for programs.
fn document(played: &Played) -> Result<(), Failure> {
    print::json(&json!({
        "run": played.run,
        "status": played.ending.status,
        "ended_by": played.ended_by,
        "over": played.ending.over,
        "usage": played.ending.usage,
        "report": played.report,
        "stdout": played.output.text(),
        "stdout_cut": played.output.is_cut(),
        "stderr": played.errors,
        "refused": played.refused,
    }))
}

/// Reads a size in MiB.
fn amount(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) | Err(_) => {
            Err(format!("`{text}` is no size in MiB: write a whole number from 1 up, such as `512`"))
        }
        Ok(amount) => Ok(amount),
    }
}

/// Reads how many processes there may be.
fn processes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) | Err(_) => {
            Err(format!("`{text}` is no number of processes: write a whole number from 1 up, such as `256`"))
        }
        Ok(count) => Ok(count),
    }
}

/// Reads how long it may run.
fn span(text: &str) -> Result<Duration, String> {
    match time::span(text) {
        Ok(Duration::ZERO) | Err(_) => {
            Err(format!("`{text}` is no time to run: write a number and its unit, such as `30s` or `5m`"))
        }
        Ok(span) => Ok(span),
    }
}

/// Reads `NAME=VALUE` or `NAME`.
fn variable(text: &str) -> Result<Variable, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_sound) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!(
            "`{name}` is no name of a variable: write `NAME=VALUE`, or `NAME` for the value it has here"
        ));
    }
    Ok(Variable { name: name.to_owned(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_nothing_are_refused_in_words() {
        for wrong in ["0", "-1", "many", ""] {
            assert!(amount(wrong).unwrap_err().contains("such as `512`"));
            assert!(processes(wrong).unwrap_err().contains("such as `256`"));
            assert!(span(wrong).unwrap_err().contains("such as `30s`"));
        }
        assert_eq!(span("2m"), Ok(Duration::from_mins(2)));
        assert!(span("0s").is_err());
    }

    #[test]
    fn a_variable_is_named_with_or_without_its_value() {
        let given = |name: &str, value: Option<&str>| {
            Ok(Variable { name: name.to_owned(), value: value.map(str::to_owned) })
        };
        assert_eq!(variable("A=b=c"), given("A", Some("b=c")));
        assert_eq!(variable("A="), given("A", Some("")));
        assert_eq!(variable("A_1"), given("A_1", None));
        for wrong in ["", "=x", "1A=x", "A-B=x", "A B"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }
}
