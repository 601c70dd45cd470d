//! Fifty agents at once: nothing fails, and nothing that was done is missing from the books.

use std::collections::BTreeMap;
use std::thread;

use serde_json::json;

use super::desk::on_both;

const AGENTS: usize = 50;
const ROUNDS: usize = 4;

#[test]
fn fifty_agents_heartbeat_and_work_at_once_without_an_error_or_a_lost_event() {
    on_both(|desk| {
        let tokens: Vec<String> = (0..5).map(|number| desk.invite(&format!("dev{number}"))).collect();
        thread::scope(|scope| {
            for agent in 0..AGENTS {
                let token = &tokens[agent % tokens.len()];
                scope.spawn(move || {
                    let session = desk.session(token);
                    for round in 0..ROUNDS {
                        let beat = json!({"operation": "heartbeat", "session_id": session});
                        desk.done(token, "covibe_session", beat);
                        let work = |operation: &str| {
                            json!({"operation": operation, "title": format!("Work {agent} of {round}"), "task_type": "feature",
                                "session_id": session})
                        };
                        desk.done(token, "covibe_task", work("check"));
                        let id = desk.done(token, "covibe_task", work("start"))["task_id"].clone();
                        let update = json!({"operation": "update", "task_id": id, "status": "blocked", "session_id": session});
                        desk.done(token, "covibe_task", update);
                        let complete =
                            json!({"operation": "complete", "task_id": id, "result_summary": "x", "session_id": session});
                        desk.done(token, "covibe_task", complete);
                    }
                    desk.done(token, "covibe_session", json!({"operation": "end", "session_id": session}));
                });
            }
        });
        let books = desk.books();
        let count = |book: &str| {
            let mut counted: BTreeMap<String, usize> = BTreeMap::new();
            for row in &books[book] {
                *counted.entry(row["event"].as_str().unwrap().to_owned()).or_default() += 1;
            }
            counted
        };
        let work = AGENTS * ROUNDS;
        let usage = [
            ("covibe_session.end", AGENTS),
            ("covibe_session.heartbeat", work),
            ("covibe_session.start", AGENTS),
            ("covibe_task.check", work),
            ("covibe_task.complete", work),
            ("covibe_task.start", work),
            ("covibe_task.update", work),
        ];
        assert_eq!(count("usage_events"), usage.map(|(name, count)| (name.to_owned(), count)).into());
        let changes = [
            ("session.ended", AGENTS),
            ("session.started", AGENTS),
            ("task.checked", 2 * work),
            ("task.completed", work),
            ("task.started", work),
            ("task.updated", work),
            ("token.created", 5),
            ("workstream.auto_created", work),
            ("workstream.completed", work),
        ];
        assert_eq!(count("work_events"), changes.map(|(name, count)| (name.to_owned(), count)).into());
        assert!(
            books["usage_events"].iter().all(|row| row["status"] == "ok" && row["session_id"].is_string())
        );
        assert!(books["tasks"].iter().chain(&books["workstreams"]).all(|row| row["status"] == "done"));
        assert!(books["agent_sessions"].iter().all(|row| row["ended_at"].is_i64()));
    });
}
