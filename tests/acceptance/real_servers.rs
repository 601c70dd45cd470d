//! Real servers from the registries behind one gate, visited by real clients in every era: each tool is listed under its
//! server's prefix, and what it answers is what it answers to whoever asks it directly.

mod others;

use std::path::Path;

use covenant_testkit::wait::until;
use covenant_testkit::{Daemon, Home, StdioClient};
use serde_json::{Value, json};

use crate::clients::{Client, PROGRAMS, WAYS};
use crate::{home, installed};
use others::{Other, Stage};

/// A home with every server in its configuration, and the token of a client that may call their tools.
struct Gate<'h> {
    home: &'h Home,
    daemon: Daemon<'h>,
    token: String,
}

impl<'h> Gate<'h> {
    fn open(home: &'h Home, others: &[Other]) -> Self {
        let entries: String = others.iter().map(|other| other.entry.as_str()).collect();
        home.write("config.toml", &format!("[rate_limit]\nrate = 0\n{entries}"));
        let daemon = home.up();
        all_ready(home, others.len());
        let grants: Vec<String> =
            others.iter().map(|other| format!("tool.call.{}__*", other.prefix)).collect();
        let mut words = vec!["clients", "add", "ada", "--json"];
        words.extend(grants.iter().flat_map(|grant| ["--grant", grant]));
        let token = home.run(&words).ok().json()["token"].as_str().unwrap().to_owned();
        Self { home, daemon, token }
    }

    /// What a client program says after it made every call of that file.
    fn visited(&self, client: &Client<'_>, place: &Path, calls: &Path) -> Value {
        let words = ["--calls", calls.to_str().unwrap()];
        let mut command = client.command(place, (self.home, &self.daemon), &words);
        let ran = command.env("COVENANT_TOKEN", &self.token).output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{client}: {} {stderr}\n{}", ran.status, self.daemon.printed());
        let said = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{client}: {error}: {}", String::from_utf8_lossy(&ran.stdout)));
        client.spoke(&said);
        said
    }

    /// A client that hides nothing of what is said.
    fn plainly(&self) -> StdioClient {
        let mut client = StdioClient::start(self.home.command(&["--mcp"]).env("COVENANT_TOKEN", &self.token));
        client.initialize();
        client
    }
}

/// Waits until every server answers; one that never will ends the test with what is known of it.
fn all_ready(home: &Home, count: usize) {
    until("every real server is ready", || {
        let servers = home.run(&["mcp", "list", "--json"]).ok().json();
        let lost = |server: &Value| server["state"] == "failed" || server["state"] == "quarantined";
        assert!(!servers["servers"].as_array().unwrap().iter().any(lost), "{servers:#}");
        (servers["connected"] == count).then_some(())
    });
}

/// The calls of all servers under their exposed names, in a file of that home.
fn written(home: &Home, others: &[Other]) -> std::path::PathBuf {
    let of = |other: &Other| {
        let prefix = other.prefix;
        let call = move |(tool, arguments): &(&str, Value)| json!({"name": format!("{prefix}__{tool}"), "arguments": arguments});
        other.calls.iter().map(call).collect::<Vec<_>>()
    };
    let calls: Vec<Value> = others.iter().flat_map(of).collect();
    let path = home.beside("calls.json");
    std::fs::write(&path, Value::from(calls).to_string()).unwrap();
    path
}

/// Holds what came through the gate against what the same servers say directly, call by call.
fn as_directly(said: &Value, others: &mut [Other], client: &Client<'_>) {
    let names: Vec<&str> =
        said["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut answers = said["answers"].as_array().unwrap().iter();
    for other in others {
        for (tool, arguments) in other.calls.clone() {
            let name = format!("{}__{tool}", other.prefix);
            assert!(names.contains(&name.as_str()), "{client}: {name} is not among {names:?}");
            let (answer, direct) = (answers.next().unwrap(), other.ask(tool, &arguments));
            let (ours, theirs) = (told(&answer["result"]), told(&direct["result"]));
            assert_eq!(ours, theirs, "{client}: {name}");
            assert_eq!(decimals(&answer["progress"]), decimals(&direct["progress"]), "{client}: {name}");
        }
    }
    assert_eq!(answers.next(), None, "{client}");
}

/// What a result tells its caller: its blocks, its structured content, and whether it failed.
fn told(result: &Value) -> Value {
    let failed = result["isError"] == true;
    decimals(
        &json!({"content": result["content"], "structured": result["structuredContent"], "failed": failed}),
    )
}

/// The same with every number as a decimal, which is how some clients read them.
fn decimals(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(decimals).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), decimals(value))).collect()
        }
        other => other.clone(),
    }
}

/// Every tool as its server defines it, under its exposed name.
fn definitions(others: &mut [Other]) -> Vec<Value> {
    let mut expected = Vec::new();
    for other in others {
        for mut tool in other.tools() {
            tool["name"] = json!(format!("{}__{}", other.prefix, tool["name"].as_str().unwrap()));
            expected.push(tool);
        }
    }
    expected
}

/// COV-MCP-25, COV-MCP-31, ARAWN-06, ARAWN-23, ARAWN-25
#[test]
fn real_servers_tell_real_clients_in_every_era_what_they_tell_directly() {
    let (Some(clients), Some(servers)) = (installed::clients(), installed::servers()) else { return };
    let home = home();
    let stage = Stage::set(&home, &servers);
    let mut others = stage.others(&home);
    let gate = Gate::open(&home, &others);
    let listed = gate.plainly().request("tools/list", json!({}));
    let mut listed = listed["result"]["tools"].as_array().unwrap().clone();
    listed.retain(|tool| tool["name"] != "clock");
    let mut expected = definitions(&mut others);
    let name = |tool: &Value| tool["name"].to_string();
    listed.sort_by_key(name);
    expected.sort_by_key(name);
    for (tool, definition) in listed.iter().zip(&expected) {
        assert_eq!(tool, definition);
    }
    assert_eq!(listed.len(), expected.len());
    let calls = written(&home, &others);
    for (script, modes) in PROGRAMS {
        for (mode, way) in modes.iter().flat_map(|mode| WAYS.map(|way| (mode, way))) {
            let client = Client { script, mode, way };
            let said = gate.visited(&client, &clients, &calls);
            as_directly(&said, &mut others, &client);
        }
    }
    gate.daemon.stop();
}

/// COV-MCP-29
#[test]
fn a_call_that_comes_before_its_server_has_ever_answered_waits_for_it() {
    let Some(servers) = installed::servers() else { return };
    let home = home();
    let script = servers.join("node_modules/.bin/mcp-server-everything");
    let slowly = format!("sleep 1; exec node '{}' stdio", script.display());
    let entry = format!("[[mcp.servers]]\nname = \"slow\"\ncommand = \"sh\"\nargs = [\"-c\", {slowly:?}]\n");
    home.write("config.toml", &entry);
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.slow__*"]).ok();
    let call = ["tools", "call", "slow__echo", "--args", r#"{"message": "there you are"}"#, "--json"];
    let said = home.run(&call).ok().json();
    assert_eq!(said["content"][0]["text"], "Echo: there you are", "{said}");
    // What it does not have once it has answered is unknown, and at once.
    home.run(&["tools", "call", "slow__missing"]).exits(2);
    daemon.stop();
}
