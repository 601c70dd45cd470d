//! A daemon in the background: its own session, no controlling terminal, no relation to who started it.
//!
//! Three processes, each calling one function here. The one that wants a daemon calls [`launch`]; it starts the same
//! program, which calls [`step_away`] (a new session, then the real daemon, then it ends); the daemon calls [`report`]
//! once it serves or has failed. That way a host that ends the whole process tree of an MCP client leaves the daemon
//! alone. The report is one line of text, whose meaning is the business of both ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::spawn::command;

/// The longest report that is read.
const REPORT_LIMIT: usize = 64 * 1024;

/// What to start, and with what.
#[derive(Debug)]
pub struct Launch {
    /// The program, by path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs: a directory that does not go away.
    pub directory: PathBuf,
    /// Where its standard error goes: what it says outside its log, such as a crash.
    pub errors: File,
}

/// Why no report came.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program could not be run.
    #[error("{} could not be started: {cause}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It ended first.
    #[error("it ended before it was ready")]
    Ended,
    /// It took too long.
    #[error("it was not ready within {} s", .0.as_secs())]
    Late(Duration),
    /// The pipe broke.
    #[error("its report could not be read: {0}")]
    Read(#[from] std::io::Error),
}

/// Starts a daemon and waits for its one line, at most that long.
pub fn launch(launch: Launch, patience: Duration) -> Result<String, LaunchError> {
    let deadline = Instant::now() + patience;
    let mut child = command(&launch.program, &launch.arguments, &launch.environment)
        .current_dir(&launch.directory)
        .stdout(Stdio::piped())
        .stderr(launch.errors)
        .spawn()
        .map_err(|cause| LaunchError::Start { program: launch.program, cause })?;
    let mut pipe = child.stdout.take().ok_or(LaunchError::Ended)?;
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    while !line.contains(&b'\n') && line.len() < REPORT_LIMIT {
        let left = deadline.saturating_duration_since(Instant::now());
        if !readable(&pipe, left)? {
            return Err(LaunchError::Late(patience));
        }
        match pipe.read(&mut chunk)? {
            0 => break,
            count => line.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
    }
    // The process in the middle ends as soon as the daemon has begun, so this does not wait.
    child.wait()?;
    let text = String::from_utf8_lossy(&line);
    text.split_once('\n').map(|(line, _)| line.to_owned()).ok_or(LaunchError::Ended)
}

/// Whether something can be read (or the other end has closed) before the time is up.
fn readable(pipe: &impl AsFd, left: Duration) -> Result<bool, std::io::Error> {
    let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    loop {
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The middle process: opens a session of its own, starts the daemon with the same standard output and error, and
/// comes back at once. The caller then ends, which leaves the daemon to the system.
pub fn step_away(
    program: PathBuf,
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<(), LaunchError> {
    // This fails only where we lead a group already, and then there is no terminal to leave.
    rustix::process::setsid().ok();
    // Not waited for: the daemon is to outlive this process, which ends now.
    match command(&program, arguments, environment).spawn() {
        Ok(_daemon) => Ok(()),
        Err(cause) => Err(LaunchError::Start { program, cause }),
    }
}

/// The daemon: says one line to whoever launched it, and lets go of the pipe.
pub fn report(line: &str) -> Result<(), std::io::Error> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line.replace('\n', " "))?;
    out.flush()?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere.as_fd())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Launch {
        Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("KEPT".into(), "kept".into())],
            directory: std::env::temp_dir(),
            errors: File::options().write(true).open("/dev/null").unwrap(),
        }
    }

    #[test]
    fn the_first_line_is_the_report() {
        let line = launch(shell("echo one; echo two"), Duration::from_secs(20)).unwrap();
        assert_eq!(line, "one");
    }

    #[test]
    fn the_environment_is_exactly_what_was_given() {
        let line = launch(shell("echo \"$KEPT-$CARGO_MANIFEST_DIR-\""), Duration::from_secs(20)).unwrap();
        assert_eq!(line, "kept--");
    }

    #[test]
    fn a_daemon_that_ends_silently_is_not_ready() {
        assert!(matches!(launch(shell("exit 3"), Duration::from_secs(20)), Err(LaunchError::Ended)));
        assert!(matches!(launch(shell("printf half"), Duration::from_secs(20)), Err(LaunchError::Ended)));
    }

    #[test]
    fn a_daemon_that_says_nothing_is_late() {
        let late = launch(shell("exec sleep 2"), Duration::from_millis(50));
        assert!(matches!(late, Err(LaunchError::Late(_))));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let missing = Launch { program: "/no/such/program".into(), ..shell("") };
        let error = launch(missing, Duration::from_secs(20)).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/program could not be started"), "{error}");
    }
}
