//! Every tool there is, with a secret in each of its arguments, in what it finds, and in what a service answers it.

use std::collections::BTreeSet;

use covenant_testkit::service::Answer;
use serde_json::{Map, Value, json};

use super::forms::Known;
use super::services::{Services, answers};
use super::stage::{self, Stage};

/// Arguments that a tool accepts, and more calls with a form of a secret in them.
type Row = (&'static str, fn() -> Value, fn(&str) -> Vec<Value>);

/// One row for each tool: what is not here is not tested, and fails the test.
const TABLE: &[Row] = &[
    ("echo", || json!({"text": "hi"}), |form| vec![json!({"text": format!("before {form} after")})]),
    ("clock", || json!({}), |_| vec![]),
    (
        "workspace_read",
        || json!({"path": "held.txt"}),
        |form| {
            let number = form.len() % 3;
            vec![
                json!({"path": "held.txt"}),
                json!({"path": "held.txt", "offset": 2, "limit": 3}),
                json!({"path": format!("held{number}.bin")}),
                json!({"path": format!("../{form}")}),
                json!({"path": format!("{form}\u{0}")}),
            ]
        },
    ),
    (
        "workspace_write",
        || json!({"path": "new.txt", "content": "x"}),
        |form| {
            vec![
                json!({"path": format!("{form}/{form}.txt"), "content": form}),
                json!({"path": format!("held.txt/{form}"), "content": form}),
            ]
        },
    ),
    (
        "workspace_list",
        || json!({}),
        |form| vec![json!({}), json!({"path": form, "after": form}), json!({"path": form})],
    ),
    ("memory_read", || json!({}), |form| vec![json!({}), json!({"file": format!("{form}.md")})]),
    (
        "memory_write",
        || json!({"content": "x"}),
        |form| {
            vec![
                json!({"content": format!("held {form}\n"), "append": true}),
                json!({"file": format!("{form}.md"), "content": form}),
            ]
        },
    ),
    (
        "vault_read",
        || json!({"path": "Held0"}),
        |form| {
            vec![json!({"path": format!("Held{}", form.len() % 18)}), json!({"path": format!("../{form}")})]
        },
    ),
    (
        "vault_write",
        || json!({"path": "New.md", "content": "x"}),
        |form| {
            vec![
                json!({"path": format!("{form}.md"), "content": format!("held [[{form}]]"), "commit_message": form}),
            ]
        },
    ),
    ("vault_list", || json!({}), |_| vec![json!({}), json!({"recursive": true})]),
    (
        "vault_search",
        || json!({"query": "held"}),
        |form| {
            vec![
                json!({"query": "held"}),
                json!({"query": format!("\"{form}\"")}),
                json!({"query": format!("tag:{form} -x")}),
            ]
        },
    ),
    (
        "chat_send",
        || json!({"provider": "slack", "target": "C1", "message": "hi"}),
        |form| vec![json!({"provider": "slack", "target": format!("channel:{form}"), "message": form})],
    ),
    (
        "calendar_read",
        || json!({"calendar": "Own", "from": "2026-03-30", "days": 1}),
        |_| vec![json!({"from": "2026-03-30", "days": 1, "timezone": "UTC"})],
    ),
    ("github_list_issues", || json!({"owner": "octo", "repo": "hello"}), |_| vec![]),
    (
        "github_create_issue",
        || json!({"owner": "octo", "repo": "hello", "title": "x"}),
        |form| {
            vec![
                json!({"owner": "octo", "repo": "hello", "title": form, "body": form, "labels": [form, "secret-label"]}),
            ]
        },
    ),
    (
        "web_fetch",
        || json!({"url": "http://127.0.0.1/"}),
        |form| {
            vec![
                json!({"url": format!("http://{form}/")}),
                json!({"url": format!("http://u:{form}@localhost/")}),
                json!({"url": format!("http://localhost:1/{form}?q={form}")}),
            ]
        },
    ),
    (
        "covibe_task",
        || json!({"operation": "check", "title": "x", "task_type": "bug"}),
        |form| {
            vec![
                json!({"operation": "plan", "title": form, "task_type": "bug", "scope": form, "target_files": ["a"]}),
                json!({"operation": "update", "task_id": format!("task_{form}")}),
            ]
        },
    ),
    (
        "covibe_warning",
        || json!({"operation": "dismiss", "warning_id": "warn_nobodys", "reason": "x"}),
        |form| {
            vec![
                json!({"operation": "dismiss", "warning_id": "warn_nobodys", "reason": form}),
                json!({"operation": "dismiss", "warning_id": format!("warn_{form}"), "reason": "x"}),
            ]
        },
    ),
    (
        "covibe_workstream",
        || json!({"operation": "check", "title": "x"}),
        |form| vec![json!({"operation": form})],
    ),
    (
        "covibe_session",
        || json!({"operation": "heartbeat"}),
        |form| {
            vec![
                json!({"operation": "publish_context", "title": form, "summary": form, "blockers": [form]}),
                json!({"operation": "get_context"}),
                json!({"operation": "get_context", "handle": form}),
            ]
        },
    ),
    (
        "covibe_note",
        || json!({"kind": "decision", "text": "x"}),
        |form| vec![json!({"kind": "blocker", "text": form})],
    ),
    (
        "covibe_team",
        || json!({"operation": "feedback"}),
        |_| vec![json!({"operation": "feedback", "limit": 100})],
    ),
    (
        "covibe_coordination",
        || json!({"operation": "announce", "message": "x"}),
        |form| {
            vec![
                json!({"operation": "announce", "message": form}),
                json!({"operation": "claim", "paths": ["a"], "repo": form, "message": form}),
                json!({"operation": "ask", "message": form, "to": form}),
                json!({"operation": "summary"}),
                json!({"operation": "inbox"}),
            ]
        },
    ),
    ("script_list", || json!({}), |_| vec![json!({})]),
    ("script_reload", || json!({}), |_| vec![json!({})]),
    (
        "script_exec",
        || json!({"code": "result = 1"}),
        |form| vec![json!({"code": format!("# {form}\nresult = {form:?}")})],
    ),
    (
        "script_run",
        || json!({"name": "told"}),
        |form| {
            let functions = ["give", "say", "fails", "key", "tool", "get", "page", "reads", "secret", form];
            let mut calls: Vec<Value> = functions
                .iter()
                .map(|function| json!({"name": "told", "function": function, "args": [form]}))
                .collect();
            calls.push(json!({"name": format!("held{}", form.len() % 18)}));
            calls
        },
    ),
];

/// The same arguments with a form of a secret in the place of each, as a text, in a list and as a name; and beside them.
fn with_each(arguments: &Value, schema: &Value, form: &str) -> Vec<Value> {
    let keyed = Value::Object(Map::from_iter([(form.to_owned(), json!(form))]));
    let names = schema["properties"].as_object().unwrap().keys().map(String::as_str).chain([form]);
    let mut all = vec![arguments.clone(), keyed.clone()];
    for name in names {
        for value in [json!(form), json!([form]), keyed.clone()] {
            let mut changed = arguments.clone();
            changed[name] = value;
            all.push(changed);
        }
    }
    all
}

/// Nothing of this is said to the caller, to the operator, or to the log.
#[test]
fn no_tool_and_no_failure_of_one_says_a_secret() {
    let services = Services::start();
    let secrets = stage::secrets();
    let home = stage::prepared(&services, &secrets);
    let all: Vec<Known> = secrets.iter().cloned().chain(Services::secrets()).collect();
    let mut stage = Stage::begin(&home, all);
    let tools = stage.tools();
    let listed: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, TABLE.iter().map(|(name, ..)| *name).collect(), "each tool has a row here");

    for form in secrets.iter().flat_map(Known::sent) {
        for (name, accepted, more) in TABLE {
            let schema = &tools.iter().find(|tool| tool["name"] == *name).unwrap()["inputSchema"];
            for arguments in with_each(&accepted(), schema, &form).iter().chain(&more(&form)) {
                stage.call(name, arguments);
            }
        }
        for (name, arguments, service) in services.calls() {
            for answer in answers(&form) {
                service.will(answer);
                stage.call(name, &arguments);
            }
        }
        stage.call("web_fetch", &json!({"url": services.page(&format!("/{form}?q={form}"))}));
        let script = json!({"name": "told", "function": "page", "args": ["x"]});
        for answer in [Answer::html(200, &form), Answer::empty(302).with("Location", &form)] {
            services.site_will(answer);
            stage.call("script_run", &script);
        }
    }
    stage.call("workspace_list", &json!({"path": format!("many {}", secrets[0].value)}));
    stage.asks(&secrets[0].sent());
    asked_about(&mut stage, &secrets);
    operated(&mut stage, &secrets);
    for words in [
        "[REDACTED:LEAK_1]",
        "[REDACTED:LEAK_ODD]",
        "notifications/message",
        "notifications/progress",
        "is not given",
    ] {
        assert!(stage.was_said(words), "`{words}` was never said: this shows nothing");
    }
    stage.end();
}

/// What waits for a person, and what they say, holds none either.
fn asked_about(stage: &mut Stage<'_>, secrets: &[Known]) {
    let waiting: Value = serde_json::from_str(&stage.run(&["approvals", "list", "--json"])).unwrap();
    let ids: Vec<String> =
        waiting.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.len() >= 20, "{ids:?}");
    stage.run(&["approvals", "list"]);
    stage.get("/api/v1/approvals");
    for id in &ids {
        stage.get(&format!("/api/v1/approvals/{id}"));
    }
    let forms = secrets.iter().flat_map(Known::sent);
    for ((place, id), form) in ids.iter().enumerate().zip(forms) {
        stage.run(&["approvals", "show", id]);
        stage.run(&["approvals", "show", id, "--json"]);
        if place % 2 == 0 {
            stage.run(&["approvals", "reject", id, "--reason", &form]);
        } else {
            stage.run(&["approvals", "approve", id]);
        }
    }
    for number in 0..18 {
        stage.call("script_run", &json!({"name": format!("held{number}")}));
    }
}

/// Nor does anything that the operator can ask for.
fn operated(stage: &mut Stage<'_>, secrets: &[Known]) {
    for number in 0..18 {
        stage.run(&["scripts", "show", &format!("held{number}")]);
        stage.get(&format!("/api/v1/scripts/held{number}"));
    }
    for arguments in [
        &["scripts", "list"][..],
        &["scripts", "list", "--json"],
        &["memory", "search", "held"],
        &["memory", "search", "held", "--json"],
        &["memory", "recent", "--json"],
        &["secrets", "list", "--json"],
        &["config", "show", "--json"],
        &["status", "--json"],
        &["doctor"],
        &["audit", "recent", "-n", "1000", "--json"],
        &["audit", "export"],
        &["tools", "list", "--all", "--json"],
        &["logs", "-n", "100000"],
    ] {
        stage.run(arguments);
    }
    for path in [
        "audit?limit=1000",
        "audit/export",
        "scripts",
        "memory/search?q=held",
        "memory/recent",
        "tools",
        "config",
    ] {
        stage.get(&format!("/api/v1/{path}"));
    }
    for Known { value, .. } in secrets {
        for arguments in [
            vec!["tools", "call", "script_run", "--args", "{\"name\": \"held0\"}"],
            vec!["tools", "call", value],
            vec!["tools", "show", value],
            vec!["scripts", "show", value],
            vec!["memory", "search", value],
        ] {
            stage.run(&arguments);
        }
        stage.get(&format!("/api/v1/approvals/{}", value.replace(' ', "")));
        for (name, accepted, _) in TABLE {
            let mut arguments = accepted();
            arguments[value.as_str()] = json!(value);
            stage.run(&["tools", "call", name, "--args", &arguments.to_string()]);
        }
    }
}
