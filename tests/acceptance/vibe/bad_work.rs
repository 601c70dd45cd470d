//! What tasks and workstreams do not take: each is refused by its name, and the work stays as it was.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};

const TITLE: &str = "Retry failed uploads with exponential backoff";

fn with(mut arguments: Value, name: &str, value: Value) -> Value {
    arguments[name] = value;
    arguments
}

fn long(count: usize) -> Value {
    json!("ä".repeat(count))
}

fn files(count: usize) -> Value {
    (0..count).map(|number| format!("src/{number}.rs")).collect()
}

/// What is wrong with what any work is about, by its field.
fn bad_briefs() -> Vec<(&'static str, Value)> {
    let mut bad = vec![
        ("title", json!("")),
        ("title", json!(" ")),
        ("title", json!("\u{200b}\u{ad}")),
        ("title", json!("a\u{0}b")),
        ("title", json!(7)),
        ("title", long(301)),
        ("description", long(8001)),
        ("description", json!("a\u{0}b")),
        ("scope", long(8001)),
        ("scope", json!(["all"])),
        ("component", long(41)),
        ("action", json!("destroy")),
        ("target_files", files(51)),
        ("target_files", json!("src/a.rs")),
        ("target_files", json!([format!("src/{}", "a".repeat(509))])),
    ];
    for path in
        ["", "/etc/passwd", "~/a", "C:/a", "../a", "a/../b", "..", "./a", "a//b", "a/", "a\\b", "a\nb"]
    {
        bad.push(("target_files", json!(["src/good.rs", path])));
    }
    bad
}

/// Insists that it is refused by that name, as that call.
#[track_caller]
fn named(desk: &Desk<'_>, token: &str, tool: &str, arguments: &Value, field: &str) {
    let (told, usage) = desk.refused(token, tool, arguments.clone());
    let message = told["message"].as_str().unwrap();
    assert!(message.contains(field) && message.len() < 600, "{field} of {arguments}: {told}");
    let operation = arguments["operation"].as_str().unwrap();
    assert_eq!(usage["event"], format!("{tool}.{operation}"), "{usage}");
}

#[test]
fn a_planned_task_is_not_edited_into_what_no_task_may_be() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let task = desk.planned(&ada, "Retry uploads");
        let update = json!({"operation": "update", "task_id": task});
        for (field, bad) in bad_briefs().into_iter().chain([
            ("priority", json!("asap")),
            ("task_type", json!("epic")),
            ("status", json!("done")),
            ("workstream", json!("ws_aaaaaaaaaaaaaaaa")),
        ]) {
            // What is right beside it is not changed either.
            for good in [json!({}), json!({"description": "Thrice.", "priority": "high"})] {
                let mut call = with(update.clone(), field, bad.clone());
                let more = good.as_object().unwrap().clone().into_iter().filter(|(name, _)| name != field);
                call.as_object_mut().unwrap().extend(more);
                named(desk, &ada, "covibe_task", &call, field);
            }
        }
        for (field, value) in [
            ("title", long(300)),
            ("scope", long(8000)),
            ("component", long(40)),
            ("target_files", files(50)),
        ] {
            desk.done(&ada, "covibe_task", with(update.clone(), field, value));
        }
        assert_eq!(desk.row("tasks", &task)["component"], long(40));
    });
}

#[test]
fn a_workstream_is_held_to_the_same_bounds() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let planned =
            desk.done(&ada, "covibe_workstream", json!({"operation": "plan", "title": "Rework uploads"}));
        let active = desk.stream(&ada, "Draw charts");
        let of = |operation: &str, id: &Value| json!({"operation": operation, "workstream_id": id});
        let (planned, active) = (&planned["workstream_id"], &json!(active));
        let call = |operation: &str| json!({"operation": operation, "title": "New"});
        for operation in ["check", "plan", "start"] {
            for (field, bad) in bad_briefs() {
                named(desk, &ada, "covibe_workstream", &with(call(operation), field, bad), field);
            }
        }
        let update = with(of("update", active), "status", json!("blocked"));
        let complete = with(of("complete", active), "result_summary", json!("x"));
        let cancel = with(of("cancel", planned), "reason", json!("x"));
        for (good, field, bad) in [
            (&call("plan"), "idempotency_key", long(129)),
            (&call("plan"), "idempotency_key", json!("")),
            (&call("plan"), "task_type", json!("bug")),
            (&call("plan"), "confirm", json!("yes")),
            (&update, "status", json!("cancelled")),
            (&update, "reason", long(2001)),
            (&update, "workstream_id", json!("task_aaaaaaaaaaaaaaaa")),
            (&complete, "result_summary", long(8001)),
            (&complete, "result_summary", json!(" ")),
            (&complete, "summary", long(8001)),
            (&complete, "confirm_open_tasks", json!("yes")),
            (&cancel, "reason", long(2001)),
            (&cancel, "reason", json!(" ")),
        ] {
            named(desk, &ada, "covibe_workstream", &with(good.clone(), field, bad), field);
        }
        desk.done(&ada, "covibe_workstream", with(call("plan"), "title", long(300)));
        desk.done(&ada, "covibe_workstream", with(update.clone(), "reason", long(2000)));
        desk.done(&ada, "covibe_workstream", with(complete.clone(), "result_summary", long(8000)));
    });
}

#[test]
fn a_check_of_a_workstream_of_somebody_else_is_answered_like_one_of_nobody() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        desk.home.run(&["team", "init", "acme"]).ok();
        desk.home.run(&["team", "init", "other"]).ok();
        let zoe = desk.invite_as("zoe", &["--workspace", "other"], &[]);
        let theirs = desk.stream(&bob, "Rework uploads");
        let afar = desk.stream(&zoe, "Rework downloads");
        for tool in ["covibe_task", "covibe_workstream"] {
            let check = |id: &str| {
                let mut check = json!({"operation": "check", "title": "Rework uploads", "workstream_id": id});
                if tool == "covibe_task" {
                    check["task_type"] = json!("bug");
                }
                desk.refused(&ada, tool, check).0.to_string()
            };
            let nobodys = "ws_aaaaaaaaaaaaaaaa";
            for foreign in [&theirs, &afar] {
                assert_eq!(check(foreign).replace(foreign.as_str(), nobodys), check(nobodys), "{tool}");
            }
        }
    });
}

#[test]
fn an_operation_that_a_tool_does_not_have_is_refused_with_those_it_has() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (tool, selector, own) in [
            ("covibe_task", "operation", "start_planned"),
            ("covibe_workstream", "operation", "start_planned"),
            ("covibe_session", "operation", "publish_context"),
            ("covibe_team", "operation", "audit_parallel_work"),
            ("covibe_coordination", "operation", "check_conflicts"),
            ("covibe_warning", "operation", "dismiss"),
            ("covibe_note", "kind", "decision"),
        ] {
            let shouted = own.to_uppercase();
            for bad in [json!("destroy"), json!(shouted), json!(""), json!(null), json!(7), json!([own])] {
                let (told, usage) =
                    desk.refused(&ada, tool, json!({selector: bad, "title": "x", "text": "x"}));
                let message = told["message"].as_str().unwrap();
                assert!(message.contains(selector), "{bad} of {tool}: {told}");
                assert!(!bad.is_string() || message.contains(own), "{bad} of {tool}: {told}");
                assert_eq!(usage["event"], tool, "no word of a stranger's is kept as the name of a call");
            }
            let (told, _) = desk.refused(&ada, tool, json!({}));
            assert!(told["message"].as_str().unwrap().contains(selector), "{told}");
        }
    });
}

#[test]
fn verdicts_that_name_nothing_too_few_one_twice_or_too_many_open_no_start() {
    on_both(|desk| {
        let (ada, bob, eve) = (desk.invite("ada"), desk.invite("bob"), desk.invite("eve"));
        for (tool, title, field) in [
            ("covibe_task", TITLE, "planned_task_id"),
            ("covibe_workstream", "Translate the invoice templates to Polish", "workstream_id"),
        ] {
            let work = |operation: &str| {
                let work = json!({"operation": operation, "title": title});
                if tool == "covibe_task" { with(work, "task_type", json!("bug")) } else { work }
            };
            desk.call(&ada, tool, work("plan"));
            desk.call(&bob, tool, work("plan"));
            unopened(desk, &eve, tool, &work("check"), &work("start"));
            let mine =
                desk.call(&eve, tool, work("plan"))["data"][field.trim_start_matches("planned_")].clone();
            let check =
                if tool == "covibe_task" { with(work("check"), field, mine.clone()) } else { work("check") };
            let planned = with(json!({"operation": "start_planned"}), field, mine);
            let all = unopened(desk, &eve, tool, &check, &planned);
            desk.done(&eve, tool, all);
        }
    });
}

/// Tries a start with verdicts that do not do, none of which begins anything; the same with verdicts that do.
fn unopened(desk: &Desk<'_>, token: &str, tool: &str, check: &Value, start: &Value) -> Value {
    let data = desk.call(token, tool, check.clone())["data"].clone();
    let ids: Vec<String> =
        data["candidates"].as_array().unwrap().iter().map(|found| word(found, "id")).collect();
    assert_eq!(ids.len(), 2, "{data}");
    let on = |id: &str| json!({"candidate_id": id, "same_scope": false, "reason": "Another queue."});
    let judged = |verdicts: Vec<Value>| {
        with(with(start.clone(), "check_id", data["check_id"].clone()), "scope_verdict", json!(verdicts))
    };
    let all = || ids.iter().map(|id| on(id)).collect::<Vec<_>>();
    let (mut unknown, mut twice) = (all(), all());
    unknown.push(on("task_aaaaaaaaaaaaaaaa"));
    twice.push(on(&ids[0]));
    let many = (0..51).map(|number| on(&format!("task_{number}"))).collect();
    let bare = vec![json!({"candidate_id": ids[0], "same_scope": false})];
    for bad in [unknown, twice, many, bare, vec![json!({"same_scope": true})]] {
        named(desk, token, tool, &judged(bad), "scope_verdict");
    }
    for (few, missing) in [(vec![], &ids[..]), (vec![on(&ids[0])], &ids[1..])] {
        let left = desk.watched(token, tool, judged(few));
        let begun = left.of("tasks").len() + left.of("workstreams").len();
        assert_eq!((left.status(), begun), ("blocked", 0), "{left:?}");
        assert_eq!(left.envelope["data"]["missing_verdicts"], json!(missing), "{left:?}");
    }
    judged(all())
}
