//! How a launcher is started, and what can go wrong before the program runs.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::control::{MARK, Refusal};
use crate::ledger::LedgerError;
use crate::nursery::Launcher;
use crate::report::Report;
use crate::spawn::command;

/// Why a program was not started. Every message can follow "NAME was not started: ".
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The order cannot be carried out by anybody: something in it is malformed or too large.
    #[error("{0}")]
    Order(String),
    /// The program is not there, may not be executed, or is no program.
    #[error("{} cannot be run: {reason}", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// Why.
        reason: String,
    },
    /// A path it should see cannot be shown to it.
    #[error("{} cannot be shown to it: {reason}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The sandbox is required in full, and this host cannot give it.
    #[error("its sandbox is required in full, and this host falls short of it: {}", gaps(.0))]
    Required(Report),
    /// The launcher met something else on the way.
    #[error("it could not be set up: {0}")]
    Setup(String),
    /// Not even the launcher could be started.
    #[error("its launcher {} could not be started: {cause}", program.display())]
    Launcher {
        /// Which.
        program: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The launcher ended before it answered.
    #[error("its launcher ended before the program ran; it was killed, perhaps for want of memory")]
    Gone,
    /// The launcher said something that is no answer.
    #[error("its launcher gave an answer that makes no sense ({0}); is it another version of this program?")]
    Answer(String),
    /// The launcher took too long.
    #[error("it was not running within {} s", .0.as_secs())]
    Late(Duration),
    /// What is started must be on record first, and could not be.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl StartError {
    /// What the launcher refused, in the words of whoever gave the order.
    pub(crate) fn refused(refusal: Refusal, program: PathBuf) -> Self {
        match refusal {
            Refusal::Program(reason) => Self::Program { program, reason },
            Refusal::Path { path, reason } => Self::Path { path, reason },
            Refusal::Required(report) => Self::Required(report),
            Refusal::Setup(reason) | Refusal::Namespaces(reason) => Self::Setup(reason),
        }
    }

    /// Whether the launcher itself said so, after which it leaves nothing behind.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Program { .. } | Self::Path { .. } | Self::Required(_) | Self::Setup(_))
    }
}

/// The promises that are not kept, each with what is missing.
fn gaps(report: &Report) -> String {
    let gaps: Vec<String> = report.gaps().map(|gap| format!("{} ({})", gap.promise, gap.note)).collect();
    gaps.join(", ")
}

/// Starts a launcher that listens to that socket. It carries the mark of the run, as everything of the run does.
pub(crate) fn start(
    launcher: &Launcher,
    run: &str,
    socket: OwnedFd,
) -> Result<tokio::process::Child, StartError> {
    let arguments: Vec<OsString> = launcher.arguments.iter().map(Into::into).collect();
    let mut command = command(&launcher.program, &arguments, &[(MARK.into(), run.into())]);
    command.current_dir("/").stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::null());
    let started = tokio::process::Command::from(command).spawn();
    started.map_err(|cause| StartError::Launcher { program: launcher.program.clone(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Promise;

    #[test]
    fn a_required_sandbox_names_its_gaps() {
        let mut report = Report::default();
        report.keeps(Promise::Lifetime, &["pid namespace"]);
        report.lacks(Promise::Network, "no network namespace");
        report.keeps_partly(Promise::Memory, &["watchdog"], "looked at ten times a second");
        let error = StartError::refused(Refusal::Required(report), "/bin/true".into());
        assert!(error.is_refusal());
        assert_eq!(
            error.to_string(),
            "its sandbox is required in full, and this host falls short of it: network (no network namespace), memory (looked at ten times a second)"
        );
    }
}
