//! The only `Command::new`: every child gets a cleared environment and no standard input.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command with exactly that environment, reading nothing.
#[expect(clippy::disallowed_methods, reason = "the home of processes")]
pub(crate) fn command(
    program: &Path,
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}
