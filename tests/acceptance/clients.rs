//! Real MCP clients, in both eras, by `covenant --mcp`, over HTTP, and by `covenant --mcp --url`. Each lists, is told of a grant, and calls.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use covenant_testkit::{Daemon, Home};
use serde_json::{Value, json};

use crate::installed::{self, root};
use crate::unhurried;

/// Every client program, and the modes it has.
pub(crate) const PROGRAMS: [(&str, &[&str]); 3] = [
    ("python_client.py", &["auto", "legacy", "2026-07-28"]),
    ("ts_v1.mjs", &["default"]),
    ("ts_v2.mjs", &["default", "auto", "2026-07-28"]),
];

/// How a client reaches the daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Stdio,
    Http,
    /// By a bridge to a daemon that could be elsewhere.
    Bridge,
}

/// The ways to the daemon of this machine.
pub(crate) const WAYS: [Way; 2] = [Way::Stdio, Way::Http];

/// A client program in one of its modes, on its way to a daemon.
pub(crate) struct Client<'a> {
    pub(crate) script: &'a str,
    pub(crate) mode: &'a str,
    pub(crate) way: Way,
}

impl Client<'_> {
    /// Its command, with these further words.
    pub(crate) fn command(&self, place: &Path, daemon: (&Home, &Daemon<'_>), words: &[&str]) -> Command {
        let (home, daemon) = daemon;
        let python = Path::new(self.script).extension().is_some_and(|extension| extension == "py");
        let program = if python { place.join("venv/bin/python") } else { PathBuf::from("node") };
        let mut command = Command::new(program);
        command.arg(root().join("tests/clients").join(self.script));
        if self.mode != "default" {
            command.args(["--mode", self.mode]);
        }
        command.args(words);
        match self.way {
            Way::Stdio => command.arg(home.program()).args(["--mcp", "--home"]).arg(home.path()),
            Way::Http => command.args(["--url", &url(daemon)]),
            Way::Bridge => {
                let origin = format!("http://localhost:{}", daemon.port());
                command.arg(home.program()).args(["--mcp", "--url", &origin])
            }
        };
        command
    }

    /// Insists that it spoke the revision that its mode pins.
    pub(crate) fn spoke(&self, said: &Value) {
        if self.mode == "2026-07-28" {
            assert_eq!(said["protocol"], "2026-07-28", "{said}");
        }
    }
}

impl std::fmt::Display for Client<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {} {:?}", self.script, self.mode, self.way)
    }
}

fn converse(script: &str) {
    let Some(place) = installed::clients() else { return };
    let modes = PROGRAMS.iter().find(|(program, _)| *program == script).unwrap().1;
    for way in [Way::Stdio, Way::Http, Way::Bridge] {
        for mode in modes {
            let home = unhurried();
            let daemon = home.up();
            let token = client(&home);
            let client = Client { script, mode, way };
            let mut command = client.command(&place, (&home, &daemon), &[]);
            command.env("COVENANT_TOKEN", token);
            let said = told_of_a_grant(&home, command, &client.to_string());
            client.spoke(&said);
        }
    }
}

/// A client that may ask the time and nothing else; its token.
fn client(home: &Home) -> String {
    let added = home.run(&["clients", "add", "ada", "--json"]).ok().json();
    added["token"].as_str().unwrap().to_owned()
}

fn url(daemon: &Daemon<'_>) -> String {
    format!("http://localhost:{}/mcp", daemon.port())
}

/// Waits for what the client saw first, gives it more, and returns what it says at its end.
fn told_of_a_grant(home: &Home, mut command: Command, what: &str) -> Value {
    let mut child = Ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().and_then(Result::ok);
        line.map(|line| {
            serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{what}: {error}: {line}"))
        })
    };
    let first = next();
    if first.is_some() {
        home.run(&["capabilities", "grant", "tool.call.echo", "--to", "client:ada"]).ok();
    }
    let last = next();
    let mut stderr = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.0.wait().unwrap();
    assert!(status.success(), "{what}: {status} {first:?} {last:?}\n{stderr}");
    let (first, last) = (first.unwrap(), last.unwrap());
    assert_eq!(first["tools"], json!(["clock"]), "{what}");
    assert_eq!((&last["tools"], &last["echo"]), (&json!(["clock", "echo"]), &json!("hi")), "{what}");
    last
}

/// A client that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_python_client_works_in_every_mode() {
    converse("python_client.py");
}

#[test]
fn the_first_typescript_client_works() {
    converse("ts_v1.mjs");
}

#[test]
fn the_second_typescript_client_works_in_every_mode() {
    converse("ts_v2.mjs");
}

/// Asks the Inspector, in one of its eras, for what that token shows; it must find nothing to complain of.
pub(crate) fn inspect(
    suite: &installed::Suite,
    daemon: (&Home, &Daemon<'_>),
    token: &str,
    era: &str,
    words: &[&str],
) -> Value {
    let (home, daemon) = daemon;
    let asked = suite
        .node("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
        .args(["--cli", "--server-url", &url(daemon), "--transport", "http"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--format", "json", "--protocol-era", era])
        .args(words)
        .env("HOME", home.beside("inspector"))
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&asked.stdout), String::from_utf8_lossy(&asked.stderr));
    let quiet = asked.status.success() && stderr.trim().is_empty();
    assert!(quiet, "{era} {words:?}: {} {stdout}{stderr}", asked.status);
    let said: Value = serde_json::from_str(&stdout).unwrap();
    said["result"].clone()
}

#[test]
fn the_inspector_lists_and_calls_in_every_era_and_finds_nothing_to_say_about_our_schemas() {
    let Some(suite) = installed::suite() else { return };
    let home = unhurried();
    let daemon = home.up();
    let token = client(&home);
    home.run(&["capabilities", "grant", "tool.call.echo", "--to", "client:ada"]).ok();
    let inspect = |era: &str, words: &[&str]| inspect(&suite, (&home, &daemon), &token, era, words);
    for era in ["legacy", "auto", "modern"] {
        let listed = inspect(era, &["--method", "tools/list", "--strict"]);
        let names: Vec<&Value> =
            listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["clock", "echo"], "{era}: {listed}");
        let call = ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi"];
        let called = inspect(era, &call);
        assert_eq!(called["content"][0]["text"], "hi", "{era}");
        // Only since 2026-07-28 does every result say who gave it.
        let server = &called["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(server == "covenant", era != "legacy", "{era}: {called}");
    }
}
