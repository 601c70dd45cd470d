//! The ways to the tools of a team: one document to `/api/mcp`, the bridge, and MCP over HTTP in both eras, all with the same rules.

use covenant_testkit::{HttpClient, StdioClient};
use serde_json::{Value, json};

use super::desk::{Desk, assert_shape, on_both, word};
use super::origin::{bridge, stateless};

/// One way to call a tool: what it answers is the envelope.
type Way<'w> = Box<dyn FnMut(&str, Value) -> Value + 'w>;

/// The envelope in a result of MCP: in its text as in its structure.
#[track_caller]
fn envelope(answer: &Value) -> Value {
    let result = &answer["result"];
    let envelope = result["structuredContent"].clone();
    assert_shape(&envelope);
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), envelope);
    let failed = matches!(envelope["status"].as_str(), Some("blocked" | "error"));
    assert_eq!(result["isError"], failed, "{answer}");
    envelope
}

/// Every way, for whoever holds that token.
fn ways<'w>(desk: &'w Desk<'_>, token: &'w str) -> Vec<(&'static str, Way<'w>)> {
    let wanted = |tool: &str, arguments| json!({"name": tool, "arguments": arguments});
    let mut local = StdioClient::start(desk.home.command(&["--mcp"]).env("COVENANT_TOKEN", token));
    local.initialize();
    let mut remote = bridge(desk.home, &desk.url(), &[("COVIBE_MCP_TOKEN", token)]);
    let mut session = HttpClient::new(desk.port(), token);
    session.initialize();
    let mut modern = HttpClient::new(desk.port(), token);
    vec![
        ("/api/mcp", Box::new(move |tool, arguments| desk.call(token, tool, arguments))),
        ("stdio", Box::new(move |tool, arguments| envelope(&local.call(tool, arguments)))),
        (
            "the bridge, stateless",
            Box::new(move |tool, arguments| {
                envelope(&remote.request("tools/call", stateless(wanted(tool, arguments))))
            }),
        ),
        ("/mcp, in a session", Box::new(move |tool, arguments| envelope(&session.call(tool, arguments)))),
        (
            "/mcp, stateless",
            Box::new(move |tool, arguments| {
                let request = modern.modern("tools/call", &wanted(tool, arguments), &json!(1));
                envelope(&modern.send(&request).messages().pop().unwrap())
            }),
        ),
    ]
}

/// VIBE-01, VIBE-04, VIBE-07: by every way an agent logs its work with the same tools, and is told how it goes.
#[test]
fn work_is_logged_by_either_path_with_the_same_lifecycle() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (number, (name, mut call)) in ways(desk, &ada).into_iter().enumerate() {
            let mut task = |operation: &str, more: Value| {
                let mut arguments = json!({"operation": operation});
                arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let told = call("covibe_task", arguments);
                assert_eq!(told["status"], "ok", "{name} {operation}: {told}");
                told["data"].clone()
            };
            let work = |title: &str| json!({"title": format!("{title} {number}"), "task_type": "feature"});
            task("check", work("Retry uploads"));
            let id = word(&task("start", work("Retry uploads")), "task_id");
            task("update", json!({"task_id": id, "status": "blocked", "reason": "No key"}));
            assert_eq!(
                task("complete", json!({"task_id": id, "result_summary": "They retry."}))["status"],
                "done"
            );
            let later = word(&task("plan", work("Draw a chart")), "task_id");
            let mut again = work("Draw a chart");
            again["planned_task_id"] = json!(later);
            task("check", again);
            assert_eq!(task("start_planned", json!({"planned_task_id": later}))["status"], "active");
            task("cancel", json!({"task_id": later, "reason": "Nobody wants it"}));
            let rows = [desk.row("tasks", &id), desk.row("tasks", &later)];
            assert_eq!(
                (&rows[0]["status"], &rows[1]["status"]),
                (&json!("done"), &json!("cancelled")),
                "{name}"
            );
        }
    });
}

/// VIBE-02: whatever an agent was prompted, the server holds it to the rules, by every way, and changes nothing.
#[test]
fn the_server_holds_agents_to_the_rules() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (task, _) = desk.started(&bob, "Retry uploads");
        for (name, mut call) in ways(desk, &ada) {
            for (arguments, status) in [
                (json!({"operation": "start", "title": "Draw a chart", "task_type": "bug"}), "blocked"),
                (json!({"operation": "complete", "task_id": task, "result_summary": "Mine now"}), "error"),
                (json!({"operation": "plan", "title": "Without a type"}), "error"),
                (json!({"operation": "reopen", "task_id": task}), "error"),
            ] {
                let left = desk.watch(|| call("covibe_task", arguments.clone()));
                assert_eq!(left.status(), status, "{name} {arguments}: {left:?}");
                assert_eq!(left.one("usage_events")["status"], status, "{name}");
                assert!(left.of("tasks").is_empty() && left.of("work_events").is_empty(), "{name}: {left:?}");
            }
        }
    });
}

/// VIBE-23: a token among the arguments wins over that of the connection or of the bridge, and is kept nowhere.
#[test]
fn a_token_among_the_arguments_says_whose_call_it_is() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let bobs = desk.home.run(&["team", "members", "--json"]).ok().json();
        let bobs = bobs.as_array().unwrap().iter().find(|row| row["handle"] == "bob").unwrap()["id"].clone();
        for (name, mut call) in ways(desk, &ada) {
            let plan = json!({"operation": "plan", "title": name, "task_type": "docs", "token": bob});
            let left = desk.watch(|| call("covibe_task", plan.clone()));
            assert_eq!(left.one("tasks")["developer_id"], bobs, "{name}");
            assert_eq!(left.one("usage_events")["developer_id"], bobs, "{name}");
            assert!(!format!("{left:?}").contains(&bob[3..]), "{name}");
        }
        // In the body of `/api/mcp` it may stand beside the arguments as well.
        let body = json!({"tool": "covibe_session", "arguments": {"operation": "start"}, "token": bob});
        let left = desk.watch(|| desk.post(Some(&ada), body.to_string()).json());
        assert_eq!(left.one("agent_sessions")["developer_id"], bobs);
        // One that is nobody's is not replaced by the connection's.
        let mut wrong = json!({"operation": "start", "token": "cv_nobody"});
        let left = desk.watch(|| desk.answered(401, &ada, "covibe_session", &wrong));
        assert_eq!(left.one("usage_events")["developer_id"], json!(null));
        assert!(left.rows.len() == 1 && left.status() == "error", "{left:?}");
        wrong["token"] = json!(7);
        desk.refused(&ada, "covibe_session", wrong);
    });
}

#[test]
fn the_operator_and_their_clients_are_a_developer_without_any_set_up() {
    on_both(|desk| {
        let members = desk.home.run(&["team", "members", "--json"]).ok().json();
        let mut client = desk.home.mcp();
        client.initialize();
        let start = json!({"operation": "start", "agent_name": "mine"});
        let id = word(&envelope(&client.call("covibe_session", start.clone()))["data"], "session_id");
        assert_eq!(desk.row("agent_sessions", &id)["developer_id"], members[0]["id"]);
        let call = ["tools", "call", "covibe_session", "--args", &start.to_string()];
        assert_eq!(desk.home.run(&call).ok().json()["status"], "ok");
        let other = ["clients", "add", "tool", "--grant", "tool.call.covibe_session"];
        let other = desk.home.run(&other).ok().stdout.trim().to_owned();
        let left = desk.watched(&other, "covibe_session", start);
        assert_eq!(left.one("agent_sessions")["developer_id"], members[0]["id"]);
    });
}

/// VIBE-42, VIBE-43, VIBE-44, VIBE-45: each tool offers exactly these operations, and does every one of them.
#[test]
fn the_tools_offer_every_operation_and_do_it() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let mut client = HttpClient::new(desk.port(), &ada);
        client.initialize();
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let work = json!(["check", "plan", "start", "start_planned", "update", "complete", "cancel"]);
        let session = json!([
            "start",
            "heartbeat",
            "snapshot",
            "activity",
            "publish_context",
            "get_context",
            "revoke_context",
            "end"
        ]);
        for (name, selector, operations) in [
            ("covibe_task", "operation", &work),
            ("covibe_workstream", "operation", &work),
            ("covibe_session", "operation", &session),
            ("covibe_note", "kind", &json!(["decision", "blocker"])),
        ] {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            let schema = &tool["inputSchema"];
            assert_eq!(&schema["properties"][selector]["enum"], operations, "{name}");
            assert_eq!(schema["additionalProperties"], false, "{name}");
            assert!(["oneOf", "anyOf", "allOf"].iter().all(|choice| schema.get(choice).is_none()), "{name}");
        }

        let session = desk.session(&ada);
        let context = json!({"operation": "publish_context", "title": "Half way", "summary": "Two of four"});
        let context = word(&desk.done(&ada, "covibe_session", context), "context_id");
        for more in [
            json!({"operation": "heartbeat", "session_id": session}),
            json!({"operation": "snapshot", "session_id": session, "repo": "acme/app"}),
            json!({"operation": "activity", "session_id": session, "activity": "Reading"}),
            json!({"operation": "get_context"}),
            json!({"operation": "revoke_context", "context_id": context}),
            json!({"operation": "end", "session_id": session}),
        ] {
            desk.done(&ada, "covibe_session", more);
        }
        for kind in ["decision", "blocker"] {
            let told = desk.done(&ada, "covibe_note", json!({"kind": kind, "text": "We use tabs."}));
            let note = desk.row("notes", &word(&told, "note_id"));
            assert_eq!((&note["kind"], &note["text"]), (&json!(kind), &json!("We use tabs.")));
        }
        let plan = json!({"operation": "plan", "title": "Rework uploads"});
        let stream = word(&desk.done(&ada, "covibe_workstream", plan), "workstream_id");
        desk.done(&ada, "covibe_workstream", json!({"operation": "check", "title": "Rework uploads"}));
        desk.done(&ada, "covibe_workstream", json!({"operation": "start_planned", "workstream_id": stream}));
        let update = json!({"operation": "update", "workstream_id": stream, "status": "blocked"});
        desk.done(&ada, "covibe_workstream", update);
        let complete = json!({"operation": "complete", "workstream_id": stream, "result_summary": "Done"});
        desk.done(&ada, "covibe_workstream", complete);
        desk.stream(&ada, "Rework downloads");
        let plan = json!({"operation": "plan", "title": "Rework nothing"});
        let stream = word(&desk.done(&ada, "covibe_workstream", plan), "workstream_id");
        let cancel = json!({"operation": "cancel", "workstream_id": stream, "reason": "Nobody asked"});
        desk.done(&ada, "covibe_workstream", cancel);
    });
}

/// VIBE-120, VIBE-121: every answer has the four members of the document, and one that went well asks for nothing.
#[test]
fn every_answer_has_the_one_shape() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let body = json!({"tool": "covibe_session", "arguments": {"operation": "heartbeat"}}).to_string();
        let answer = desk.post(Some(&ada), body);
        let at = |member: &str| answer.text.find(&format!("\"{member}\":")).unwrap();
        let order =
            [at("status"), at("message"), at("feedback"), at("type"), at("required_action"), at("data")];
        assert!(order.is_sorted(), "in the order of the document: {}", answer.text);
        let said = answer.json();
        assert_eq!(said["status"], "ok");
        assert_eq!(said["feedback"], json!({"type": "info", "required_action": null}));
        assert!(said["data"].is_object() && said["message"].is_string(), "{said}");
        // Refusals of the gate itself, and what no tool was reached by, have it too; `answered` looks at each.
        desk.answered(404, &ada, "covibe_nothing", &json!({}));
        desk.answered(404, &ada, "echo", &json!({"text": "not here"}));
        let told = desk.answered(401, "cv_nobody", "covibe_task", &json!({"operation": "check"}));
        assert!(told["feedback"]["required_action"].as_str().unwrap().contains("tokens create"), "{told}");
        let client = desk.home.run(&["clients", "add", "other"]).ok().stdout.trim().to_owned();
        let told = desk.answered(403, &client, "covibe_task", &json!({"operation": "check"}));
        assert!(
            told["feedback"]["required_action"].as_str().unwrap().contains("capabilities grant"),
            "{told}"
        );
    });
}
