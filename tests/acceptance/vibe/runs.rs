//! Runs of agents at a team's tools: each works as whoever sent it, in their workspace, and never as the operator for somebody else.

use serde_json::{Value, json};

use super::desk::{Desk, homes, word};
use crate::cov_agent::stage::{Language, install};

const MORE: &str = "[capabilities]\noptional = [\"tool.call.covibe_*\", \"tool.call.agent__py\"]\n";

/// What a run of whoever shows that token is told by the tool; of the operator, without one.
#[track_caller]
fn told(desk: &Desk<'_>, token: Option<&str>, calls: &[(&str, Value)]) -> Vec<Value> {
    let call =
        |(tool, arguments): &(&str, Value)| json!(["tools/call", {"name": tool, "arguments": arguments}]);
    let text = format!("calls {}", Value::from(calls.iter().map(call).collect::<Vec<_>>()));
    let command = desk.home.command(&["intent", "--json", "--agent", "py", &text]);
    let command = match token {
        Some(token) => command.env("COVENANT_TOKEN", token),
        None => command,
    };
    let reply = command.run().ok().json();
    let answers: Vec<Value> = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
    answers.iter().map(|answer| answer["result"]["structuredContent"].clone()).collect()
}

/// The calls that start a task of that title.
fn work(title: &str) -> [(&'static str, Value); 2] {
    ["check", "start"].map(|operation| {
        ("covibe_task", json!({"operation": operation, "title": title, "task_type": "feature"}))
    })
}

#[test]
fn a_run_works_as_whoever_sent_it_and_in_their_workspace() {
    for (home, database) in homes() {
        install(&home, "py", Language::Python, MORE);
        let desk = &Desk::at(&home, database);
        home.run(&["team", "init", "acme"]).ok();
        home.run(&["team", "init", "other"]).ok();
        let eve = desk.invite_as("eve", &["--workspace", "other"], &[]);
        home.run(&["capabilities", "grant", "tool.call.agent__py", "--to", "dev:eve"]).ok();

        let theirs = told(desk, None, &work("Count the swans on the lake"));
        let theirs = desk.row("tasks", &word(&theirs[1]["data"], "task_id"));
        let id = |handle: &str| {
            let asked = home.run(&["team", "members", "--json"]).ok().json();
            let found = asked.as_array().unwrap().iter().find(|member| member["handle"] == handle).cloned();
            found.unwrap_or_else(|| panic!("{asked}"))["id"].clone()
        };
        let (local, own) = (id("local"), id("eve"));
        assert_eq!(theirs["developer_id"], local, "a run of the operator is the operator's: {theirs}");

        let mut calls = work("Translate the invoices to Polish").to_vec();
        calls.push(("covibe_team", json!({"operation": "state"})));
        let finish = json!({"operation": "complete", "task_id": theirs["id"], "result_summary": "Nine."});
        calls.push(("covibe_task", finish));
        calls.push(("covibe_task", json!({"operation": "check"})));
        calls.push(("covibe_task", json!({"operation": "no such"})));
        let mut answers = Vec::new();
        let left = desk.watch(|| {
            answers = told(desk, Some(&eve), &calls);
            Value::Null
        });
        let task = left.one("tasks");
        assert_eq!((&task["developer_id"], &task["id"]), (&own, &answers[1]["data"]["task_id"]), "{task}");
        assert_ne!(task["workspace_id"], theirs["workspace_id"]);
        let seen = answers[2]["data"]["active_work"].as_array().unwrap();
        let titles: Vec<&Value> = seen.iter().map(|work| &work["title"]).collect();
        assert_eq!(titles, [&task["title"]], "{}", answers[2]);
        assert_eq!(answers[3]["status"], "error", "what is the operator's is not theirs: {}", answers[3]);
        assert_eq!(desk.row("tasks", &word(&theirs, "id"))["status"], "active");
        let usage = left.of("usage_events");
        assert_eq!(usage.len(), calls.len(), "{usage:?}");
        assert!(usage.iter().all(|call| call["developer_id"] == own), "{usage:?}");

        let nested = json!({"text": format!("calls {}", json!([["tools/call", {
            "name": "covibe_session", "arguments": {"operation": "start"},
        }]]))});
        let left = desk.watch(|| {
            told(desk, Some(&eve), &[("agent__py", nested)]);
            Value::Null
        });
        assert_eq!(left.one("agent_sessions")["developer_id"], own, "also of a run within a run");
    }
}
