//! Every built-in tool that needs no network, called by MCP clients of other people, in every era and by both ways.

use std::path::PathBuf;

use covenant_testkit::Home;
use serde_json::{Value, json};

use crate::clients::{Client, PROGRAMS, WAYS};
use crate::{home, installed};

/// What a call must answer: this text, or one that begins so.
enum Says {
    Exactly(&'static str),
    Begins(&'static str),
}

use Says::{Begins, Exactly};

/// The calls in their order, each with the text it must answer.
fn walk() -> Vec<(&'static str, Value, Says)> {
    vec![
        ("echo", json!({"text": "hi"}), Exactly("hi")),
        ("clock", json!({}), Begins("{\"epoch_ms\":")),
        (
            "workspace_write",
            json!({"path": "reports/june.md", "content": "# June\nfür\n"}),
            Exactly("Wrote 12 bytes to reports/june.md"),
        ),
        ("workspace_read", json!({"path": "reports/june.md", "offset": 2}), Exactly("für\n")),
        ("workspace_list", json!({"path": "reports"}), Exactly("june.md")),
        ("memory_write", json!({"content": "likes tea"}), Exactly("Wrote 9 bytes to MEMORY.md")),
        ("memory_read", json!({}), Exactly("likes tea")),
        ("vault_write", json!({"path": "Moon", "content": "It orbits. #space"}), Exactly("Wrote Moon.md")),
        ("vault_read", json!({"path": "Moon"}), Exactly("It orbits. #space")),
        ("vault_list", json!({}), Exactly("Moon.md")),
        (
            "vault_search",
            json!({"query": "tag:space"}),
            Exactly("Found in 1 file:\nMoon.md\n  It orbits. #space"),
        ),
        (
            "calendar_read",
            json!({"from": "2026-03-29", "days": 1, "timezone": "UTC"}),
            Exactly("Events on 2026-03-29 (UTC):\n\nSunday, 2026-03-29\n[21:00-22:00] Flight"),
        ),
        ("script_list", json!({}), Begins("{\"count\":1,\"scripts\":[{\"")),
        ("script_reload", json!({}), Begins("{\"count\":1,")),
        ("script_run", json!({"name": "sum", "function": "add", "args": [1, 2]}), Exactly("3")),
        ("script_exec", json!({"code": SENT}), Exactly("{\"moon\":1}")),
    ]
}

/// The text that is sent to be run, and its hash.
const SENT: &str = "result = {\"moon\": 1}\n";
const SENT_NAME: &str = "exec-9f0e2777563b";
const SENT_HASH: &str = "sha256:9f0e2777563b127c13c49adf8ee56a5761ba10b2cc804f977c2273bda0fef5e5";

/// A home in which all of them are there.
fn furnished() -> Home {
    let home = home();
    let config = format!(
        "[rate_limit]\nrate = 0\n[vault]\npath = \"vault\"\n[[calendars]]\nname = \"Own\"\npath = \"own.ics\"\n\
         [scripts]\nallowlist = {{ sum = \"\", {SENT_NAME} = \"{SENT_HASH}\" }}\n"
    );
    home.write("config.toml", &config);
    std::fs::create_dir(home.path().join("vault")).unwrap();
    home.write("scripts/sum.star", "def add(a, b):\n    return a + b\n");
    let event = "UID:flight\nSUMMARY:Flight\nDTSTART:20260329T210000Z\nDTEND:20260329T220000Z";
    home.write("own.ics", &format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{event}\nEND:VEVENT\nEND:VCALENDAR\n"));
    home
}

/// The calls as client programs read them, in a file beside the home.
fn written(home: &Home) -> PathBuf {
    let call = |(name, arguments, _)| json!({"name": name, "arguments": arguments});
    let calls: Vec<Value> = walk().into_iter().map(call).collect();
    let file = home.beside("calls.json");
    std::fs::write(&file, Value::from(calls).to_string()).unwrap();
    file
}

/// Insists that the answers are those of the walk.
fn right(answers: &[Value], client: &Client<'_>) {
    assert_eq!(answers.len(), walk().len(), "{client}");
    for ((tool, _, says), answer) in walk().into_iter().zip(answers) {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let right = match says {
            Exactly(words) => text == words,
            Begins(words) => text.starts_with(words),
        };
        assert!(right && result["isError"] != true, "{client}: {tool}: {result}");
    }
}

/// PACT-77: whatever the host is.
#[test]
fn any_client_of_the_protocol_calls_every_tool() {
    let Some(place) = installed::clients() else { return };
    let home = furnished();
    let daemon = home.up();
    let token = super::token(&home, "ada", &["*"]);
    let calls = written(&home);
    for (script, modes) in PROGRAMS {
        for (mode, way) in modes.iter().flat_map(|mode| WAYS.map(|way| (mode, way))) {
            let client = Client { script, mode, way };
            let words = ["--calls", calls.to_str().unwrap()];
            let mut command = client.command(&place, (&home, &daemon), &words);
            let ran = command.env("COVENANT_TOKEN", &token).output().unwrap();
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{client}: {stderr}\n{}", daemon.printed());
            let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
            client.spoke(&said);
            right(said["answers"].as_array().unwrap(), &client);
        }
    }
}
