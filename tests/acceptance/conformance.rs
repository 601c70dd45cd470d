//! The official MCP suite, in both eras, against the daemon with the fixtures it expects. What it requires must pass,
//! and so must what it only reports, as far as it is about something we have. Then its tools again, from another server
//! behind the gate.

mod relayed;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use covenant_testkit::wait::until;
use serde_json::Value;

use crate::installed::{self, Suite};

/// Scenarios about what we do not have: tasks, and streams the server closes to be polled.
const NOT_OURS: [&str; 2] = ["tasks-", "server-sse-polling"];

/// The suite gives some answers half a second, which a busy machine may need for itself: a few scenarios that fail are
/// tried again, alone.
const FEW: usize = 3;
const ATTEMPTS: usize = 3;

/// The program with the fixtures.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    /// Where it answers whoever has no token.
    url: String,
    /// The home of its daemon, and a token that daemon knows.
    home: String,
    token: String,
}

impl Server {
    /// Starts it, where it was built.
    fn start() -> Option<Self> {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_covenant")).with_file_name("conformance");
        if !installed::there_or("the program of the testkit", program.is_file()) {
            return None;
        }
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let (url, home, token) = (line(), line(), line());
        Some(Self { input: child.stdin.take(), child, url, home, token })
    }
}

impl Drop for Server {
    /// Lets go of its input, so that it removes its home.
    fn drop(&mut self) {
        drop(self.input.take());
        if std::thread::panicking() {
            let _ = self.child.wait();
        } else {
            until("the program ends", || self.child.try_wait().unwrap());
        }
    }
}

/// What each scenario found.
type Checks = BTreeMap<String, Vec<Value>>;

/// Runs the suite with these words.
fn run(suite: &Suite, url: &str, words: &[&str]) -> Checks {
    let results = tempfile::tempdir().unwrap();
    let ran = suite
        .node("@modelcontextprotocol/conformance/dist/index.js")
        .args(["server", "--url", url, "--output-dir"])
        .arg(results.path())
        .args(words)
        .output()
        .unwrap();
    let checks = read(results.path());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!checks.is_empty(), "the suite did not run: {} {said}", ran.status);
    checks
}

/// Reads `server-<scenario>-<moment>/checks.json`.
fn read(results: &Path) -> Checks {
    const MOMENT: usize = "-2026-07-28T00-00-00-000Z".len();
    let mut found = Checks::new();
    for entry in std::fs::read_dir(results).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let scenario =
            name.strip_prefix("server-").and_then(|name| name.get(..name.len().checked_sub(MOMENT)?));
        let text =
            std::fs::read_to_string(entry.path().join("checks.json")).unwrap_or_else(|_| "[]".to_owned());
        found.insert(scenario.unwrap().to_owned(), serde_json::from_str(&text).unwrap());
    }
    found
}

/// The checks that did not succeed, one readable line each; a scenario that succeeded in nothing is one too.
fn complaints(checks: &Checks) -> Checks {
    let mut found = Checks::new();
    for (scenario, checks) in checks {
        let is = |check: &Value, status: &str| check["status"] == status;
        let bad = checks.iter().filter(|check| is(check, "FAILURE") || is(check, "WARNING"));
        let bad: Vec<Value> = bad.cloned().collect();
        if !bad.is_empty() || !checks.iter().any(|check| is(check, "SUCCESS")) {
            found.insert(scenario.clone(), bad);
        }
    }
    found
}

fn readable(complaints: &Checks) -> String {
    let mut text = String::new();
    for (scenario, checks) in complaints {
        if checks.is_empty() {
            writeln!(text, "{scenario}: no check succeeded").unwrap();
        }
        for check in checks {
            let (id, message) = (&check["id"], &check["errorMessage"]);
            writeln!(text, "{scenario} {} {}: {}", check["status"], id, message).unwrap();
        }
    }
    text
}

/// Runs what that revision requires against that address, and insists on those of the scenarios that are wanted.
fn conforms(suite: &Suite, url: &str, revision: &str, wanted: fn(&str) -> bool, scenarios: usize) {
    let mut checks = run(suite, url, &["--requirements", revision]);
    checks.retain(|scenario, _| wanted(scenario));
    assert_eq!(checks.len(), scenarios, "{:?}", checks.keys());
    let mut left = complaints(&checks);
    for _ in 1..ATTEMPTS {
        if left.is_empty() || left.len() > FEW {
            break;
        }
        eprintln!("{revision}, once more:\n{}", readable(&left));
        let again =
            |scenario: &String| run(suite, url, &["--scenario", scenario, "--spec-version", revision]);
        left = complaints(&left.keys().flat_map(again).collect());
    }
    assert!(left.is_empty(), "{revision}:\n{}", readable(&left));
}

/// The daemon itself, with the fixtures as tools of its own.
fn the_daemon_conforms(revision: &str, scenarios: usize) {
    let Some(suite) = installed::suite() else { return };
    let Some(server) = Server::start() else { return };
    let ours = |scenario: &str| !NOT_OURS.iter().any(|other| scenario.starts_with(other));
    conforms(&suite, &server.url, revision, ours, scenarios);
}

#[test]
fn the_suite_of_the_handshake_passes() {
    the_daemon_conforms("2025-11-25", 32);
}

#[test]
fn the_suite_of_self_contained_requests_passes() {
    the_daemon_conforms("2026-07-28", 40);
}
