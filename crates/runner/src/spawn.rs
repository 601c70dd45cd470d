//! The only `Command::new`: every child gets a cleared environment and no standard input.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command with exactly that environment, reading nothing.
#[expect(clippy::disallowed_methods, reason = "the home of processes")]
pub(crate) fn command<T: AsRef<OsStr>>(program: &Path, arguments: &[T], environment: &[(T, T)]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}
