//! Workstreams that overlap: what opens a start besides a verdict, and what keeps nobody.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};

const TOOL: &str = "covibe_workstream";
const TITLE: &str = "Migrate billing to the ledger service";

fn stream(operation: &str) -> Value {
    json!({"operation": operation, "title": TITLE})
}

fn with(mut call: Value, more: &Value) -> Value {
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

/// A check that has to be decided about; the id of its warning, and what it found.
#[track_caller]
fn warned(desk: &Desk<'_>, token: &str) -> (String, Vec<String>) {
    let told = desk.call(token, TOOL, stream("check"));
    assert_eq!(
        (&told["status"], &told["data"]["requires_verdict"]),
        (&json!("warning"), &json!(true)),
        "{told}"
    );
    (word(&told["data"], "warning_id"), found(&told["data"], "candidates"))
}

fn found(data: &Value, list: &str) -> Vec<String> {
    data[list].as_array().unwrap().iter().map(|found| word(found, "id")).collect()
}

/// VIBE-165: a workstream that may be the same as live work starts with the warning of the newest check and a reason.
/// VIBE-166: without them it is blocked, with the matches of that warning.
/// VIBE-162, VIBE-184: which writes `warning.confirmed`.
#[test]
fn a_workstream_starts_with_the_newest_warning_and_a_reason() {
    on_both(|desk| {
        let (ada, bob, eve) = (desk.invite("ada"), desk.invite("bob"), desk.invite("eve"));
        let theirs = desk.stream(&ada, TITLE);
        let planned = word(&desk.call(&bob, TOOL, stream("plan"))["data"], "workstream_id");
        let begun = json!({"operation": "start_planned", "workstream_id": planned});
        // Eve has none, and starts one; Bob starts what he planned.
        for (token, start) in [(&eve, stream("start")), (&bob, begun)] {
            let (stale, _) = warned(desk, token);
            let (newest, matches) = warned(desk, token);
            assert!(matches.len() == 2 && matches.contains(&theirs), "{matches:?}");
            for short in [
                json!({}),
                json!({"warning_id": newest}),
                json!({"warning_id": newest, "confirmation_reason": " "}),
                json!({"confirmation_reason": "Because."}),
                json!({"warning_id": stale, "confirmation_reason": "Because."}),
                json!({"warning_id": "warn_aaaaaaaaaaaaaaaa", "confirmation_reason": "Because."}),
            ] {
                let left = desk.watched(token, TOOL, with(start.clone(), &short));
                assert_eq!(
                    (left.status(), left.of("workstreams").len()),
                    ("blocked", 0),
                    "{short}: {left:?}"
                );
                assert_eq!(found(&left.envelope["data"], "matches"), matches, "{short}");
                assert_eq!(left.envelope["data"]["warning_id"], newest, "{short}");
            }
            let sure = json!({"warning_id": newest, "confirmation_reason": "Because."});
            let left = desk.watched(token, TOOL, with(start, &sure));
            assert_eq!(
                (left.status(), left.one("workstreams")["status"].as_str()),
                ("ok", Some("active")),
                "{left:?}"
            );
            let confirmed =
                left.of("work_events").iter().find(|row| row["event"] == "warning.confirmed").unwrap();
            assert_eq!(confirmed["subject_id"], newest, "{left:?}");
            assert!(!left.events().contains(&"scope.judged"), "{left:?}");
            let kept = desk.row("overlap_warnings", &newest);
            assert_eq!((&kept["status"], &kept["reason"]), (&json!("confirmed"), &json!("Because.")));
            assert_eq!(desk.row("overlap_warnings", &stale)["status"], "superseded");
        }
    });
}

/// VIBE-167: a warning about work that is done by the time of the start dismisses itself, and the start goes on.
#[test]
fn a_workstream_starts_when_all_it_was_warned_of_is_done() {
    on_both(|desk| {
        let (ada, bob, eve) = (desk.invite("ada"), desk.invite("bob"), desk.invite("eve"));
        let theirs = desk.stream(&ada, TITLE);
        let done = desk.insisted(&eve, json!({"title": TITLE, "task_type": "chore"}));
        let (warning, matches) = warned(desk, &bob);
        for id in [&theirs, &done] {
            assert!(matches.contains(id), "{matches:?}");
        }
        let over = |token: &str, tool: &str, field: &str, id: &str| {
            let complete = json!({"operation": "complete", field: id, "result_summary": "It is moved."});
            desk.done(token, tool, complete);
        };
        over(&ada, TOOL, "workstream_id", &theirs);
        let left = desk.watched(&bob, TOOL, stream("start"));
        assert_eq!(
            (left.status(), left.of("workstreams").len()),
            ("blocked", 0),
            "one is open still: {left:?}"
        );
        over(&eve, "covibe_task", "task_id", &done);
        let left = desk.watched(&bob, TOOL, stream("start"));
        assert_eq!(
            (left.status(), left.one("workstreams")["status"].as_str()),
            ("ok", Some("active")),
            "{left:?}"
        );
        assert_eq!(left.events(), ["warning.dismissed", "workstream.checked", "workstream.started"]);
        assert_eq!(desk.row("overlap_warnings", &warning)["status"], "dismissed");
        let mut told = found(&left.envelope["data"], "matches");
        told.sort();
        assert_eq!(told, [done, theirs], "what was done is told all the same: {left:?}");
    });
}
