//! A house whose servers are small programs, and what is asked of them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::house::{Answer, House, home, options};
use crate::launcher;

pub(super) const SERVERS: &str = "/api/v1/mcp/servers";

/// The program of the servers here.
pub(super) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/servers/server.py");

/// A Python that needs nothing of the environment: no script that looks for another one.
pub(super) fn python() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let found = std::env::split_paths(&path).map(|directory| directory.join("python3")).find(is_program);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI must have Python");
        #[expect(clippy::print_stderr, reason = "a skipped part is one loud line")]
        {
            eprintln!("SKIPPED: the tests of servers need python3 on PATH");
        }
    }
    Some(found?.to_str()?.to_owned())
}

/// A daemon with that configuration, whose environment is this process's.
pub(super) async fn house(config: &str) -> House {
    let dir = tempfile::tempdir().unwrap();
    let home = home(&dir);
    home.prepare().unwrap();
    covenant_daemon::atomic::write(&home.config(), format!("[rate_limit]\nrate = 0\n{config}").as_bytes())
        .unwrap();
    let mut options = options(home);
    options.environment = Arc::new(|name| std::env::var(name).ok());
    options.launcher = launcher::own();
    let running = covenant_daemon::start(options).await.unwrap();
    let house = House { dir, running };
    let all = json!({"subject": "user@local", "action": "tool.call.*"});
    assert_eq!(house.ask("POST", "/api/v1/capabilities", all).await.status, 201);
    house
}

/// The body that adds a server with those tools.
pub(super) fn body(python: &str, name: &str, tools: &[&str]) -> Value {
    json!({"name": name, "command": python, "args": arguments(tools)})
}

fn arguments(tools: &[&str]) -> Vec<String> {
    ["-I", "-S", SCRIPT].iter().chain(tools).map(ToString::to_string).collect()
}

/// An entry of `config.toml` with those tools.
pub(super) fn entry(python: &str, name: &str, tools: &[&str]) -> String {
    format!("[[mcp.servers]]\nname = {name:?}\ncommand = {python:?}\nargs = {:?}\n", arguments(tools))
}

impl House {
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.ask("POST", &format!("/api/v1/tools/{tool}/call"), json!({"arguments": arguments})).await
    }

    /// The text of a call's result.
    pub(super) async fn said(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the server is like that, and comes back with how it is.
    pub(super) async fn until(&self, name: &str, like: impl Fn(&Answer) -> bool) -> Value {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let answer = self.get(&format!("{SERVERS}/{name}")).await;
            if like(&answer) {
                return answer.json();
            }
            assert!(Instant::now() < end, "{name} is never like that: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn until_ready(&self, name: &str) -> Value {
        self.until(name, |answer| answer.status == 200 && answer.json()["state"] == "ready").await
    }

    pub(super) async fn until_gone(&self, name: &str) {
        self.until(name, |answer| answer.status == 404).await;
    }

    pub(super) async fn rows(&self) -> String {
        self.get("/api/v1/audit?limit=200").await.text
    }
}
