//! The state of a team as its agents are told it: what everybody does, what to heed, and what to do next.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, payload, word};

/// What `state` tells.
#[track_caller]
pub(super) fn state(desk: &Desk<'_>, token: &str) -> Value {
    desk.call(token, "covibe_team", json!({"operation": "state"}))
}

/// One member of each row of a list, in the order of the alphabet.
#[track_caller]
pub(super) fn each(data: &Value, list: &str, member: &str) -> Vec<String> {
    let rows = data[list].as_array().unwrap_or_else(|| panic!("no {list} in {data}"));
    let mut words: Vec<String> =
        rows.iter().map(|row| row[member].as_str().unwrap_or("-").to_owned()).collect();
    words.sort();
    words
}

/// Puts a session back by so many minutes.
pub(super) fn silent(desk: &Desk<'_>, session: &str, minutes: u32) {
    let millis = u64::from(minutes) * 60_000;
    desk.meddle(&format!(
        "UPDATE agent_sessions SET last_seen_at = last_seen_at - {millis} WHERE id = '{session}'"
    ));
}

/// VIBE-46, VIBE-62, VIBE-63, VIBE-88: `covibe_team` has four operations; `state` tells what everybody in the team does, each
/// thing in the list of its name, also workstreams that are planned.
#[test]
fn state_tells_what_the_whole_team_does() {
    on_both(|desk| {
        let shown = desk.home.run(&["tools", "show", "covibe_team", "--json"]).ok().json();
        assert_eq!(
            shown["inputSchema"]["properties"]["operation"]["enum"],
            json!(["state", "feedback", "audit_parallel_work", "generate_weekly_summary"])
        );
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let empty = state(desk, &ada);
        assert_eq!(empty["status"], "ok", "{empty}");
        let (active, container) = desk.started(&ada, "Retry uploads");
        let (blocked, _) = desk.started(&bob, "Draw a chart of sales");
        let stuck =
            json!({"operation": "update", "task_id": blocked, "status": "blocked", "reason": "no data yet"});
        desk.done(&bob, "covibe_task", stuck);
        let (finished, _) = desk.started(&bob, "Rename the settings page");
        let complete =
            json!({"operation": "complete", "task_id": finished, "result_summary": "It is renamed."});
        desk.done(&bob, "covibe_task", complete);
        let planned = desk.planned(&ada, "Sort invoices by date");
        let stream = desk.stream(&bob, "Move to the new billing provider");
        let plan = json!({"operation": "plan", "title": "Translate the manual"});
        let later = word(&desk.done(&ada, "covibe_workstream", plan), "workstream_id");
        desk.done(&ada, "covibe_note", json!({"kind": "decision", "text": "We retry three times."}));
        desk.done(&bob, "covibe_note", json!({"kind": "blocker", "text": "No key.", "task_id": blocked}));
        let session = desk.session(&bob);
        let publish =
            json!({"operation": "publish_context", "title": "Half way", "summary": "The rest is tests."});
        let context = word(&desk.done(&bob, "covibe_session", publish), "context_id");

        for token in [&ada, &bob] {
            let told = state(desk, token);
            let data = &told["data"];
            assert_eq!(told["status"], "ok", "{told}");
            let list = |name: &str| each(data, name, "id");
            let sorted = |mut ids: Vec<&String>| {
                ids.sort();
                ids.into_iter().cloned().collect::<Vec<_>>()
            };
            assert_eq!(list("active_work"), sorted(vec![&active, &blocked]));
            assert_eq!(list("planned_work"), std::slice::from_ref(&planned));
            assert_eq!(
                list("recent_completions"),
                std::slice::from_ref(&finished),
                "its container is not told of"
            );
            assert_eq!(
                list("active_workstreams"),
                std::slice::from_ref(&stream),
                "{container} was made for a task"
            );
            assert_eq!(list("planned_workstreams"), std::slice::from_ref(&later));
            assert_eq!(each(data, "risks_decisions", "kind"), ["blocker", "decision"]);
            assert_eq!(each(data, "recent_sessions", "session_id"), std::slice::from_ref(&session));
            assert_eq!(each(data, "session_contexts", "context_id"), std::slice::from_ref(&context));
            for none in ["stale_sessions", "latest_parallel_audits", "parallel_audit_conflicts"] {
                assert_eq!(data[none], json!([]), "{none}");
            }
            assert!(!data["next_actions"].as_array().unwrap().is_empty(), "{data}");
            assert_eq!(data["left_out"], json!({}));
        }
        let data = &state(desk, &ada)["data"];
        let row = |list: &str, id: &str| {
            let rows = data[list].as_array().unwrap();
            rows.iter().find(|row| row["id"] == id).unwrap().clone()
        };
        let stuck = row("active_work", &blocked);
        assert_eq!(
            (&stuck["owner"], &stuck["status"], &stuck["reason"], &stuck["same_developer"]),
            (&json!("bob"), &json!("blocked"), &json!("no data yet"), &json!(false))
        );
        assert_eq!(row("active_work", &active)["same_developer"], true);
        assert_eq!(row("recent_completions", &finished)["result_summary"], "It is renamed.");
    });
}

/// VIBE-64, VIBE-65: a session that was silent for more than half an hour makes it a warning, which is kept as feedback and says
/// to review its work before taking it over.
#[test]
fn stale_sessions_are_a_warning_that_is_kept() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (session, own) = (desk.session(&bob), desk.session(&ada));
        let work = |operation| json!({"operation": operation, "title": "Retry uploads", "task_type": "bug", "session_id": session});
        desk.done(&bob, "covibe_task", work("check"));
        let task = word(&desk.done(&bob, "covibe_task", work("start")), "task_id");
        assert_eq!(state(desk, &ada)["status"], "ok");
        silent(desk, &session, 29);
        assert_eq!(state(desk, &ada)["status"], "ok", "not yet");
        silent(desk, &session, 2);
        let left = desk.watched(&ada, "covibe_team", json!({"operation": "state"}));
        assert_eq!(left.status(), "warning");
        let stale = &left.envelope["data"]["stale_sessions"][0];
        assert_eq!(
            (&stale["session_id"], &stale["owner"], &stale["status"], &stale["active_work"]),
            (&json!(session), &json!("bob"), &json!("stale"), &json!([task]))
        );
        assert!(stale["idle_minutes"].as_u64().unwrap() >= 31, "{stale}");
        let kept = left.one("agent_feedback_events");
        assert_eq!(
            (&kept["feedback_type"], &kept["event"]),
            (&json!("warning"), &json!("covibe_team.state"))
        );
        assert!(kept["required_action"].as_str().unwrap().contains("before taking it over"), "{kept}");
        assert_eq!(payload(kept)["stale_sessions"], json!([session]));

        // Their own stale session is theirs to end; one that makes this very call is awake by it.
        silent(desk, &own, 60);
        let here = json!({"operation": "state", "session_id": own});
        let awake = desk.call(&ada, "covibe_team", here);
        assert_eq!(each(&awake["data"], "stale_sessions", "session_id"), std::slice::from_ref(&session));
        let told = state(desk, &bob);
        let action = &told["data"]["next_actions"][0];
        assert_eq!(
            (&action["kind"], &action["call"]["tool"]),
            (&json!("stale_session"), &json!("covibe_session"))
        );
        let done = desk.call(&bob, "covibe_session", action["call"]["arguments"].clone());
        assert_eq!(done["status"], "ok", "what is to be done next can be done: {done}");
        let left = desk.watched(&ada, "covibe_team", json!({"operation": "state"}));
        assert_eq!((left.status(), left.of("agent_feedback_events").len()), ("ok", 0));
    });
}

#[test]
fn next_actions_are_for_the_caller_and_can_be_followed() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let actions = |token: &str| state(desk, token)["data"]["next_actions"].as_array().unwrap().clone();
        let [first] = actions(&ada).try_into().unwrap();
        assert_eq!(first["kind"], "check_first", "{first}");
        let (task, _) = desk.started(&ada, "Retry uploads");
        let stuck = json!({"operation": "update", "task_id": task, "status": "blocked", "reason": "no key"});
        desk.done(&ada, "covibe_task", stuck);
        desk.planned(&ada, "Sort invoices by date");
        let publish = json!({"operation": "publish_context", "title": "Half way", "summary": "Tests."});
        desk.done(&ada, "covibe_session", publish);
        desk.meddle("UPDATE session_contexts SET expires_at = expires_at - 90000000, created_at = created_at - 90000000");
        let kinds: Vec<Value> = actions(&ada).iter().map(|action| action["kind"].clone()).collect();
        assert_eq!(kinds, ["blocked_work", "planned_work", "expired_context"]);
        for action in actions(&ada).iter().take(2) {
            let call = &action["call"];
            let told = desk.call(&ada, call["tool"].as_str().unwrap(), call["arguments"].clone());
            assert_ne!(told["status"], "error", "{action}: {told}");
            assert!(action["message"].as_str().unwrap().contains(call["tool"].as_str().unwrap()), "{action}");
        }
        assert_eq!(desk.row("tasks", &task)["status"], "active", "the first was followed");
        assert_eq!(actions(&bob)[0]["kind"], "check_first", "what is another's is not theirs to do");

        // Somebody waits for an answer, and for work they passed on to be looked at.
        let say = |operation: &str| json!({"operation": operation, "to": "bob", "message": "Which queue?"});
        desk.done(&ada, "covibe_coordination", say("ask"));
        desk.call(&ada, "covibe_coordination", say("handoff"));
        let [ask, handoff] = actions(&bob).try_into().unwrap();
        assert_eq!((&ask["kind"], &handoff["kind"]), (&json!("open_ask"), &json!("waiting_handoff")));
        assert!(word(&ask, "message").contains("ada asks you: \"Which queue?\""), "{ask}");
        let mut reply = ask["call"]["arguments"].clone();
        reply["message"] = json!("The second.");
        desk.done(&bob, "covibe_coordination", reply);
        desk.done(&bob, "covibe_coordination", handoff["call"]["arguments"].clone());
        assert_eq!(actions(&bob)[0]["kind"], "check_first", "both are done");
    });
}

#[test]
fn warnings_are_told_of_until_something_was_made_of_them() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        desk.started(&bob, "Retry failed uploads");
        assert_eq!(state(desk, &ada)["data"]["overlap_warnings"], json!([]));
        let check = json!({"operation": "check", "title": "Retry failed uploads", "task_type": "bug"});
        desk.call(&ada, "covibe_task", check.clone());
        let id = word(&desk.call(&ada, "covibe_task", check)["data"], "warning_id");
        let data = &state(desk, &ada)["data"];
        assert_eq!(data["overlap_warnings"].as_array().unwrap().len(), 1, "the older one is superseded");
        let warned = &data["overlap_warnings"][0];
        assert_eq!(
            (&warned["warning_id"], &warned["title"], &warned["owner"], &warned["status"]),
            (&json!(id), &json!("Retry failed uploads"), &json!("ada"), &json!("open"))
        );
        assert_eq!(data["next_actions"][0]["kind"], "overlap_warning");
        let dismiss = json!({"operation": "dismiss", "warning_id": id, "reason": "Bob does it."});
        desk.done(&ada, "covibe_warning", dismiss);
        let data = &state(desk, &ada)["data"];
        assert_eq!(data["overlap_warnings"][0]["status"], "dismissed");
        assert_ne!(data["next_actions"][0]["kind"], "overlap_warning");
    });
}

#[test]
fn somebody_private_is_private_in_every_list() {
    on_both(|desk| {
        let (ada, eve) = (desk.invite("ada"), desk.invite_as("eve", &["--private"], &[]));
        let start = json!({"operation": "start", "agent_name": "Eve's laptop", "agent_type": "codex"});
        let session = word(&desk.done(&eve, "covibe_session", start), "session_id");
        let work = |operation| json!({"operation": operation, "title": "Retry uploads", "task_type": "bug", "session_id": session});
        desk.done(&eve, "covibe_task", work("check"));
        desk.done(&eve, "covibe_task", work("start"));
        desk.done(&eve, "covibe_note", json!({"kind": "blocker", "text": "No key."}));
        let publish = json!({"operation": "publish_context", "title": "a", "summary": "b", "session_id": session,
            "repo": "eve/app", "branch": "eve/keys"});
        desk.done(&eve, "covibe_session", publish);
        silent(desk, &session, 45);
        // What was kept as feedback is told again, last of all.
        for operation in ["state", "audit_parallel_work", "generate_weekly_summary", "feedback"] {
            let told = desk.call(&ada, "covibe_team", json!({"operation": operation})).to_string();
            for tells in ["\"eve\"", "(eve", "eve/", "Eve's", session.as_str()] {
                assert!(!told.contains(tells), "{tells} in {operation}: {told}");
            }
        }
        let told = state(desk, &ada);
        for list in ["active_work", "risks_decisions", "recent_sessions", "stale_sessions"] {
            assert_eq!(each(&told["data"], list, "owner"), ["@private"], "{list}");
        }
        let own = state(desk, &eve);
        assert_eq!(each(&own["data"], "active_work", "owner"), ["eve"]);
        assert_eq!(each(&own["data"], "stale_sessions", "session_id"), std::slice::from_ref(&session));
    });
}

#[test]
fn lists_are_bounded_and_say_what_they_leave_out() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        for title in ["Paint the lathe", "Weigh a piano", "Ring every bell", "Ship parts by rail"] {
            desk.planned(&ada, title);
        }
        let ask = |arguments: Value| desk.call(&ada, "covibe_team", arguments);
        let two = ask(json!({"operation": "state", "limit": 2}));
        let titles = |told: &Value| -> Vec<Value> {
            let rows = told["data"]["planned_work"].as_array().unwrap();
            rows.iter().map(|row| row["title"].clone()).collect()
        };
        assert_eq!(titles(&two), ["Ship parts by rail", "Ring every bell"], "the newest first");
        assert_eq!(two["data"]["left_out"], json!({"planned_work": 2}));
        assert_eq!(ask(json!({"operation": "state", "limit": 100}))["data"]["left_out"], json!({}));
        let columns = "id, workspace_id, developer_id, title, description, scope, target_files, task_type, priority, \
                       status, created_at, updated_at, turn";
        let copied =
            "workspace_id, developer_id, title, '', '', '[]', 'bug', 'normal', 'planned', 1, 1, turn";
        let rows: Vec<String> = (0..60)
            .map(|number| {
                format!("SELECT 'task_copy{number}', {copied} FROM tasks WHERE title = 'Paint the lathe'")
            })
            .collect();
        desk.meddle(&format!("INSERT INTO tasks ({columns}) {}", rows.join(" UNION ALL ")));
        let all = state(desk, &ada);
        assert_eq!((titles(&all).len(), &all["data"]["left_out"]["planned_work"]), (50, &json!(14)));

        let foreign = desk.session(&bob);
        for bad in [
            json!({"operation": "state", "limit": 0}),
            json!({"operation": "state", "limit": 101}),
            json!({"operation": "state", "limit": "5"}),
            json!({"operation": "status"}),
            json!({"operation": "state", "session_id": foreign}),
            json!({"operation": "audit_parallel_work", "session_id": foreign}),
            json!({"operation": "generate_weekly_summary", "since": "2026-01-01"}),
            json!({}),
        ] {
            desk.refused(&ada, "covibe_team", bad);
        }
    });
}
