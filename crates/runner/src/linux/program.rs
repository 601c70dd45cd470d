//! The program itself: its command, its environment, and the sentence for one that cannot be started.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, WaitStatus};

use crate::control::{MARK, Refusal};
use crate::ending::Status;
use crate::linux::Streams;
use crate::order::Order;
use crate::spawn;

/// A command for the program of an order: with its streams, in `directory`, in a process group of its own.
pub(super) fn command(
    order: &Order,
    environment: &[(String, String)],
    directory: &Path,
    streams: Streams,
) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = spawn::command(&order.program, &[] as &[&str], &[]);
    command
        .args(&order.arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(Stdio::from(streams.input))
        .stdout(Stdio::from(streams.output))
        .stderr(Stdio::from(streams.errors))
        .process_group(0);
    command
}

/// What was named, without what the runner itself decides, and then that.
pub(super) fn environment(order: &Order, run: &str, decided: Vec<(String, String)>) -> Vec<(String, String)> {
    let ours = |name: &str| name == MARK || decided.iter().any(|(known, _)| known == name);
    let mut all: Vec<_> = order.environment.iter().filter(|(name, _)| !ours(name)).cloned().collect();
    all.extend(decided);
    all.push((MARK.to_owned(), run.to_owned()));
    all
}

/// Why a program did not start.
fn refusal(error: &io::Error, directory: &Path) -> Refusal {
    let reason = match error.kind() {
        io::ErrorKind::NotFound if !directory.is_dir() => {
            format!("its working directory {} is not there", directory.display())
        }
        io::ErrorKind::NotFound => "it is not there, or its interpreter is not".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be executed".to_owned(),
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            "it is no program: a script needs `#!` and its interpreter in the first line".to_owned()
        }
        _ => error.to_string(),
    };
    Refusal::Program(reason)
}

/// Starts it; what it is started with is closed here.
pub(super) fn spawn(mut command: Command, directory: &Path) -> Result<Pid, Refusal> {
    let child = command.spawn().map_err(|error| refusal(&error, directory))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| Refusal::Setup("the program has no process id".to_owned()))
}

/// How a process ended.
pub(super) fn status(status: WaitStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, Some(signal)) => Status::Killed(signal),
        (None, None) => Status::Unknown,
    }
}
