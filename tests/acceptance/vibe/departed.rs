//! Somebody who is removed from a team: nobody waits for what they had open, and what they did stays.

use std::time::{Duration, Instant};

use covenant_testkit::sqlite;
use serde_json::json;

use super::desk::{Desk, on_both, payload, word};
use crate::unhurried;

const TITLE: &str = "Retry failed uploads with exponential backoff";

#[test]
fn what_a_removed_developer_had_open_ends_and_keeps_nobody() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let session = desk.session(&ada);
        let (theirs, container) = desk.started(&ada, TITLE);
        let planned = desk.planned(&ada, "Translate the invoice templates to Polish");
        let stream = desk.stream(&ada, "Redraw the icons of the mobile app");
        let done = desk.started(&ada, "Count swans on Sunday").0;
        let complete = json!({"operation": "complete", "task_id": done, "result_summary": "Nine."});
        desk.done(&ada, "covibe_task", complete);
        let claim = json!({"operation": "claim", "paths": ["src/upload.rs"], "session_id": session});
        desk.done(&ada, "covibe_coordination", claim);
        let wanted = json!({"operation": "claim", "paths": ["src/upload.rs"]});
        assert_eq!(desk.call(&bob, "covibe_coordination", wanted.clone())["status"], "blocked");
        let check = json!({"operation": "check", "title": TITLE, "task_type": "bug"});
        assert_eq!(desk.call(&bob, "covibe_task", check.clone())["data"]["requires_verdict"], true);

        desk.home.run(&["team", "remove", "ada"]).ok();
        for (book, id, status) in [
            ("tasks", &theirs, "cancelled"),
            ("tasks", &planned, "cancelled"),
            ("tasks", &done, "done"),
            ("workstreams", &stream, "cancelled"),
            ("workstreams", &container, "done"),
        ] {
            assert_eq!(desk.row(book, id)["status"], status, "{book} {id}");
        }
        assert!(desk.row("agent_sessions", &session)["ended_at"].is_number());
        let events = desk.book("work_events");
        let told = events.iter().find(|row| row["event"] == "task.cancelled" && row["subject_id"] == *theirs);
        assert_eq!(payload(told.unwrap())["reason"], "Whoever did it is not in the team any more.");
        assert!(events.iter().any(|row| row["event"] == "session.ended" && row["subject_id"] == *session));

        assert_eq!(desk.call(&bob, "covibe_task", check)["data"]["requires_verdict"], false);
        let inbox = desk.done(&bob, "covibe_coordination", json!({"operation": "inbox"}));
        assert_eq!(word(&inbox["messages"][0], "kind"), "freed", "{inbox}");
        desk.done(&bob, "covibe_coordination", wanted);
        let state = desk.done(&bob, "covibe_team", json!({"operation": "state"}));
        for list in ["active_work", "planned_work", "active_workstreams", "stale_sessions"] {
            assert_eq!(state[list], json!([]), "{list}: {state}");
        }
    });
}

/// How long nobody waits for what is done once a minute.
const PATIENCE: Duration = Duration::from_mins(5);

#[test]
fn what_could_not_be_ended_when_somebody_was_removed_is_ended_while_the_daemon_runs() {
    let home = unhurried();
    let desk = Desk::at(&home, None);
    let ada = desk.invite("ada");
    let session = desk.session(&ada);
    let (task, _) = desk.started(&ada, TITLE);
    desk.meddle("UPDATE agent_sessions SET started_at = -1");
    home.run(&["team", "remove", "ada"]).ok();
    assert_eq!(desk.row("tasks", &task)["status"], "active", "a damaged row keeps it open");
    desk.meddle("UPDATE agent_sessions SET started_at = last_seen_at");
    let (file, end) = (home.path().join("covenant.db"), Instant::now() + PATIENCE);
    while sqlite::rows(&file, "SELECT id FROM tasks WHERE status <> 'cancelled'").len() == 1 {
        assert!(Instant::now() < end, "nobody tried again");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(desk.row("agent_sessions", &session)["ended_at"].is_number());
}
