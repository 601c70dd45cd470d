//! From a manifest to an order: its program or interpreter, what it may read, and its limits. What goes wrong is a clause
//! that can follow "could not be started: ".

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use covenant_model::manifest::Manifest;
use covenant_runner::order::{Order, Sandbox};

use super::entry;
use crate::home::Home;
use crate::runs::program;

/// The order for a run of that agent, in that sandbox. Waits for the file system.
pub(super) fn order(
    agent: &Manifest,
    home: &Home,
    path: &str,
    mut sandbox: Sandbox,
) -> Result<Order, String> {
    let real = entry::check(agent, home)?;
    let package = entry::package(&real, &home.agents());
    let (file, arguments) = match agent.runtime.interpreter() {
        None => (real, Vec::new()),
        Some(name) => (interpreter(name, path)?, vec![text(&real)?]),
    };
    let seen = program::seen(&file, &package, &[]);
    sandbox.read = program::joined(package, &[], seen.read);
    let limits = agent.resources;
    sandbox.network = limits.network;
    (sandbox.memory_mb, sandbox.disk_mb, sandbox.pids) = (limits.memory_mb, limits.disk_mb, limits.pids);
    sandbox.required |= agent.sandbox_required;
    let environment = [("PATH", program::path_beside(&seen.program)), ("LANG", "C.UTF-8".to_owned())];
    Ok(Order {
        name: agent.id.clone(),
        program: seen.program,
        arguments,
        environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        directory: PathBuf::from("/"),
        sandbox: Some(sandbox),
    })
}

fn interpreter(name: &str, path: &str) -> Result<PathBuf, String> {
    program::on_path(name, OsStr::new(path)).map_err(|error| {
        format!("its runtime is `{name}`, and {error}; install it where the daemon's PATH leads ({path})")
    })
}

fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("the path {} is not UTF-8; move it to one that is", path.display()))
}
