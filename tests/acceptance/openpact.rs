//! The built-in tools of the protocol document, each called as an agent calls it: through MCP, by the built program.

mod approvals;
mod asking;
mod calendar;
pub(crate) mod catalogue;
mod chat;
mod everyone;
mod github;
mod hostile;
mod memory;
mod scripts;
mod talk;
mod vault;
mod web;
mod workspace;

use covenant_testkit::{Home, StdioClient};
use serde_json::Value;

/// The token of a new client, which may call these tools.
fn token(home: &Home, name: &str, tools: &[&str]) -> String {
    let grants: Vec<String> = tools.iter().map(|tool| format!("tool.call.{tool}")).collect();
    let mut arguments = vec!["clients", "add", name];
    arguments.extend(grants.iter().flat_map(|grant| ["--grant", grant]));
    home.run(&arguments).ok().stdout.trim().to_owned()
}

/// The client of that token, on stdio.
fn speaking(home: &Home, token: &str) -> StdioClient {
    let mut client = StdioClient::start(home.command(&["--mcp"]).env("COVENANT_TOKEN", token));
    client.initialize();
    client
}

/// A client of that name on stdio, which may call these tools.
fn client(home: &Home, name: &str, tools: &[&str]) -> StdioClient {
    speaking(home, &token(home, name, tools))
}

/// What a call that worked says.
#[track_caller]
fn text(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// What a tool that failed says.
#[track_caller]
fn failure(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// The rows of the audit log, oldest first.
fn rows(home: &Home) -> Vec<Value> {
    let lines = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().stdout;
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
