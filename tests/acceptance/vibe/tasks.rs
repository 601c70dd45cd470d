//! The life of a task: planned or started after a look at what others do, changed, finished with a result, or given up.

use serde_json::{Value, json};

use super::desk::{on_both, payload, word};

fn titled(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "feature"})
}

/// VIBE-133: without a recent check of the same title a start is blocked, and told what to do.
/// VIBE-82, VIBE-134, VIBE-136: what is planned is not active, and is started by its owner after a check of it.
#[test]
fn work_is_checked_before_it_starts() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let blocked = desk.watched(&ada, "covibe_task", titled("start", "Retry uploads"));
        assert_eq!((blocked.status(), blocked.of("tasks").len()), ("blocked", 0));
        let action = &blocked.envelope["feedback"]["required_action"];
        assert!(action.as_str().unwrap().contains("\"check\""), "{action}");
        desk.done(&bob, "covibe_task", titled("check", "Retry uploads"));
        desk.done(&ada, "covibe_task", titled("check", "Retry downloads"));
        let still = desk.call(&ada, "covibe_task", titled("start", "Retry uploads"));
        assert_eq!(still["status"], "blocked", "the check was another's, or of another title");
        desk.done(&ada, "covibe_task", titled("check", "retry  uploads."));
        let left = desk.watched(&ada, "covibe_task", titled("start", "Retry uploads"));
        assert_eq!((left.status(), &left.one("tasks")["status"]), ("ok", &json!("active")));

        let plan = desk.watched(&ada, "covibe_task", titled("plan", "Draw a chart"));
        let row = plan.one("tasks");
        assert_eq!(
            (plan.status(), &row["status"], &row["started_at"]),
            ("ok", &json!("planned"), &json!(null))
        );
        let id = word(row, "id");
        let start = json!({"operation": "start_planned", "planned_task_id": id});
        assert_eq!(desk.call(&ada, "covibe_task", start.clone())["status"], "blocked");
        let mut check = titled("check", "Draw a chart");
        check["planned_task_id"] = json!(id);
        desk.refused(&bob, "covibe_task", check.clone());
        desk.done(&ada, "covibe_task", check);
        desk.refused(&bob, "covibe_task", start.clone());
        let left = desk.watched(&ada, "covibe_task", start.clone());
        assert_eq!((left.status(), &left.one("tasks")["status"]), ("ok", &json!("active")));
        assert!(left.one("tasks")["started_at"].is_i64());
        let again = desk.watched(&ada, "covibe_task", start);
        assert_eq!((again.status(), again.of("tasks").len()), ("warning", 0));
    });
}

/// VIBE-139, VIBE-140: `check`, `plan` and `start` require a type of the seven, and there is none by default.
/// VIBE-141, VIBE-142: `start_planned` needs none, and the owner changes it while the task is planned.
#[test]
fn a_task_says_of_which_type_it_is() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        for operation in ["check", "plan", "start"] {
            for bad in [json!(null), json!("epic"), json!("Feature"), json!(""), json!(7), json!(["bug"])] {
                let mut arguments = json!({"operation": operation, "title": "Retry uploads"});
                if !bad.is_null() {
                    arguments["task_type"] = bad;
                }
                let (told, _) = desk.refused(&ada, "covibe_task", arguments);
                assert!(told["message"].as_str().unwrap().contains("task_type"), "{told}");
            }
        }
        for kind in ["feature", "bug", "refactor", "chore", "docs", "test", "spike"] {
            let title = format!("A {kind}");
            for operation in ["check", "plan", "start"] {
                desk.done(
                    &ada,
                    "covibe_task",
                    json!({"operation": operation, "title": title, "task_type": kind}),
                );
            }
        }
        let id = desk.planned(&ada, "Draw a chart");
        let update = json!({"operation": "update", "task_id": id, "task_type": "spike"});
        desk.refused(&bob, "covibe_task", update.clone());
        desk.done(&ada, "covibe_task", update);
        assert_eq!(desk.row("tasks", &id)["task_type"], "spike");
        let mut check = titled("check", "Draw a chart");
        check["planned_task_id"] = json!(id);
        desk.done(&ada, "covibe_task", check);
        // It says by now of which type it is: another one that comes with the start changes nothing.
        let start = json!({"operation": "start_planned", "planned_task_id": id, "task_type": "bug"});
        desk.done(&ada, "covibe_task", start);
        let row = desk.row("tasks", &id);
        assert_eq!((&row["task_type"], &row["status"]), (&json!("spike"), &json!("active")));
    });
}

/// VIBE-76: an update of started work says active or blocked, and nothing else. VIBE-93: it is finished by `complete`, with a
/// result.
#[test]
fn started_work_is_active_or_blocked_until_it_is_completed() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let (task, _) = desk.started(&ada, "Retry uploads");
        let stream = desk.stream(&ada, "Rework uploads");
        for (tool, field, id, book) in [
            ("covibe_task", "task_id", &task, "tasks"),
            ("covibe_workstream", "workstream_id", &stream, "workstreams"),
        ] {
            for status in ["done", "planned", "cancelled", "ACTIVE", ""] {
                desk.refused(&ada, tool, json!({"operation": "update", field: id, "status": status}));
            }
            desk.refused(&ada, tool, json!({"operation": "update", field: id}));
            let event = format!("{}.updated", tool.trim_start_matches("covibe_"));
            for (status, reason) in [("blocked", json!("No key")), ("active", json!(null))] {
                let update = json!({"operation": "update", field: id, "status": status, "reason": "No key"});
                let left = desk.watched(&ada, tool, update.clone());
                assert_eq!((left.status(), left.events()), ("ok", vec![event.as_str()]));
                let row = left.one(book);
                assert_eq!((&row["status"], &row["reason"]), (&json!(status), &reason));
                let same = desk.watched(&ada, tool, update);
                assert_eq!((same.status(), same.events()), ("ok", vec![]), "it stood so already");
            }
            for result in [json!(null), json!(""), json!("  ")] {
                let mut complete = json!({"operation": "complete", field: id, "summary": "done"});
                if !result.is_null() {
                    complete["result_summary"] = result;
                }
                desk.refused(&ada, tool, complete);
            }
            desk.done(&ada, tool, json!({"operation": "complete", field: id, "result_summary": "It works."}));
            assert_eq!(desk.row(book, id)["status"], "done");
        }
    });
}

/// VIBE-77, VIBE-78, VIBE-79: the owner edits a planned task, which stays planned, with an event.
#[test]
fn a_planned_task_is_edited_and_stays_planned() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let id = desk.planned(&ada, "Draw a chart");
        let edits = json!({"title": "Draw two charts", "description": "Both.", "scope": "The page", "action": "create",
            "component": "ui", "priority": "high", "task_type": "refactor"});
        let mut update = json!({"operation": "update", "task_id": id});
        update.as_object_mut().unwrap().extend(edits.as_object().unwrap().clone());
        desk.refused(&bob, "covibe_task", update.clone());
        let left = desk.watched(&ada, "covibe_task", update);
        assert_eq!((left.status(), left.events()), ("ok", vec!["task.planned_updated"]));
        let row = left.one("tasks");
        for (name, value) in edits.as_object().unwrap() {
            assert_eq!(&row[name], value, "{name}");
        }
        assert_eq!(row["status"], "planned");
        assert_eq!(left.one("work_events")["status"], "planned");
        assert_eq!(payload(left.one("work_events"))["fields"].as_array().unwrap().len(), 7);
        // Each alone, and what is not said stays.
        for (name, value) in
            [("title", "Draw it"), ("description", ""), ("priority", "low"), ("task_type", "bug")]
        {
            let left =
                desk.watched(&ada, "covibe_task", json!({"operation": "update", "task_id": id, name: value}));
            assert_eq!((&left.one("tasks")[name], left.status()), (&json!(value), "ok"), "{left:?}");
            assert_eq!(left.one("tasks")["component"], "ui");
        }
        let active = json!({"operation": "update", "task_id": id, "status": "active"});
        desk.refused(&ada, "covibe_task", active);
    });
}

/// VIBE-81: to edit any field of started work is a warning that names it, with a status or without, and nothing changes.
#[test]
fn no_field_of_started_work_is_edited() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let (task, _) = desk.started(&ada, "Retry uploads");
        let stream = desk.stream(&ada, "Rework uploads");
        let plan = json!({"operation": "plan", "title": "Rework downloads"});
        let planned = word(&desk.done(&ada, "covibe_workstream", plan), "workstream_id");
        let common = [
            ("title", json!("Another")),
            ("description", json!("Another")),
            ("scope", json!("Another")),
            ("action", json!("fix")),
            ("component", json!("server")),
            ("target_files", json!(["src/a.rs"])),
        ];
        let of_tasks = [("priority", json!("low")), ("task_type", json!("bug"))];
        let streams: Vec<_> = common
            .iter()
            .map(|(field, value)| ("covibe_workstream", "workstream_id", &stream, field, value))
            .collect();
        let tasks = common
            .iter()
            .chain(&of_tasks)
            .map(|(field, value)| ("covibe_task", "task_id", &task, field, value));
        for (tool, named, id, field, value) in tasks.chain(streams) {
            for status in [None, Some("blocked")] {
                let mut update = json!({"operation": "update", named: id, *field: value});
                if let Some(status) = status {
                    update["status"] = json!(status);
                }
                let left = desk.watched(&ada, tool, update.clone());
                assert_eq!((left.status(), left.events()), ("warning", vec![]), "{update}");
                assert!(left.of("tasks").is_empty() && left.of("workstreams").is_empty(), "{left:?}");
                let said = left.envelope["message"].as_str().unwrap();
                assert!(said.contains(field) && said.contains("only while it is planned"), "{said}");
            }
        }
        // A planned workstream is not edited either: it is planned anew. And an update that says nothing is none.
        let (told, _) = desk.refused(
            &ada,
            "covibe_workstream",
            json!({"operation": "update", "workstream_id": planned, "scope": "All"}),
        );
        assert_eq!(told["feedback"]["required_action"], "Cancel it, and plan what you want instead.");
        for (tool, named, id) in
            [("covibe_task", "task_id", &task), ("covibe_workstream", "workstream_id", &stream)]
        {
            let (told, _) = desk.refused(&ada, tool, json!({"operation": "update", named: id}));
            assert_eq!(told["data"]["field"], "status", "{told}");
        }
    });
}

/// VIBE-92: what is done is not updated or reopened. VIBE-94: `summary` is optional, and the result doubles as it.
/// VIBE-100: to complete it again is a warning, without a second event.
#[test]
fn what_is_done_stays_done() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let (task, container) = desk.started(&ada, "Retry uploads");
        let stream = desk.stream(&ada, "Rework uploads");
        for (tool, field, id, book) in [
            ("covibe_task", "task_id", &task, "tasks"),
            ("covibe_workstream", "workstream_id", &stream, "workstreams"),
        ] {
            let mut complete = json!({"operation": "complete", field: id, "result_summary": "They retry."});
            let left = desk.watched(&ada, tool, complete.clone());
            let event = format!("{}.completed", tool.trim_start_matches("covibe_"));
            assert!(left.status() == "ok" && left.events().contains(&event.as_str()), "{left:?}");
            assert_eq!(desk.row(book, id)["result_summary"], "They retry.");
            complete["result_summary"] = json!("Something else");
            complete["summary"] = json!("And more");
            let again = desk.watched(&ada, tool, complete);
            assert_eq!((again.status(), again.events(), again.of(book).len()), ("warning", vec![], 0));
            assert_eq!(desk.row(book, id)["result_summary"], "They retry.");
            for status in ["active", "blocked"] {
                desk.refused(&ada, tool, json!({"operation": "update", field: id, "status": status}));
            }
            desk.refused(&ada, tool, json!({"operation": "cancel", field: id, "reason": "x"}));
        }
        desk.refused(
            &ada,
            "covibe_task",
            json!({"operation": "update", "task_id": task, "title": "Another"}),
        );
        desk.refused(&ada, "covibe_task", json!({"operation": "start_planned", "planned_task_id": task}));
        desk.refused(
            &ada,
            "covibe_workstream",
            json!({"operation": "start_planned", "workstream_id": stream}),
        );
        assert_eq!(desk.row("workstreams", &container)["status"], "done");
    });
}

/// VIBE-98: planned, active and blocked tasks are given up by their owner, with a reason.
#[test]
fn a_task_is_cancelled_for_a_reason() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (blocked, _) = desk.started(&ada, "Retry downloads");
        desk.done(
            &ada,
            "covibe_task",
            json!({"operation": "update", "task_id": blocked, "status": "blocked"}),
        );
        for id in [desk.planned(&ada, "Draw a chart"), desk.started(&ada, "Retry uploads").0, blocked] {
            let cancel = json!({"operation": "cancel", "task_id": id, "reason": "Nobody wants it"});
            for bad in [
                json!({"operation": "cancel", "task_id": id}),
                json!({"operation": "cancel", "task_id": id, "reason": " "}),
            ] {
                desk.refused(&ada, "covibe_task", bad);
            }
            desk.refused(&bob, "covibe_task", cancel.clone());
            let left = desk.watched(&ada, "covibe_task", cancel.clone());
            assert!(left.status() == "ok" && left.events().contains(&"task.cancelled"), "{left:?}");
            let row = left.one("tasks");
            assert_eq!((&row["status"], &row["reason"]), (&json!("cancelled"), &json!("Nobody wants it")));
            let again = desk.watched(&ada, "covibe_task", cancel);
            assert_eq!((again.status(), again.events()), ("warning", vec![]));
            desk.refused(
                &ada,
                "covibe_task",
                json!({"operation": "complete", "task_id": id, "result_summary": "x"}),
            );
            desk.refused(
                &ada,
                "covibe_task",
                json!({"operation": "update", "task_id": id, "status": "active"}),
            );
        }
    });
}

/// VIBE-145: a task names at most 50 files, relative to the repository, which are kept with it.
#[test]
fn a_task_names_the_files_it_means_to_touch() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (operation, title) in
            [("check", "Weigh the piano"), ("plan", "Retry uploads"), ("start", "Weigh the piano")]
        {
            let files = |count: usize| {
                (0..count).map(|number| format!("{operation}/{number}.rs")).collect::<Vec<_>>()
            };
            let work = |files: Value| {
                let mut work = titled(operation, title);
                work["target_files"] = files;
                work
            };
            let left = desk.watched(&ada, "covibe_task", work(json!(files(50))));
            assert_eq!((left.status(), &left.envelope["data"]["file_conflicts"]), ("ok", &json!([])));
            if operation != "check" {
                let kept: Vec<String> =
                    serde_json::from_str(left.one("tasks")["target_files"].as_str().unwrap()).unwrap();
                assert_eq!(kept, files(50));
            }
            let (told, _) = desk.refused(&ada, "covibe_task", work(json!(files(51))));
            assert!(told["message"].as_str().unwrap().contains("target_files"), "{told}");
            let long = "x".repeat(513);
            for bad in [
                "/etc/passwd",
                "../a",
                "a/../b",
                "a/..",
                "./a",
                "a//b",
                "a/",
                "~/a",
                "C:/a",
                "a\\b",
                "",
                "a\u{0}b",
                &long,
            ] {
                let (told, _) = desk.refused(&ada, "covibe_task", work(json!(["src/good.rs", bad])));
                assert!(told["message"].as_str().unwrap().contains("target_files"), "{bad:?}: {told}");
            }
            desk.refused(&ada, "covibe_task", work(json!("src/a.rs")));
        }
    });
}
