//! Work that overlaps: what a look finds, what is told of it, and which of it keeps a start.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, payload, word};

const TITLE: &str = "Retry failed uploads with exponential backoff";

fn task(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "feature"})
}

fn with(mut call: Value, more: &Value) -> Value {
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

/// The candidates of what was told, by id.
fn ids(data: &Value, list: &str) -> Vec<String> {
    data[list].as_array().unwrap().iter().map(|found| word(found, "id")).collect()
}

/// A check of a title that somebody works on; what it tells.
#[track_caller]
fn warned(desk: &Desk<'_>, token: &str, call: Value) -> Value {
    let told = desk.call(token, "covibe_task", call);
    assert_eq!(
        (&told["status"], &told["data"]["requires_verdict"]),
        (&json!("warning"), &json!(true)),
        "{told}"
    );
    told["data"].clone()
}

/// VIBE-137: a check compares with planned, active, blocked and recently completed work.
/// VIBE-138: what was completed more than 14 days ago is kept and not told.
/// VIBE-168, VIBE-143: an escalated check gives its id, asks for a verdict, and shows each candidate with score, reason and type.
#[test]
fn a_check_finds_what_is_open_and_what_was_done_lately() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let first = desk.planned(&ada, TITLE);
        let check =
            || desk.call(&bob, "covibe_task", task("check", "Exponential backoff to retry failed uploads"));
        for (status, operation) in
            [("planned", None), ("active", Some("start_planned")), ("blocked", Some("update"))]
        {
            match operation {
                Some("start_planned") => {
                    desk.done(
                        &ada,
                        "covibe_task",
                        with(task("check", TITLE), &json!({"planned_task_id": first})),
                    );
                    let start = json!({"operation": "start_planned", "planned_task_id": first});
                    desk.done(&ada, "covibe_task", start);
                }
                Some(_) => {
                    let update = json!({"operation": "update", "task_id": first, "status": "blocked"});
                    desk.done(&ada, "covibe_task", update);
                }
                None => {}
            }
            let told = check();
            let data = &told["data"];
            assert_eq!(
                (&told["status"], &data["requires_verdict"]),
                (&json!("warning"), &json!(true)),
                "{told}"
            );
            assert!(
                word(data, "check_id").starts_with("chk_") && word(data, "warning_id").starts_with("warn_")
            );
            let candidate = &data["candidates"][0];
            let said =
                ["id", "type", "title", "owner", "status", "task_type"].map(|name| word(candidate, name));
            assert_eq!(said, [first.as_str(), "task", TITLE, "ada", status, "feature"]);
            assert!(candidate["score"].as_f64().unwrap() >= 0.6, "{candidate}");
            assert!(word(candidate, "reason").contains("uploads"), "{candidate}");
        }
        let complete = json!({"operation": "complete", "task_id": first, "result_summary": "It retries."});
        desk.done(&ada, "covibe_task", complete);
        let told = check();
        assert_eq!((&told["status"], ids(&told["data"], "candidates")), (&json!("ok"), vec![]), "{told}");
        assert_eq!(told["data"]["matches"][0]["status"], "done", "{told}");
        let fortnight = 14 * 24 * 60 * 60 * 1000;
        for (ago, told) in [(fortnight - 60_000, 1), (fortnight + 60_000, 0)] {
            let now = desk.row("usage_events", &newest(desk))["at"].as_i64().unwrap();
            desk.meddle(&format!(
                "UPDATE tasks SET ended_at = {}, turn = (SELECT turn + 1 FROM workspaces WHERE id = tasks.workspace_id) WHERE id = '{first}'",
                now - ago
            ));
            desk.meddle("UPDATE workspaces SET turn = turn + 1");
            assert_eq!(ids(&check()["data"], "matches").len(), told, "{ago} ms ago");
        }
        assert_eq!(desk.row("tasks", &first)["status"], "done", "it is kept");
    });
}

/// The id of the newest usage event.
fn newest(desk: &Desk<'_>) -> String {
    let rows = desk.book("usage_events");
    word(rows.iter().max_by_key(|row| row["at"].as_i64()).unwrap(), "id")
}

/// VIBE-131, VIBE-132: a start that may be a duplicate is blocked with these words, the warning and its matches.
/// VIBE-169: it needs the matching `check_id` and a verdict on every candidate.
/// VIBE-170: a confirmed duplicate needs a reason too.
/// VIBE-184: what was judged is written down, and whether it was a duplicate.
#[test]
fn a_start_is_opened_by_a_verdict_on_every_candidate() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (theirs, _) = desk.started(&ada, TITLE);
        let data = warned(desk, &bob, task("check", TITLE));
        let (check, warning) = (word(&data, "check_id"), word(&data, "warning_id"));
        let left = desk.watched(&bob, "covibe_task", task("start", TITLE));
        let told = &left.envelope;
        assert_eq!(
            (told["status"].as_str(), told["message"].as_str()),
            (Some("blocked"), Some("Possible duplicate work found."))
        );
        let action = "Ask the developer for confirmation and a reason before starting.";
        assert_eq!(told["feedback"], json!({"type": "block", "required_action": action}));
        assert_eq!(
            (&told["data"]["warning_id"], ids(&told["data"], "matches")),
            (&json!(warning), vec![theirs.clone()])
        );
        assert!(left.of("tasks").is_empty() && left.of("agent_feedback_events").len() == 1, "{left:?}");

        let verdict =
            |same: bool| json!([{"candidate_id": theirs, "same_scope": same, "reason": "Looked at it."}]);
        let start = |more: Value| desk.watched(&bob, "covibe_task", with(task("start", TITLE), &more));
        for short in [
            json!({"scope_verdict": verdict(false)}),
            json!({"check_id": "chk_aaaaaaaaaaaaaaaa", "scope_verdict": verdict(false)}),
            json!({"check_id": check, "scope_verdict": []}),
            json!({"check_id": check, "scope_verdict": verdict(true)}),
            json!({"check_id": check, "confirmation_reason": "We want it."}),
        ] {
            let left = start(short.clone());
            assert_eq!((left.status(), left.of("tasks").len()), ("blocked", 0), "{short}: {left:?}");
        }
        for bad in [
            json!([{"candidate_id": "task_aaaaaaaaaaaaaaaa", "same_scope": false, "reason": "x"}]),
            json!([{"candidate_id": theirs, "same_scope": false, "reason": "x"}, {"candidate_id": theirs, "same_scope": true}]),
            json!([{"candidate_id": theirs, "same_scope": false}]),
            json!([{"candidate_id": theirs, "same_scope": false, "reason": " "}]),
            json!([{"candidate_id": theirs}]),
            json!([{"candidate_id": theirs, "same_scope": "no"}]),
            json!("no"),
        ] {
            let (told, _) = desk.refused(
                &bob,
                "covibe_task",
                with(task("start", TITLE), &json!({"check_id": check, "scope_verdict": bad})),
            );
            assert!(word(&told, "message").contains("scope_verdict"), "{told}");
        }
        let left = start(json!({"check_id": check, "scope_verdict": verdict(false)}));
        assert_eq!((left.status(), left.one("tasks")["status"].as_str()), ("ok", Some("active")), "{left:?}");
        let judged = left.of("work_events").iter().find(|row| row["event"] == "scope.judged").unwrap();
        assert_eq!(payload(judged)["duplicate"], false);
        assert_eq!(
            (
                left.one("scope_verdicts")["same_scope"].as_i64(),
                left.one("overlap_warnings")["status"].as_str()
            ),
            (Some(0), Some("judged"))
        );

        // Another of the same work, confirmed as such.
        let eve = desk.invite("eve");
        let data = warned(desk, &eve, task("check", TITLE));
        let verdicts: Vec<Value> = ids(&data, "candidates")
            .iter()
            .map(|id| json!({"candidate_id": id, "same_scope": true}))
            .collect();
        assert_eq!(verdicts.len(), 2, "{data}");
        let call =
            with(task("start", TITLE), &json!({"check_id": data["check_id"], "scope_verdict": verdicts}));
        assert_eq!(desk.call(&eve, "covibe_task", call.clone())["status"], "blocked", "no reason is given");
        let left = desk.watched(
            &eve,
            "covibe_task",
            with(call, &json!({"confirmation_reason": "A spike beside it."})),
        );
        assert_eq!(left.status(), "ok", "{left:?}");
        let judged = left.of("work_events").iter().find(|row| row["event"] == "scope.judged").unwrap();
        assert_eq!(
            (&payload(judged)["duplicate"], &payload(judged)["confirmation_reason"]),
            (&json!(true), &json!("A spike beside it."))
        );
    });
}

/// VIBE-165, VIBE-166: the older form needs the exact warning of the newest check and a reason, and is blocked with the matches else.
/// VIBE-162: for planned work as for a direct start.
#[test]
fn the_older_form_confirms_the_newest_warning_with_a_reason() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (theirs, _) = desk.started(&ada, TITLE);
        let plan = desk.call(&bob, "covibe_task", task("plan", TITLE));
        let mine = word(&plan["data"], "task_id");
        let check = with(task("check", TITLE), &json!({"planned_task_id": mine}));
        let stale = word(&warned(desk, &bob, check.clone()), "warning_id");
        let newest = word(&warned(desk, &bob, check), "warning_id");
        let start = |more: Value| {
            let start = json!({"operation": "start_planned", "planned_task_id": mine});
            desk.watched(&bob, "covibe_task", with(start, &more))
        };
        for short in [
            json!({}),
            json!({"warning_id": newest}),
            json!({"confirmation_reason": "Because."}),
            json!({"warning_id": stale, "confirmation_reason": "Because."}),
            json!({"warning_id": "warn_aaaaaaaaaaaaaaaa", "confirmation_reason": "Because."}),
        ] {
            let left = start(short.clone());
            assert_eq!((left.status(), left.of("tasks").len()), ("blocked", 0), "{short}: {left:?}");
            assert_eq!(ids(&left.envelope["data"], "matches"), [theirs.as_str()], "{short}");
        }
        let left = start(json!({"warning_id": newest, "confirmation_reason": "Because."}));
        assert_eq!((left.status(), left.one("tasks")["status"].as_str()), ("ok", Some("active")), "{left:?}");
        assert!(left.events().contains(&"warning.confirmed"), "{left:?}");
        assert_eq!(desk.row("overlap_warnings", &newest)["status"], "confirmed");
        assert_eq!(desk.row("overlap_warnings", &stale)["status"], "superseded");
    });
}

/// VIBE-167: a warning about work that is over by the time of the start dismisses itself.
/// VIBE-171, VIBE-172: a weak match is disclosed by the check and never keeps a start.
#[test]
fn weak_matches_and_work_that_is_over_keep_nobody_from_starting() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (theirs, _) = desk.started(&ada, TITLE);
        let warning = word(&warned(desk, &bob, task("check", TITLE)), "warning_id");
        desk.done(
            &ada,
            "covibe_task",
            json!({"operation": "cancel", "task_id": theirs, "reason": "Not now."}),
        );
        let left = desk.watched(&bob, "covibe_task", task("start", TITLE));
        assert_eq!((left.status(), left.of("tasks").len()), ("ok", 1), "{left:?}");
        assert!(left.events().contains(&"warning.dismissed"), "{left:?}");
        assert_eq!(desk.row("overlap_warnings", &warning)["status"], "dismissed");

        let weak = "Show how many uploads failed in the status bar";
        let told = desk.call(&ada, "covibe_task", task("check", weak));
        let data = &told["data"];
        assert_eq!(
            (&told["status"], &data["requires_verdict"], &data["candidates"]),
            (&json!("ok"), &json!(false), &json!([])),
            "{told}"
        );
        assert!(word(data, "warning_id").starts_with("warn_"), "{told}");
        let score = data["matches"][0]["score"].as_f64().unwrap();
        assert!(
            (0.2..0.6).contains(&score) && word(&data["matches"][0], "reason").contains("upload"),
            "{told}"
        );
        let left = desk.watched(&ada, "covibe_task", task("start", weak));
        assert_eq!((left.status(), left.of("tasks").len()), ("ok", 1), "{left:?}");
        assert_eq!(left.envelope["data"]["warning_id"], data["warning_id"]);
    });
}

/// VIBE-135: a plan that overlaps is made, with a warning that is stored.
/// VIBE-80: what a planned task is found by follows its title, its scope and its description.
/// VIBE-144: its type decides nothing.
/// VIBE-48: a warning is dismissed by whom it was given, with a reason, and opens no start.
#[test]
fn a_plan_that_overlaps_is_made_with_a_warning() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        desk.started(&ada, TITLE);
        let mut scores = Vec::new();
        for kind in ["feature", "bug", "refactor", "chore", "docs", "test", "spike"] {
            let data = warned(desk, &bob, json!({"operation": "check", "title": TITLE, "task_type": kind}));
            scores.push(data["candidates"][0]["score"].clone());
        }
        assert!(scores.iter().all(|score| *score == scores[0]), "{scores:?}");
        let left = desk.watched(&bob, "covibe_task", task("plan", TITLE));
        assert_eq!(
            (left.status(), left.one("tasks")["status"].as_str()),
            ("warning", Some("planned")),
            "{left:?}"
        );
        let mine = word(left.one("tasks"), "id");
        let warning = word(&left.envelope["data"], "warning_id");
        assert_eq!(desk.row("overlap_warnings", &warning)["status"], "open");
        let kept = payload(left.one("agent_feedback_events"));
        assert_eq!(
            (left.one("agent_feedback_events")["feedback_type"].as_str(), &kept["warning_id"]),
            (Some("warning"), &json!(warning))
        );

        let dismiss = |reason: &str| json!({"operation": "dismiss", "warning_id": warning, "reason": reason});
        desk.refused(&ada, "covibe_warning", dismiss("It is not mine."));
        desk.refused(&bob, "covibe_warning", dismiss(" "));
        let left = desk.watched(&bob, "covibe_warning", dismiss("Ours is another part."));
        assert_eq!((left.status(), left.events()), ("ok", vec!["warning.dismissed"]), "{left:?}");
        let again = desk.watched(&bob, "covibe_warning", dismiss("Once more."));
        assert_eq!((again.status(), again.of("work_events").len()), ("warning", 0), "{again:?}");
        desk.call(&bob, "covibe_task", with(task("check", TITLE), &json!({"planned_task_id": mine})));
        let start = json!({"operation": "start_planned", "planned_task_id": mine});
        assert_eq!(desk.call(&bob, "covibe_task", start)["status"], "blocked");

        let update = json!({"operation": "update", "task_id": mine, "title": "Translate the invoice templates to Polish"});
        desk.done(&bob, "covibe_task", update);
        let eve = desk.invite("eve");
        let data = warned(desk, &eve, task("check", "Translate invoice templates to Polish"));
        assert_eq!(ids(&data, "candidates"), [mine.as_str()]);
        assert!(!ids(&warned(desk, &eve, task("check", TITLE)), "matches").contains(&mine));
        for field in ["scope", "description"] {
            let look = task("check", &format!("Thermal printers swallow {field} receipts"));
            let before = desk.call(&eve, "covibe_task", look.clone());
            assert!(!ids(&before["data"], "matches").contains(&mine), "{before}");
            let text = format!("thermal printers swallow receipts of the {field}");
            desk.done(&bob, "covibe_task", json!({"operation": "update", "task_id": mine, field: text}));
            let after = desk.call(&eve, "covibe_task", look);
            assert!(ids(&after["data"], "matches").contains(&mine), "{field}: {after}");
            desk.done(
                &bob,
                "covibe_task",
                json!({"operation": "update", "task_id": mine, field: "nothing more"}),
            );
        }
    });
}
