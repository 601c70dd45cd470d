//! `covenant sandbox check`: what this host can enforce, found by running something tiny in the sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use covenant_daemon::config::Config;
use covenant_runner::order::Order;
use covenant_runner::report::Report;

use super::{order, play, promises};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

/// How long the tiny program may take, its start included.
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  covenant sandbox check           # exit code 1 if a promise is not kept
  covenant sandbox check --json";

/// Say which promises of the sandbox this host can keep, and by which means.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {}

impl Check {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let report = probe(setting, &order::config(setting)?)?;
        if setting.json() {
            print::json(&serde_json::json!({"whole": report.is_whole(), "report": report}))?;
        } else {
            promises::print(&report)?;
            if !report.is_whole() {
                print::note("see what can be done about it: covenant doctor");
            }
        }
        Ok(if report.is_whole() { Exit::Done } else { Exit::Failed })
    }
}

/// What held for a tiny program with the default limits.
pub(crate) fn probe(setting: &Setting, config: &Config) -> Result<Report, Failure> {
    let mut sandbox = order::sandbox(setting, config);
    // Whether it is whole is the question.
    sandbox.required = false;
    let (program, arguments) = tiny()?;
    sandbox.read.push(program.clone());
    let order = Order {
        name: "sandbox check".to_owned(),
        program,
        arguments,
        environment: Vec::new(),
        directory: PathBuf::from("/"),
        sandbox: Some(sandbox),
    };
    play::briefly(setting, config, order, PATIENCE)
}

/// A program that is there, does nothing and succeeds.
fn tiny() -> Result<(PathBuf, Vec<String>), Failure> {
    if let Some(file) = ["/bin/true", "/usr/bin/true"].iter().map(Path::new).find(|file| file.exists()) {
        return Ok((file.to_owned(), Vec::new()));
    }
    let own = std::env::current_exe().ok().filter(|file| file.is_file());
    let own = own.ok_or_else(|| {
        Failure::failed(
            "there is nothing to try the sandbox with: neither /bin/true nor this program's own file",
            "",
        )
    })?;
    Ok((own, vec!["--version".to_owned()]))
}
