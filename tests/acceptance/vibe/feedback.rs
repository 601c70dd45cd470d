//! What agents are told to heed: in the answer, with what to do next, and again whenever they ask.

use serde_json::{Value, json};

use super::desk::{Desk, on_both};
use super::origin::bridge;

/// Calls that end in a warning or a block, and how.
fn heeded(desk: &Desk<'_>, token: &str) -> Vec<(&'static str, Value, &'static str)> {
    let (task, _) = desk.started(token, "Retry uploads");
    desk.done(token, "covibe_task", json!({"operation": "complete", "task_id": task, "result_summary": "x"}));
    let (open, stream) = desk.started(token, "Retry downloads");
    let planned = desk.planned(token, "Draw a chart");
    vec![
        ("covibe_task", json!({"operation": "start", "title": "New", "task_type": "bug"}), "blocked"),
        ("covibe_workstream", json!({"operation": "start", "title": "New"}), "blocked"),
        ("covibe_task", json!({"operation": "start_planned", "planned_task_id": planned}), "blocked"),
        ("covibe_task", json!({"operation": "complete", "task_id": task, "result_summary": "x"}), "warning"),
        ("covibe_task", json!({"operation": "update", "task_id": open, "title": "New"}), "warning"),
        (
            "covibe_workstream",
            json!({"operation": "complete", "workstream_id": stream, "result_summary": "x"}),
            "warning",
        ),
    ]
}

/// VIBE-173, VIBE-174: warnings and blocks stand in the answer itself, also for an agent that reads text alone, and say what
/// to do next.
#[test]
fn what_is_to_be_heeded_is_in_the_answer() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let mut agent = bridge(desk.home, &desk.url(), &[("COVIBE_MCP_TOKEN", &ada)]);
        agent.initialize();
        for (tool, arguments, status) in heeded(desk, &ada) {
            let answer = agent.call(tool, arguments.clone());
            let text: Value =
                serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(text["status"], status, "{answer}");
            assert_eq!(text["feedback"]["type"], if status == "blocked" { "block" } else { "warning" });
            assert!(text["message"].as_str().unwrap().len() > 10, "{answer}");
            assert!(text["feedback"]["required_action"].as_str().unwrap().len() > 10, "{answer}");
            assert_eq!(answer["result"]["isError"], status == "blocked");
        }
    });
}

/// VIBE-182, VIBE-183: a blocked call is written down like any other, and what was to be heeded is kept as feedback.
#[test]
fn what_is_to_be_heeded_is_written_down() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (tool, arguments, status) in heeded(desk, &ada) {
            let left = desk.watched(&ada, tool, arguments.clone());
            assert_eq!((left.status(), &left.one("usage_events")["status"]), (status, &json!(status)));
            let kept = left.one("agent_feedback_events");
            let told = &left.envelope;
            assert_eq!(
                (&kept["feedback_type"], &kept["message"], &kept["required_action"]),
                (&told["feedback"]["type"], &told["message"], &told["feedback"]["required_action"]),
                "{left:?}"
            );
            assert_eq!((&kept["event"], left.events().len()), (&left.one("usage_events")["event"], 0));
        }
        let left = desk.watched(&ada, "covibe_session", json!({"operation": "heartbeat"}));
        assert!(left.of("agent_feedback_events").is_empty(), "nothing was to be heeded");
    });
}

/// VIBE-52, VIBE-185: an agent asks for the feedback it was given. VIBE-101, VIBE-102: of one type, and so many rows.
#[test]
fn feedback_is_told_again_to_whom_it_was_given() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let calls = heeded(desk, &ada);
        let count = calls.len();
        let mut given = Vec::new();
        for (tool, arguments, _) in calls {
            given.push(desk.call(&ada, tool, arguments)["message"].clone());
        }
        let ask = |token: &str, more: Value| {
            let mut arguments = json!({"operation": "feedback"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let told = desk.done(token, "covibe_team", arguments);
            told["feedback"].as_array().unwrap().clone()
        };
        let all = ask(&ada, json!({}));
        let sorted = |mut texts: Vec<String>| {
            texts.sort();
            texts
        };
        let messages = |rows: &[Value]| sorted(rows.iter().map(|row| row["message"].to_string()).collect());
        assert_eq!(messages(&all), sorted(given.iter().map(Value::to_string).collect()));
        assert!(all.iter().all(|row| row["required_action"].is_string() && row["at"].is_string()), "{all:?}");
        assert!(
            all.windows(2).all(|pair| pair[0]["at"].as_str() >= pair[1]["at"].as_str()),
            "the newest first"
        );
        assert!(ask(&bob, json!({})).is_empty(), "another's is not told");
        for (kind, expected) in [("block", 3), ("warning", 3), ("error", 0), ("info", 0)] {
            let rows = ask(&ada, json!({"feedback_type": kind}));
            assert_eq!(rows.len(), expected, "{kind}");
            assert!(rows.iter().all(|row| row["type"] == kind), "{rows:?}");
        }
        assert_eq!(ask(&ada, json!({"limit": 1}))[0], all[0]);
        assert_eq!(
            (ask(&ada, json!({"limit": 2})).len(), ask(&ada, json!({"limit": 100})).len()),
            (2, count)
        );
        for bad in [
            json!({"limit": 0}),
            json!({"limit": 101}),
            json!({"limit": "5"}),
            json!({"feedback_type": "praise"}),
        ] {
            let mut arguments = json!({"operation": "feedback"});
            arguments.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
            desk.refused(&ada, "covibe_team", arguments);
        }
    });
}
