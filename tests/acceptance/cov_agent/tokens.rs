//! The token of a run: good while it runs, for what a run may do, and dead the moment it ends, however it ends.

use covenant_testkit::HttpClient;
use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install, text};
use crate::unhurried;

/// The token that a run has put into the workspace, written backwards.
pub(super) fn handed(stage: &Stage<'_>, file: &str) -> String {
    let path = stage.home.path().join("workspace").join(file);
    let backwards = until("the token is handed out", || {
        std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))
    });
    let forwards: String = backwards.trim().chars().rev().collect();
    let decode = std::process::Command::new("sh")
        .args(["-c", &format!("printf %s '{forwards}' | base64 -d")])
        .output();
    let token = String::from_utf8(decode.unwrap().stdout).unwrap();
    assert!(token.starts_with("cv_"), "{token}");
    token
}

const MORE: &str = "[capabilities]\noptional = [\"tool.call.workspace_*\", \"tool.call.echo\"]\n";

#[test]
fn a_runs_token_works_while_it_runs_and_not_a_moment_longer() {
    let home = unhurried();
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let id = stage.send("py", "hand-out token go", &[]);
    let token = handed(&stage, "token");
    let mut client = HttpClient::new(stage.port, &token);
    client.initialize();
    assert_eq!(text(&client.call("echo", json!({"text": "as the run"}))), "as the run");
    let mut listening = client.listen();
    assert_eq!(listening.status, 200);
    let listed = client.request("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["echo", "workspace_list", "workspace_read", "workspace_write"]);

    stage.place("go");
    stage.stands(&id, "ok");
    until("the stream has ended", || listening.next().is_none().then_some(()));
    let dead = client.send(&client.plain(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})));
    assert_eq!(dead.status, 401, "{dead:?}");
    for (method, path, body) in [
        ("GET", "tools", Value::Null),
        ("POST", "tools/echo/call", json!({"arguments": {"text": "x"}})),
        ("POST", "intents", json!({"text": "say hi", "agent": "py"})),
    ] {
        assert_eq!(stage.ask(&token, method, path, &body).0, 401, "{method} {path}");
    }
}

#[test]
fn a_token_is_dead_also_where_its_run_was_killed_or_taken_back() {
    let home = unhurried();
    install(&home, "py", Language::Python, &format!("{MORE}[resources]\ncpu_ms_per_task = 8000\n"));
    let stage = Stage::up(&home);
    for (file, cancel, status) in [("one", true, "cancelled"), ("two", false, "error")] {
        let id = stage.send("py", &format!("hand-out {file} never"), &[]);
        let token = handed(&stage, file);
        let mut client = HttpClient::new(stage.port, &token);
        client.initialize();
        let mut listening = client.listen();
        if cancel {
            home.run(&["intents", "cancel", &id]).ok();
        }
        stage.stands(&id, status);
        until("the stream has ended", || listening.next().is_none().then_some(()));
        assert_eq!(stage.ask(&token, "GET", "tools", &Value::Null).0, 401, "{status}");
    }
    stage.nothing_left();
}

/// A run is nobody's operator, also where the operator sent it, and sees its own intents only.
#[test]
fn a_run_administers_nothing_and_sees_no_intents_but_its_own() {
    let home = unhurried();
    install(
        &home,
        "py",
        Language::Python,
        "[capabilities]\noptional = [\"tool.call.*\", \"agent.*\", \"identity.*\"]\n",
    );
    let stage = Stage::up(&home);
    let before = stage.intent("py", "say private").ok().json();
    let id = stage.send("py", "hand-out token go", &[]);
    let token = handed(&stage, "token");
    for (method, path, body) in [
        ("GET", "agents", Value::Null),
        ("GET", "agents/py", Value::Null),
        ("GET", "agents/usage", Value::Null),
        ("POST", "agents/reload", json!({})),
        ("GET", "clients", Value::Null),
        ("POST", "clients", json!({"name": "mine"})),
        ("POST", "capabilities", json!({"action": "tool.call.*", "subject": "agent:py@local"})),
        ("GET", "audit", Value::Null),
        ("GET", "secrets", Value::Null),
        ("GET", "config", Value::Null),
        ("GET", "memory/recent", Value::Null),
    ] {
        let (status, answer) = stage.ask(&token, method, path, &body);
        assert!([403, 404, 405].contains(&status), "{method} {path}: {status} {answer}");
    }
    for foreign in [&id, before["intent_id"].as_str().unwrap()] {
        assert_eq!(stage.ask(&token, "GET", &format!("intents/{foreign}"), &Value::Null).0, 404);
        assert_eq!(stage.ask(&token, "POST", &format!("intents/{foreign}/cancel"), &json!({})).0, 404);
        assert_eq!(stage.ask(&token, "GET", &format!("intents/{foreign}/events"), &Value::Null).0, 404);
    }
    assert_eq!(stage.ask(&token, "GET", "intents", &Value::Null), (200, json!([])));
    let (status, own) = stage.ask(&token, "POST", "intents", &json!({"text": "say mine", "agent": "py"}));
    assert_eq!((status, &own["text"]), (200, &json!("mine")), "{own}");
    let shown =
        stage.ask(&token, "GET", &format!("intents/{}", own["intent_id"].as_str().unwrap()), &Value::Null).1;
    assert_eq!((&shown["parent"], &shown["issuer"]), (&json!(id), &json!("agent:py@local")), "{shown}");
    stage.place("go");
    stage.stands(&id, "ok");
}
