//! What is written down: every call once, every change, and what can not even be read.

use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::desk::{assert_shape, on_both, word};

/// VIBE-175, VIBE-176, VIBE-177, VIBE-178: every call writes one usage event, and every change its work event by its name.
#[test]
fn every_call_and_every_change_is_written_down() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let act = |tool: &str, arguments: Value, status: &str, events: &[&str]| {
            let left = desk.watched(&ada, tool, arguments.clone());
            assert_eq!((left.status(), left.events()), (status, events.to_vec()), "{tool} {arguments}");
            let usage = left.one("usage_events");
            let selector = if tool == "covibe_note" { "kind" } else { "operation" };
            assert_eq!(usage["event"], format!("{tool}.{}", arguments[selector].as_str().unwrap()));
            assert_eq!(usage["status"], status);
            for event in left.of("work_events") {
                assert_eq!(event["developer_id"], usage["developer_id"]);
                assert_eq!(event["workspace_id"], usage["workspace_id"]);
            }
            left.envelope["data"].clone()
        };
        let task = |operation: &str, title: &str| json!({"operation": operation, "title": title, "task_type": "bug"});
        let stream = |operation: &str, title: &str| json!({"operation": operation, "title": title});

        act("covibe_task", task("start", "One"), "blocked", &[]);
        act("covibe_task", task("check", "One"), "ok", &["task.checked"]);
        let started = ["task.checked", "task.started", "workstream.auto_created"];
        let one = act("covibe_task", task("start", "One"), "ok", &started);
        let one = json!({"operation": "complete", "task_id": one["task_id"], "result_summary": "x"});
        act("covibe_task", one.clone(), "ok", &["task.completed", "workstream.completed"]);
        act("covibe_task", one, "warning", &[]);

        let two = act("covibe_task", task("plan", "Two"), "ok", &["task.planned", "workstream.auto_created"]);
        let two = word(&two, "task_id");
        act(
            "covibe_task",
            json!({"operation": "update", "task_id": two, "scope": "All"}),
            "ok",
            &["task.planned_updated"],
        );
        act("covibe_task", json!({"operation": "start_planned", "planned_task_id": two}), "blocked", &[]);
        let mut check = task("check", "Two");
        check["planned_task_id"] = json!(two);
        act("covibe_task", check, "ok", &["task.checked"]);
        let start = json!({"operation": "start_planned", "planned_task_id": two});
        act("covibe_task", start, "ok", &["task.checked", "task.started"]);
        act(
            "covibe_task",
            json!({"operation": "update", "task_id": two, "status": "blocked"}),
            "ok",
            &["task.updated"],
        );
        let cancel = json!({"operation": "cancel", "task_id": two, "reason": "x"});
        act("covibe_task", cancel, "ok", &["task.cancelled", "workstream.completed"]);

        let three = act("covibe_workstream", stream("plan", "Three"), "ok", &["workstream.planned"]);
        let three = word(&three, "workstream_id");
        act("covibe_workstream", stream("check", "Three"), "ok", &["workstream.checked"]);
        let start = json!({"operation": "start_planned", "workstream_id": three});
        act("covibe_workstream", start, "ok", &["workstream.checked", "workstream.start_planned"]);
        act("covibe_workstream", stream("check", "Four"), "ok", &["workstream.checked"]);
        act(
            "covibe_workstream",
            stream("start", "Four"),
            "ok",
            &["workstream.checked", "workstream.started"],
        );
        let five = word(
            &act("covibe_workstream", stream("plan", "Five"), "ok", &["workstream.planned"]),
            "workstream_id",
        );
        let cancel = json!({"operation": "cancel", "workstream_id": five, "reason": "x"});
        act("covibe_workstream", cancel, "ok", &["workstream.cancelled"]);

        act("covibe_note", json!({"kind": "decision", "text": "x"}), "ok", &["decision.recorded"]);
        act("covibe_note", json!({"kind": "blocker", "text": "x"}), "ok", &["blocker.recorded"]);
        act("covibe_session", json!({"operation": "heartbeat"}), "ok", &[]);
        act("covibe_team", json!({"operation": "feedback"}), "ok", &[]);
        act("covibe_task", json!({"operation": "cancel", "task_id": two}), "error", &[]);
    });
}

/// VIBE-180: events of a call in a session are linked to that session, however the call ends.
#[test]
fn events_are_linked_to_the_session_they_came_in() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let id = desk.session(&ada);
        let (task, _) = desk.started(&ada, "Retry uploads");
        for (tool, arguments, status) in [
            ("covibe_task", json!({"operation": "check", "title": "One", "task_type": "bug"}), "ok"),
            ("covibe_task", json!({"operation": "plan", "title": "One", "task_type": "bug"}), "ok"),
            ("covibe_task", json!({"operation": "start", "title": "Two", "task_type": "bug"}), "blocked"),
            ("covibe_task", json!({"operation": "complete", "task_id": task, "result_summary": "x"}), "ok"),
            (
                "covibe_task",
                json!({"operation": "complete", "task_id": task, "result_summary": "x"}),
                "warning",
            ),
            ("covibe_task", json!({"operation": "update", "task_id": task, "status": "active"}), "error"),
            ("covibe_task", json!({"operation": "plan", "title": "One"}), "error"),
            ("covibe_note", json!({"kind": "decision", "text": "x"}), "ok"),
            ("covibe_session", json!({"operation": "activity", "activity": "Reading"}), "ok"),
            ("covibe_team", json!({"operation": "feedback"}), "ok"),
        ] {
            let mut arguments = arguments;
            arguments["session_id"] = json!(id);
            let left = desk.watched(&ada, tool, arguments.clone());
            assert_eq!(left.status(), status, "{arguments}: {left:?}");
            for book in ["usage_events", "work_events", "agent_feedback_events"] {
                for event in left.of(book) {
                    assert_eq!(event["session_id"], id, "{book} of {arguments}: {left:?}");
                }
            }
        }
        let left = desk.watched(&ada, "covibe_note", json!({"kind": "decision", "text": "x"}));
        assert_eq!(left.one("usage_events")["session_id"], json!(null), "none was named");
    });
}

/// VIBE-122, VIBE-123: what is no call is a 400 with the same shape, and is written down.
#[test]
fn a_malformed_document_is_told_so_and_written_down() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let deep = "[".repeat(100_000);
        for body in [
            "",
            "nonsense",
            "{\"tool\":",
            "[]",
            "7",
            "null",
            "\"covibe_task\"",
            "{}",
            r#"{"tool":7}"#,
            r#"{"tool":null,"arguments":{}}"#,
            r#"{"arguments":{"operation":"check"}}"#,
            r#"{"tool":"covibe_task","arguments":[]}"#,
            r#"{"tool":"covibe_task","arguments":{},"token":7}"#,
            "{\"tool\":\"covibe_task\",\"arguments\":{\"a\":\"\u{fffe}\\ud800\"}}",
            &deep,
        ] {
            let left = desk.watch(|| {
                let answer = desk.post(Some(&ada), body);
                assert_eq!(answer.status, 400, "{body:.80}: {answer:?}");
                answer.json()
            });
            assert_shape(&left.envelope);
            assert_eq!((left.status(), left.rows.len()), ("error", 1), "{body:.80}: {left:?}");
            let usage = left.one("usage_events");
            assert!(usage["status"] == "error" && usage["developer_id"].is_string(), "{usage}");
        }
        // Of strangers the first is written down at once, as nobody's.
        let left = desk.watch(|| desk.post(None, "nonsense").json());
        assert_shape(&left.envelope);
        let usage = left.one("usage_events");
        assert_eq!((&usage["developer_id"], &usage["workspace_id"]), (&json!(null), &json!(null)));
    });
}

/// VIBE-124, VIBE-125: calls of tools that are not there, and arguments that do not fit, are written down.
#[test]
fn unknown_tools_and_arguments_that_do_not_fit_are_written_down() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for name in ["covibe_nothing", "echo", "clock", "covibe_", "Covibe_task", &"x".repeat(500)] {
            let left = desk.watch(|| {
                let before = desk.book("usage_events").len();
                let told = desk.answered(404, &ada, name, &json!({"operation": "check"}));
                // What reached no tool is written down beside the answer.
                until("it is written down", || (desk.book("usage_events").len() > before).then_some(()));
                told
            });
            assert_eq!((left.status(), left.rows.len()), ("error", 1), "{left:?}");
            let usage = left.one("usage_events");
            assert!(usage["developer_id"].is_string() && usage["status"] == "error", "{usage}");
            assert!(usage["event"].as_str().unwrap().len() <= 70, "{usage}");
        }
        for (tool, arguments) in [
            ("covibe_task", json!({})),
            ("covibe_task", json!({"operation": "check"})),
            ("covibe_task", json!({"operation": "reopen"})),
            ("covibe_workstream", json!({"operation": "plan", "title": 7})),
            ("covibe_session", json!({"operation": "snapshot"})),
            ("covibe_note", json!({"kind": "wish", "text": "x"})),
            ("covibe_team", json!({"operation": "feedback", "limit": 0})),
        ] {
            let (told, usage) = desk.refused(&ada, tool, arguments);
            assert!(usage["event"].as_str().unwrap().starts_with(tool), "{usage}");
            assert!(usage["payload_json"].as_str().unwrap().contains("invalid_arguments"), "{usage}");
            assert!(told["feedback"]["required_action"].as_str().unwrap().contains("orrect"), "{told}");
        }
    });
}

/// VIBE-190: every tool that changes something takes only ids of its caller's own.
#[test]
fn every_tool_that_changes_something_is_its_owners() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (task, _) = desk.started(&bob, "Retry uploads");
        let planned = desk.planned(&bob, "Draw a chart");
        let (stream, session) = (desk.stream(&bob, "Rework uploads"), desk.session(&bob));
        let plan = json!({"operation": "plan", "title": "Rework downloads"});
        let later = word(&desk.done(&bob, "covibe_workstream", plan), "workstream_id");
        let publish = json!({"operation": "publish_context", "title": "a", "summary": "b"});
        let context = word(&desk.done(&bob, "covibe_session", publish), "context_id");
        let calls = |task: &str, planned: &str, stream: &str, later: &str, session: &str, context: &str| {
            [
                ("covibe_task", json!({"operation": "update", "task_id": task, "status": "blocked"})),
                ("covibe_task", json!({"operation": "update", "task_id": planned, "title": "Mine"})),
                ("covibe_task", json!({"operation": "complete", "task_id": task, "result_summary": "x"})),
                ("covibe_task", json!({"operation": "cancel", "task_id": task, "reason": "x"})),
                ("covibe_task", json!({"operation": "start_planned", "planned_task_id": planned})),
                (
                    "covibe_workstream",
                    json!({"operation": "update", "workstream_id": stream, "status": "blocked"}),
                ),
                (
                    "covibe_workstream",
                    json!({"operation": "complete", "workstream_id": stream, "result_summary": "x"}),
                ),
                ("covibe_workstream", json!({"operation": "cancel", "workstream_id": later, "reason": "x"})),
                ("covibe_workstream", json!({"operation": "start_planned", "workstream_id": later})),
                ("covibe_note", json!({"kind": "decision", "text": "x", "task_id": task})),
                ("covibe_note", json!({"kind": "blocker", "text": "x", "workstream_id": stream})),
                ("covibe_session", json!({"operation": "heartbeat", "session_id": session})),
                ("covibe_session", json!({"operation": "activity", "session_id": session, "activity": "x"})),
                ("covibe_session", json!({"operation": "revoke_context", "context_id": context})),
                ("covibe_session", json!({"operation": "end", "session_id": session})),
            ]
        };
        let foreign = calls(&task, &planned, &stream, &later, &session, &context);
        let nobody = "aaaaaaaaaaaaaaaa";
        let absent = calls(
            &format!("task_{nobody}"),
            &format!("task_{nobody}"),
            &format!("ws_{nobody}"),
            &format!("ws_{nobody}"),
            &format!("sess_{nobody}"),
            &format!("ctx_{nobody}"),
        );
        for ((tool, arguments), (_, absent)) in foreign.into_iter().zip(absent) {
            let (told, _) = desk.refused(&ada, tool, arguments.clone());
            let (other, _) = desk.refused(&ada, tool, absent);
            // Another's and nobody's are told in the same words.
            let bare = |told: &Value| {
                let message = told["message"].as_str().unwrap();
                let words = message.split('`').enumerate().filter(|(at, _)| at % 2 == 0);
                words.map(|(_, words)| words.to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(bare(&told), bare(&other), "{tool} {arguments}");
        }
    });
}
