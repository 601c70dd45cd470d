//! The one place where this program starts others.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree;

/// A program, started at the root of the repository.
#[expect(clippy::disallowed_methods, reason = "tasks are mostly other programs; `runner` is for the product")]
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(tree::root());
    command
}

/// Cargo, the same that runs us.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(words);
    cargo
}

/// Runs it with our own output; anything but success is a sentence.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{} did not start: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", shown(command))) }
}

/// Runs it and returns what it wrote.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{} did not start: {error}", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed ({}): {}", shown(command), output.status, said.trim()));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("{} wrote something that is not text", shown(command)))
}

/// Where a program is on the PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("`{}`", words.join(" "))
}
