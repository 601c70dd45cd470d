//! Workstreams: planned and started like tasks, closed with care, and made for tasks that name none.

use serde_json::{Value, json};

use super::desk::{Desk, homes, on_both, payload, word};

fn stream(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title})
}

fn task_in(operation: &str, title: &str, stream: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "feature", "workstream_id": stream})
}

/// VIBE-83, VIBE-84: a workstream is planned by its owner, not as a container, and started after a check of its title.
#[test]
fn a_planned_workstream_starts_after_a_check() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let plan = desk.watched(&ada, "covibe_workstream", stream("plan", "Rework uploads"));
        let row = plan.one("workstreams");
        assert_eq!(
            (plan.status(), &row["status"], &row["auto_created"]),
            ("ok", &json!("planned"), &json!(0))
        );
        let id = word(row, "id");
        let start = json!({"operation": "start_planned", "workstream_id": id});
        assert_eq!(desk.call(&ada, "covibe_workstream", start.clone())["status"], "blocked");
        desk.done(&ada, "covibe_workstream", stream("check", "Rework downloads"));
        let still = desk.watched(&ada, "covibe_workstream", start.clone());
        assert_eq!((still.status(), still.of("workstreams").len()), ("blocked", 0));
        desk.done(&ada, "covibe_workstream", stream("check", "Rework uploads"));
        desk.refused(&bob, "covibe_workstream", start.clone());
        let left = desk.watched(&ada, "covibe_workstream", start);
        assert_eq!((left.status(), &left.one("workstreams")["status"]), ("ok", &json!("active")));
        assert_eq!(left.events(), ["workstream.checked", "workstream.start_planned"]);
    });
}

/// VIBE-85, VIBE-86, VIBE-99: only a planned workstream is cancelled, by its owner, with a reason; a started one is completed.
#[test]
fn only_a_planned_workstream_is_cancelled() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let id =
            word(&desk.done(&ada, "covibe_workstream", stream("plan", "Rework uploads")), "workstream_id");
        let cancel =
            |id: &str| json!({"operation": "cancel", "workstream_id": id, "reason": "Nobody wants it"});
        desk.refused(&ada, "covibe_workstream", json!({"operation": "cancel", "workstream_id": id}));
        desk.refused(&bob, "covibe_workstream", cancel(&id));
        let left = desk.watched(&ada, "covibe_workstream", cancel(&id));
        assert_eq!((left.status(), left.events()), ("ok", vec!["workstream.cancelled"]));
        let row = left.one("workstreams");
        assert_eq!((&row["status"], &row["reason"]), (&json!("cancelled"), &json!("Nobody wants it")));

        let active = desk.stream(&ada, "Rework downloads");
        for status in ["active", "blocked"] {
            let update = json!({"operation": "update", "workstream_id": active, "status": status});
            desk.done(&ada, "covibe_workstream", update);
            let (told, _) = desk.refused(&ada, "covibe_workstream", cancel(&active));
            let action = told["feedback"]["required_action"].as_str().unwrap();
            assert!(action.contains("\"complete\""), "{told}");
        }
        let complete =
            json!({"operation": "complete", "workstream_id": active, "result_summary": "It works."});
        desk.done(&ada, "covibe_workstream", complete);
    });
}

/// VIBE-95, VIBE-96, VIBE-97: open tasks are named before a workstream is closed over them, and kept with its event.
#[test]
fn a_workstream_is_not_closed_silently_over_open_tasks() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let id = desk.stream(&ada, "Rework uploads");
        let mut open: Vec<String> = Vec::new();
        for (title, state) in
            [("Plan it", "planned"), ("Do it", "active"), ("Stop it", "blocked"), ("Did it", "done")]
        {
            if state == "planned" {
                open.push(word(&desk.done(&ada, "covibe_task", task_in("plan", title, &id)), "task_id"));
                continue;
            }
            desk.done(&ada, "covibe_task", json!({"operation": "check", "title": title, "task_type": "bug"}));
            let task = word(&desk.done(&ada, "covibe_task", task_in("start", title, &id)), "task_id");
            if state == "done" {
                let complete = json!({"operation": "complete", "task_id": task, "result_summary": "x"});
                desk.done(&ada, "covibe_task", complete);
            } else {
                let update = json!({"operation": "update", "task_id": task, "status": state});
                desk.done(&ada, "covibe_task", update);
                open.push(task);
            }
        }
        open.sort();
        let sorted = |ids: &Value| {
            let mut ids: Vec<String> = serde_json::from_value(ids.clone()).unwrap();
            ids.sort();
            ids
        };
        let mut complete = json!({"operation": "complete", "workstream_id": id, "result_summary": "Enough."});
        for confirm in [json!(null), json!(false)] {
            if !confirm.is_null() {
                complete["confirm_open_tasks"] = confirm;
            }
            let left = desk.watched(&ada, "covibe_workstream", complete.clone());
            assert_eq!((left.status(), left.of("workstreams").len(), left.events()), ("warning", 0, vec![]));
            assert_eq!(sorted(&left.envelope["data"]["open_task_ids"]), open);
            let action = left.envelope["feedback"]["required_action"].as_str().unwrap();
            assert!(action.contains("confirm_open_tasks: true"), "{action}");
        }
        complete["confirm_open_tasks"] = json!(true);
        let left = desk.watched(&ada, "covibe_workstream", complete);
        assert_eq!((left.status(), left.events()), ("ok", vec!["workstream.completed"]));
        assert_eq!(sorted(&payload(left.one("work_events"))["open_task_ids"]), open);
        for task in &open {
            assert_ne!(desk.row("tasks", task)["status"], "done", "its tasks stay as they are");
        }
        let empty = desk.stream(&ada, "Rework nothing");
        let complete = json!({"operation": "complete", "workstream_id": empty, "result_summary": "Enough."});
        let left = desk.watched(&ada, "covibe_workstream", complete);
        assert_eq!((left.status(), payload(left.one("work_events")).get("open_task_ids")), ("ok", None));
    });
}

/// VIBE-152, VIBE-153, VIBE-154: a task is attached to its owner's workstream that is under way, and to no other.
#[test]
fn a_task_is_attached_to_a_workstream_of_its_owner_that_is_under_way() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let mine = desk.stream(&ada, "Rework uploads");
        let theirs = desk.stream(&bob, "Rework downloads");
        let over = desk.stream(&ada, "Rework nothing");
        let complete = json!({"operation": "complete", "workstream_id": over, "result_summary": "Enough."});
        desk.done(&ada, "covibe_workstream", complete);
        let planned = word(&desk.done(&ada, "covibe_workstream", stream("plan", "Later")), "workstream_id");
        for status in ["active", "blocked"] {
            let update = json!({"operation": "update", "workstream_id": mine, "status": status});
            desk.done(&ada, "covibe_workstream", update);
            for (operation, thing) in [("plan", "lathe"), ("start", "piano")] {
                let title = format!("Weigh the {status} {thing}");
                desk.done(
                    &ada,
                    "covibe_task",
                    json!({"operation": "check", "title": title, "task_type": "bug"}),
                );
                let left = desk.watched(&ada, "covibe_task", task_in(operation, &title, &mine));
                assert_eq!((left.status(), &left.one("tasks")["workstream_id"]), ("ok", &json!(mine)));
                assert!(left.of("workstreams").is_empty(), "none is made: {left:?}");
                for foreign in [&theirs, &over, &planned, &"ws_aaaaaaaaaaaaaaaa".to_owned()] {
                    desk.refused(&ada, "covibe_task", task_in(operation, &title, foreign));
                }
            }
        }
    });
}

/// VIBE-156, VIBE-157, VIBE-158: a task that names no workstream gets one of its own, with an event, and belongs to it.
/// VIBE-161: which is completed with the last of its tasks.
#[test]
fn a_container_is_made_for_a_task_and_ends_with_it() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let plan = json!({"operation": "plan", "title": "Draw a chart", "scope": "The page", "description": "Of sales",
            "task_type": "feature"});
        let left = desk.watched(&ada, "covibe_task", plan);
        let container = left.one("workstreams");
        let made = ["title", "scope", "description", "status"].map(|name| container[name].as_str().unwrap());
        assert_eq!(made, ["Draw a chart", "The page", "Of sales", "active"]);
        assert_eq!(container["auto_created"], 1);
        assert_eq!(left.events(), ["task.planned", "workstream.auto_created"]);
        assert_eq!(left.one("tasks")["workstream_id"], container["id"]);
        assert_eq!(left.envelope["data"]["workstream_id"], container["id"]);

        // One ends with its only task, however that ends; one with two does with the second.
        let (done, first) = desk.started(&ada, "Retry uploads");
        let second =
            word(&desk.done(&ada, "covibe_task", task_in("plan", "Test uploads", &first)), "task_id");
        let complete =
            |task: &str| json!({"operation": "complete", "task_id": task, "result_summary": "It works."});
        let left = desk.watched(&ada, "covibe_task", complete(&done));
        assert_eq!((left.events(), left.of("workstreams").len()), (vec!["task.completed"], 0));
        let cancel = json!({"operation": "cancel", "task_id": second, "reason": "Tested already"});
        let left = desk.watched(&ada, "covibe_task", cancel);
        // What its plan was warned of is over with it.
        assert_eq!(left.events(), ["task.cancelled", "warning.dismissed", "workstream.completed"]);
        assert_eq!(
            (&left.one("workstreams")["id"], &left.one("workstreams")["status"]),
            (&json!(first), &json!("done"))
        );

        // One that a developer made does not.
        let own = desk.stream(&ada, "Rework uploads");
        let task = word(&desk.done(&ada, "covibe_task", task_in("plan", "Test it", &own)), "task_id");
        desk.done(&ada, "covibe_task", json!({"operation": "cancel", "task_id": task, "reason": "x"}));
        assert_eq!(desk.row("workstreams", &own)["status"], "active");
    });
}

/// VIBE-159: tasks from before there were workstreams get one each when the daemon starts.
#[test]
fn orphans_are_adopted_when_the_daemon_starts() {
    for (home, database) in homes() {
        let desk = Desk::at(&home, database);
        let ada = desk.invite("ada");
        let (open, with) = desk.started(&ada, "Retry uploads");
        let (over, _) = desk.started(&ada, "Retry downloads");
        desk.done(
            &ada,
            "covibe_task",
            json!({"operation": "complete", "task_id": over, "result_summary": "x"}),
        );
        let copied = |id: &str, from: &str| {
            let columns = "workspace_id, developer_id, session_id, description, scope, action, component, target_files, task_type, \
                priority, status, result_summary, reason, created_at, started_at, updated_at, ended_at, turn";
            format!(
                "INSERT INTO tasks (id, workstream_id, title, {columns}) SELECT '{id}', NULL, 'Orphan ' || title, {columns} \
                FROM tasks WHERE id = '{from}'"
            )
        };
        desk.meddle(&copied("task_aaaaaaaaaaaaaaaa", &open));
        desk.meddle(&copied("task_bbbbbbbbbbbbbbbb", &over));
        let desk = desk.again();
        for (id, title, status) in [
            ("task_aaaaaaaaaaaaaaaa", "Orphan Retry uploads", "active"),
            ("task_bbbbbbbbbbbbbbbb", "Orphan Retry downloads", "done"),
        ] {
            let stream = word(&desk.row("tasks", id), "workstream_id");
            let row = desk.row("workstreams", &stream);
            assert_eq!(
                (&row["title"], &row["status"], &row["auto_created"]),
                (&json!(title), &json!(status), &json!(1))
            );
            let events = desk.book("work_events");
            let made = events.iter().filter(|row| row["subject_id"] == stream.as_str()).collect::<Vec<_>>();
            assert_eq!((made.len(), &made[0]["event"]), (1, &json!("workstream.auto_created")));
        }
        assert_eq!(desk.row("tasks", &open)["workstream_id"], with.as_str());
        let complete =
            json!({"operation": "complete", "task_id": "task_aaaaaaaaaaaaaaaa", "result_summary": "x"});
        let left = desk.watched(&ada, "covibe_task", complete);
        assert_eq!(left.events(), ["task.completed", "workstream.completed"]);
        let streams = desk.book("workstreams").len();
        assert_eq!(desk.again().book("workstreams").len(), streams, "once");
    }
}

/// VIBE-163, VIBE-164: a workstream starts after a check of its title within 10 minutes; so does a task.
#[test]
fn a_check_counts_for_ten_minutes() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (tool, book) in [("covibe_workstream", "workstreams"), ("covibe_task", "tasks")] {
            let work = |operation: &str| {
                let mut work = stream(operation, "Rework uploads");
                if tool == "covibe_task" {
                    work["task_type"] = json!("feature");
                }
                work
            };
            let blocked = desk.watched(&ada, tool, work("start"));
            assert_eq!((blocked.status(), blocked.of(book).len()), ("blocked", 0));
            desk.done(&ada, tool, work("check"));
            desk.meddle("UPDATE preflight_checks SET at = at - 601000");
            let late = desk.watched(&ada, tool, work("start"));
            assert_eq!((late.status(), late.of(book).len()), ("blocked", 0));
            assert!(late.envelope["message"].as_str().unwrap().contains("10 minutes"), "{late:?}");
            desk.meddle("UPDATE preflight_checks SET at = at + 60000");
            let left = desk.watched(&ada, tool, work("start"));
            assert_eq!((left.status(), &left.of(book)[0]["status"]), ("ok", &json!("active")));
        }
    });
}
