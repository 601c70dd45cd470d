//! `covenant sandbox check`: what this host can enforce, found by running something tiny in the sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use covenant_daemon::config::Config;
use covenant_runner::nursery::{Launcher, Nursery};
use covenant_runner::order::{Door, Order, Sandbox};
use covenant_runner::report::Report;
use tokio::time::{Instant, timeout_at};

use super::{ground, promises};
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
        let report = probe(setting, &ground::config(setting)?)?;
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

/// What held for a tiny program with the default limits. Leaves nothing behind, and makes no home where there is none.
pub(crate) fn probe(setting: &Setting, config: &Config) -> Result<Report, Failure> {
    let (program, arguments) = tiny()?;
    let mut sandbox = Sandbox::new(std::env::temp_dir());
    // What belongs to the system is seen anyhow, links and all.
    if !covenant_runner::interpreter::is_system(&program) {
        sandbox.read.push(program.clone());
    }
    // Nobody serves it; but what a sandbox can promise depends on what it must let through.
    let door = ground::daemon(setting, config);
    sandbox.door = Some(Door { url: format!("http://{door}"), token: "none".to_owned() });
    let order = Order {
        name: "sandbox check".to_owned(),
        program,
        arguments,
        environment: Vec::new(),
        directory: PathBuf::from("/"),
        sandbox: Some(sandbox),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| untried(format!("no event loop could be made: {error}")))?;
    runtime.block_on(attempt(order))
}

async fn attempt(order: Order) -> Result<Report, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let nursery = Nursery::new(Launcher::own());
    let mut child = match timeout_at(deadline, nursery.start(order, Arc::new(str::to_owned))).await {
        Ok(Ok(child)) => child,
        Ok(Err(error)) => return Err(untried(error)),
        Err(_) => return Err(untried(format!("nothing ran within {} s", PATIENCE.as_secs()))),
    };
    let report = child.report().clone();
    match child.wait_until(deadline).await {
        Ok(ending) if ending.status.is_success() => Ok(report),
        Ok(ending) => Err(untried(format!("the program in it ended with {}", ending.status))),
        Err(overdue) => Err(untried(overdue)),
    }
}

fn untried(why: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("the sandbox could not be tried: {why}"), "docs/sandbox.md says what it needs")
}

/// A program that is there, does nothing and succeeds.
fn tiny() -> Result<(PathBuf, Vec<String>), Failure> {
    if let Some(file) = ["/bin/true", "/usr/bin/true"].iter().map(Path::new).find(|file| file.exists()) {
        return Ok((file.to_owned(), Vec::new()));
    }
    let own = std::env::current_exe().and_then(|file| file.canonicalize()).ok().filter(|file| file.is_file());
    let own = own.ok_or_else(|| {
        Failure::failed(
            "there is nothing to try the sandbox with: neither /bin/true nor this program's own file",
            "",
        )
    })?;
    Ok((own, vec!["--version".to_owned()]))
}
