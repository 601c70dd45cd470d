//! A daemon that is configured for services, a client that may call everything, and all that was said by either.

use std::path::Path;

use covenant_testkit::{Daemon, Home, StdioClient};
use serde_json::Value;

use crate::home;

/// A home with that configuration and those secrets.
pub(super) fn configured(config: &str, secrets: &[(&str, &str)]) -> Home {
    let home = home();
    let secrets: Vec<String> =
        secrets.iter().map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
    home.write("secrets.toml", &format!("[secrets]\n{}", secrets.concat()));
    home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[logging]\nlevel = \"debug\"\n{config}"));
    home
}

/// A daemon and its client.
pub(super) struct Talk<'h> {
    home: &'h Home,
    daemon: Daemon<'h>,
    client: StdioClient,
    said: String,
}

impl<'h> Talk<'h> {
    /// Starts both.
    pub(super) fn begin(home: &'h Home) -> Self {
        let daemon = home.up();
        home.run(&["capabilities", "grant", "tool.call.*"]).ok();
        let mut client = home.mcp();
        client.initialize();
        Self { home, daemon, client, said: String::new() }
    }

    /// Calls a tool: the whole answer.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call(tool, arguments);
        self.said.push_str(&answer.to_string());
        answer
    }

    /// Calls a tool, which must succeed: its first text.
    #[track_caller]
    pub(super) fn done(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        text(&answer)
    }

    /// Calls a tool, which must fail: the sentence after `Error: `.
    #[track_caller]
    pub(super) fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = text(&answer);
        text.strip_prefix("Error: ").unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    /// Calls a tool, which the gate must refuse: what it says.
    #[track_caller]
    pub(super) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        message.strip_prefix("Invalid params: ").unwrap_or_else(|| panic!("{message}")).to_owned()
    }

    /// The names of the tools there are.
    pub(super) fn tools(&mut self) -> Vec<String> {
        let listed = self.client.request("tools/list", serde_json::json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends both, and insists that nothing that was said or written anywhere holds one of these.
    #[track_caller]
    pub(super) fn ends_without(mut self, secrets: &[&str]) {
        for arguments in [
            &["config", "show"][..],
            &["config", "show", "--json"],
            &["status", "--json"],
            &["doctor"],
            &["tools", "list", "--json"],
            &["tools", "show", "chat_send"],
            &["audit", "recent", "-n", "100000", "--json"],
            &["logs", "-n", "100000"],
        ] {
            let ran = self.home.run(arguments);
            self.said.push_str(&ran.stdout);
            self.said.push_str(&ran.stderr);
        }
        self.said.push_str(&self.daemon.printed());
        self.daemon.stop();
        without("what was said", &self.said, secrets);
        files_without(&self.home.path(), secrets);
    }
}

#[track_caller]
fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[track_caller]
fn without(what: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        let around = text.find(secret).map(|at| text.get(at.saturating_sub(200)..).unwrap_or(text));
        assert_eq!(
            around.map(|around| around.chars().take(400).collect::<String>()),
            None,
            "{what}: {secret}"
        );
    }
}

/// Searches every file of the home but those that hold the secrets on purpose.
#[track_caller]
fn files_without(directory: &Path, secrets: &[&str]) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_without(&path, secrets);
        } else if path.is_file() && !path.ends_with("secrets.toml") && !path.ends_with("config.toml") {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            without(&path.display().to_string(), &text, secrets);
        }
    }
}
