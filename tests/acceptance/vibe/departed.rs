//! Somebody who is removed from a team: nobody waits for what they had open, and what they did stays.

use serde_json::json;

use super::desk::{on_both, payload, word};

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
