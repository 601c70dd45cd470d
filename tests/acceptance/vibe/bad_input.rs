//! What is wrong is told by its name, written down once, and changes nothing.

use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::desk::{Desk, assert_shape, on_both, word};
use crate::home;

/// The same arguments with others as well.
fn with(arguments: &Value, name: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[name] = value;
    arguments
}

#[test]
fn fields_that_are_too_long_empty_unknown_or_of_the_wrong_kind_are_refused_by_name() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let (task, stream) = desk.started(&ada, "Retry uploads");
        let session = desk.session(&ada);
        let plan = json!({"operation": "plan", "title": "New", "task_type": "bug"});
        let update = json!({"operation": "update", "task_id": task, "status": "blocked"});
        let complete = json!({"operation": "complete", "task_id": task, "result_summary": "x"});
        let publish = json!({"operation": "publish_context", "title": "a", "summary": "b"});
        let start = json!({"operation": "start"});
        let snapshot = json!({"operation": "snapshot", "repo": "acme/app"});
        let activity = json!({"operation": "activity", "session_id": session, "activity": "x"});
        let note = json!({"kind": "decision", "text": "x"});
        let long = |count: usize| json!("ä".repeat(count));
        for (tool, good, field, bad) in [
            ("covibe_task", &plan, "title", long(301)),
            ("covibe_task", &plan, "title", json!("")),
            ("covibe_task", &plan, "title", json!(" \t\n")),
            ("covibe_task", &plan, "title", json!("a\u{0}b")),
            ("covibe_task", &plan, "title", json!(null)),
            ("covibe_task", &plan, "description", long(8001)),
            ("covibe_task", &plan, "scope", long(8001)),
            ("covibe_task", &plan, "component", long(41)),
            ("covibe_task", &plan, "action", json!("destroy")),
            ("covibe_task", &plan, "priority", json!("asap")),
            ("covibe_task", &plan, "idempotency_key", long(129)),
            ("covibe_task", &plan, "idempotency_key", json!("")),
            ("covibe_task", &plan, "developer_id", json!("dev_x")),
            ("covibe_task", &plan, "workstream_id", json!(task)),
            ("covibe_task", &plan, "workstream_id", json!("ws_")),
            ("covibe_task", &plan, "workstream_id", json!("ws_' OR 1=1")),
            ("covibe_task", &plan, "session_id", json!(task)),
            ("covibe_task", &plan, "session_id", json!({})),
            ("covibe_task", &update, "task_id", json!(stream)),
            ("covibe_task", &update, "task_id", json!("task_../x")),
            ("covibe_task", &update, "reason", long(2001)),
            ("covibe_task", &complete, "result_summary", long(8001)),
            ("covibe_task", &complete, "summary", long(8001)),
            ("covibe_session", &start, "agent_name", long(129)),
            ("covibe_session", &start, "agent_type", long(65)),
            ("covibe_session", &start, "session_id", json!(session)),
            ("covibe_session", &publish, "summary", json!("")),
            ("covibe_session", &publish, "next_actions", json!(vec!["x"; 101])),
            ("covibe_session", &publish, "next_actions", json!(["x".repeat(1001)])),
            ("covibe_session", &publish, "files_touched", json!(["../x"])),
            ("covibe_session", &publish, "task_ids", json!(["task_aaaaaaaaaaaaaaaa"])),
            ("covibe_session", &publish, "task_ids", json!([stream])),
            ("covibe_session", &snapshot, "repo", long(513)),
            ("covibe_session", &snapshot, "repo", json!(" ")),
            ("covibe_session", &snapshot, "branch", long(257)),
            ("covibe_session", &snapshot, "recent_commits", json!([7])),
            ("covibe_session", &snapshot, "recent_commits", json!([{}])),
            ("covibe_session", &snapshot, "recent_commits", json!(["x".repeat(301)])),
            ("covibe_session", &snapshot, "diff_hashes", json!(vec!["x"; 1001])),
            ("covibe_session", &snapshot, "diff_hashes", json!({"a": 7})),
            ("covibe_session", &snapshot, "diff_hashes", json!(["a1b2 src/a.rs\nfn main() {}"])),
            ("covibe_session", &snapshot, "dirty_files", many_long_paths()),
            ("covibe_session", &activity, "activity", long(1001)),
            ("covibe_session", &activity, "activity", json!("")),
            ("covibe_note", &note, "text", long(8001)),
            ("covibe_note", &note, "text", json!("")),
            ("covibe_note", &note, "kind", json!("Decision")),
        ] {
            let arguments = with(good, field, bad);
            let (told, usage) = desk.refused(&ada, tool, arguments);
            let known = told["message"].as_str().unwrap();
            // A foreign or unknown id is named itself.
            let named = known.contains(field) || known.contains("task_aaaaaaaaaaaaaaaa");
            assert!(named && known.len() < 600, "{field}: {told}");
            assert!(usage["payload_json"].as_str().unwrap().len() < 300, "{usage}");
        }
        let both = json!({"kind": "decision", "text": "x", "task_id": task, "workstream_id": stream});
        desk.refused(&ada, "covibe_note", both);
        // What stands just within the bounds is taken.
        for (tool, good, field, value) in [
            ("covibe_task", &plan, "title", long(300)),
            ("covibe_task", &plan, "description", long(8000)),
            ("covibe_task", &plan, "idempotency_key", long(128)),
            ("covibe_session", &publish, "next_actions", json!(vec!["x"; 100])),
            ("covibe_note", &note, "text", long(8000)),
        ] {
            desk.done(&ada, tool, with(good, field, value));
        }
    });
}

/// As many files as a snapshot may name, with names that are too long together.
fn many_long_paths() -> Value {
    (0..1000).map(|number| format!("{}/{number}", "x".repeat(200))).collect()
}

#[test]
fn a_call_that_is_repeated_after_a_lost_answer_makes_nothing_twice() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        for (tool, book, field) in
            [("covibe_task", "tasks", "task_id"), ("covibe_workstream", "workstreams", "workstream_id")]
        {
            // Each of them has work of its own: the same work would be kept from starting.
            let work_of = |of: &str, operation: &str| {
                let title = match (operation, tool) {
                    ("plan", "covibe_task") => format!("Paint every {of} yellow"),
                    ("plan", _) => format!("Insure {of} owners abroad"),
                    (_, "covibe_task") => format!("Weigh one {of} twice"),
                    _ => format!("Ship {of} parts by rail"),
                };
                let mut work = json!({"operation": "check", "title": title, "component": of});
                if tool == "covibe_task" {
                    work["task_type"] = json!("bug");
                }
                work
            };
            for operation in ["plan", "start"] {
                let (work, other) = (work_of("lathe", operation), work_of("piano", operation));
                desk.call(&ada, tool, work.clone());
                desk.call(&bob, tool, other.clone());
                let call = with(&with(&work, "operation", json!(operation)), "idempotency_key", json!("k-1"));
                let first = desk.done(&ada, tool, call.clone());
                let again = desk.watched(&ada, tool, call.clone());
                assert_eq!(
                    (again.status(), again.of(book).len(), again.events()),
                    ("ok", 0, vec![]),
                    "{again:?}"
                );
                assert_eq!(again.envelope["data"][field], first[field]);
                let other =
                    with(&with(&other, "operation", json!(operation)), "idempotency_key", json!("k-1"));
                let theirs = desk.done(&bob, tool, other);
                assert_ne!(theirs[field], first[field], "a key is its developer's");
                desk.refused(&ada, tool, with(&call, "title", json!("Something else")));
            }
            let keyed = desk.book(book).iter().filter(|row| row["idempotency_key"].is_string()).count();
            assert_eq!(keyed, 4);
        }
        // Of many at once, one makes it and the others are told the same.
        let call = json!({"operation": "plan", "title": "Draw a chart", "task_type": "bug", "idempotency_key": "k-2"});
        let ids: Vec<String> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| word(&desk.done(&ada, "covibe_task", call.clone()), "task_id")))
                .collect();
            tries.into_iter().map(|tried| tried.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    });
}

#[test]
fn whoever_may_not_is_told_so_and_the_call_is_written_down() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let check = json!({"operation": "check", "title": "Retry uploads", "task_type": "bug"});
        // Not granted: the grant is an ordinary one.
        let grants = desk.home.run(&["capabilities", "list", "--json"]).ok().json();
        let held = |row: &&Value| row["subject"] == "dev:bob" && row["action"] == "tool.call.covibe_*";
        let id = word(grants.as_array().unwrap().iter().find(held).unwrap(), "id");
        desk.home.run(&["capabilities", "revoke", &id]).ok();
        let left = desk.watch(|| desk.answered(403, &bob, "covibe_task", &check));
        let usage = left.one("usage_events");
        assert_eq!(
            (left.rows.len(), &usage["status"], &usage["event"]),
            (1, &json!("error"), &json!("covibe_task.check"))
        );
        assert!(usage["developer_id"].is_string(), "{usage}");
        // Revoked, and shown in either place.
        let tokens = desk.home.run(&["tokens", "list", "--for", "ada", "--json"]).ok().json();
        desk.home.run(&["tokens", "revoke", tokens[0]["id"].as_str().unwrap()]).ok();
        let left = desk.watch(|| desk.answered(401, &ada, "covibe_task", &check));
        assert_eq!((left.status(), left.one("usage_events")["developer_id"].is_null()), ("error", true));
        assert_eq!(left.rows.len(), 1);
        let body = json!({"tool": "covibe_task", "arguments": check, "token": ada}).to_string();
        let answer = desk.post(Some(&bob), body);
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_shape(&answer.json());
        assert!(!answer.text.contains(&ada[3..]));
    });
}

#[test]
fn whoever_is_too_fast_is_told_when_to_come_again() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 1\nburst = 3\n");
    let desk = Desk::at(&home, None);
    let ada = desk.invite("ada");
    let body = json!({"tool": "covibe_session", "arguments": {"operation": "heartbeat"}}).to_string();
    let mut sent = 0;
    let limited = until("the limit is reached", || {
        let answer = desk.post(Some(&ada), body.clone());
        sent += 1;
        (answer.status == 429).then_some(answer)
    });
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=5).contains(&wait), "{limited:?}");
    assert_shape(&limited.json());
    assert_eq!(limited.json()["status"], "error");
    // Nor does it help to speak for somebody else, who is told as well.
    let bob = desk.invite("bob");
    let body =
        json!({"tool": "covibe_session", "arguments": {"operation": "heartbeat", "token": ada}}).to_string();
    let spoken = until("the limit is reached", || {
        let answer = desk.post(Some(&bob), body.clone());
        sent += 1;
        (answer.status == 429).then_some(answer)
    });
    assert!(spoken.header("retry-after").is_some(), "{spoken:?}");
    assert_eq!(spoken.json()["status"], "error");
    until("every call is written down", || (desk.book("usage_events").len() >= sent).then_some(()));
    let events = desk.book("usage_events");
    assert_eq!(events.len(), sent, "{events:?}");
    assert!(
        events.iter().any(|row| row["payload_json"].as_str().unwrap().contains("rate_limited")),
        "{events:?}"
    );
}
