//! Starting a daemon in the background, whoever asks: `up --detach`, a command that needs one, the MCP bridge.
//!
//! The daemon says through a pipe that it serves, or why it does not, so a failing start is told in its own words. Of
//! two that start at once one wins; the other finds the lock held, and uses the winner's.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::home::Home;
use covenant_daemon::lock;
use covenant_runner::daemon::{Launch, launch};
use covenant_runner::environment;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::print;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether another's daemon serves by now.
const PAUSE: Duration = Duration::from_millis(25);

/// How large the file for a daemon's standard error grows.
const ERRORS_LIMIT: u64 = 1024 * 1024;

/// The flag that says which part of a start a process is.
pub(crate) const STAGE: &str = "--stage";

/// What a daemon says to whoever started it, as one line of JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// It serves.
    Ready {
        /// Its process.
        pid: u32,
        /// What a person should know about its configuration and home.
        remarks: Vec<String>,
    },
    /// Another process has the home.
    Held {
        /// Who, in a sentence.
        message: String,
    },
    /// It could not start.
    Failed {
        /// The exit code it ends with.
        exit: u8,
        /// Why.
        message: String,
        /// What to do next.
        help: String,
    },
}

/// How a wish for a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// We started it.
    Ours {
        /// Its process.
        pid: u32,
    },
    /// Somebody else did meanwhile.
    Theirs,
}

/// Starts a daemon because a command needs one. However that fails, the command ends with: no daemon.
pub(crate) fn start_for_a_command(home: &Home) -> Result<Started, Failure> {
    start(home, &[]).map_err(Failure::without_daemon)
}

/// Starts a daemon for that home with those options of `up`, and waits until it serves. A failure ends as the daemon's
/// own does.
pub(crate) fn start(home: &Home, options: &[OsString]) -> Result<Started, Failure> {
    home.prepare().map_err(|error| Failure::told(Exit::Failed, &error))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt(home, options)? {
            Report::Ready { pid, remarks } => {
                print::warn_all(&remarks, "covenant doctor");
                print::note(&format!("started the daemon (pid {pid}), log in {}", home.log().display()));
                return Ok(Started::Ours { pid });
            }
            Report::Failed { exit, message, help } => {
                let usage = exit == Exit::Usage.number();
                return Err(Failure::new(if usage { Exit::Usage } else { Exit::Failed }, message, help));
            }
            Report::Held { message } => {
                if wait_for_theirs(home, deadline)? {
                    return Ok(Started::Theirs);
                }
                if Instant::now() >= deadline {
                    return Err(Failure::failed(
                        format!("{message}, and it answers nobody"),
                        format!("see what it is doing: covenant logs --home {}", home.root().display()),
                    ));
                }
            }
        }
    }
}

/// Waits until the other's daemon serves (true), or has gone or the time is up (false).
fn wait_for_theirs(home: &Home, deadline: Instant) -> Result<bool, Failure> {
    loop {
        if is_served(home)? {
            return Ok(true);
        }
        if lock::holder(home).is_none() || Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether a daemon takes connections for that home.
pub(crate) fn is_served(home: &Home) -> Result<bool, Failure> {
    let socket = home.socket().map_err(|error| Failure::told(Exit::Failed, &error))?;
    Client::new(&socket, None)?.is_served()
}

fn attempt(home: &Home, options: &[OsString]) -> Result<Report, Failure> {
    let help = || format!("look at {} and {}", home.log().display(), errors_path(home).display());
    let unstarted =
        |error: &dyn std::fmt::Display| Failure::failed(format!("the daemon did not start: {error}"), help());
    let mut arguments: Vec<OsString> = vec!["up".into(), "--home".into(), home.root().into()];
    arguments.extend([STAGE.into(), "launch".into()]);
    arguments.extend(options.iter().cloned());
    let plan = Launch {
        program: program()?,
        arguments,
        environment: environment::for_daemon(std::env::vars_os(), &wanted(home)),
        directory: home.root().to_owned(),
        errors: errors(home).map_err(|error| unstarted(&error))?,
    };
    let line = launch(plan, PATIENCE).map_err(|error| unstarted(&error))?;
    serde_json::from_str(&line).map_err(|error| unstarted(&error))
}

/// This program. A binary that was replaced while it ran is found under its name again.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program does not find itself: {error}"), ""))?;
    match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(name) => Ok(name.into()),
        None => Ok(path),
    }
}

/// The variables the configuration takes secrets from. A configuration that cannot be read is the daemon's to report.
fn wanted(home: &Home) -> Vec<String> {
    Config::load(home, &Overrides::default()).map(|loaded| loaded.config.secrets.from_env).unwrap_or_default()
}

/// Where a background daemon's standard error goes: what it says outside its log, such as a crash.
pub(crate) fn errors_path(home: &Home) -> PathBuf {
    home.logs().join("stderr.log")
}

/// Appended to, since a daemon that runs already may hold it; emptied when it has grown and nobody does.
fn errors(home: &Home) -> Result<File, std::io::Error> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(errors_path(home))?;
    if file.metadata()?.len() > ERRORS_LIMIT && lock::holder(home).is_none() {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_its_line() {
        for report in [
            Report::Ready { pid: 7, remarks: vec!["one\ntwo".to_owned()] },
            Report::Held { message: "held\nby someone".to_owned() },
            Report::Failed { exit: 2, message: "no".to_owned(), help: "do".to_owned() },
        ] {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
        }
    }
}
