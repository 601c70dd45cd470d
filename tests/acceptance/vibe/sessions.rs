//! Sessions of agents: what they say of themselves, their signs of life, how their repositories look, and whose they are.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, payload, word};

/// VIBE-33, VIBE-34, VIBE-35, VIBE-103: a session is begun with a name, is passed to every other tool, and is heard of.
#[test]
fn a_session_is_started_and_passed_to_the_other_tools() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let start = json!({"operation": "start", "agent_name": "Claude Code", "provider": "anthropic",
            "model": "sonnet", "agent_type": "claude-code", "repo": "acme/app", "branch": "main"});
        let left = desk.watched(&ada, "covibe_session", start);
        let id = word(&left.envelope["data"], "session_id");
        let row = left.one("agent_sessions");
        let kept = ["agent_name", "provider", "model", "agent_type", "repo"].map(|name| row[name].as_str());
        let said = ["Claude Code", "anthropic", "sonnet", "claude-code", "acme/app"].map(Some);
        assert_eq!((row["id"].as_str(), kept), (Some(id.as_str()), said));
        assert_eq!(
            (left.events(), left.one("work_events")["session_id"].as_str()),
            (vec!["session.started"], Some(&*id))
        );

        let (title, kind) = ("Retry uploads", "feature");
        desk.done(
            &ada,
            "covibe_task",
            json!({"operation": "check", "title": title, "task_type": kind, "session_id": id}),
        );
        for (book, tool, arguments) in [
            ("tasks", "covibe_task", json!({"operation": "start", "title": title, "task_type": kind})),
            ("workstreams", "covibe_workstream", json!({"operation": "plan", "title": title})),
            ("notes", "covibe_note", json!({"kind": "decision", "text": "We retry."})),
            (
                "session_contexts",
                "covibe_session",
                json!({"operation": "publish_context", "title": "a", "summary": "b"}),
            ),
            ("local_worktrees", "covibe_session", json!({"operation": "snapshot", "repo": "acme/app"})),
        ] {
            let mut arguments = arguments;
            arguments["session_id"] = json!(id);
            let left = desk.watched(&ada, tool, arguments);
            assert_eq!(left.one(book)["session_id"], id, "{left:?}");
            assert_eq!(left.one("usage_events")["session_id"], id, "{left:?}");
        }

        // Put back by an hour, and stale by now: a heartbeat brings it back.
        desk.meddle(&format!(
            "UPDATE agent_sessions SET last_seen_at = last_seen_at - 3600000 WHERE id = '{id}'"
        ));
        let before = desk.row("agent_sessions", &id)["last_seen_at"].as_i64().unwrap();
        let told = desk.done(&ada, "covibe_session", json!({"operation": "heartbeat", "session_id": id}));
        assert_eq!((&told["was_stale"], &told["status"]), (&json!(true), &json!("active")), "{told}");
        assert!(desk.row("agent_sessions", &id)["last_seen_at"].as_i64().unwrap() >= before + 3_600_000);
    });
}

/// VIBE-36, VIBE-37: names and hashes of a repository are kept, the newest of each worktree and branch.
#[test]
fn snapshots_keep_how_a_repository_looks_and_never_what_is_in_it() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let session = desk.session(&ada);
        let snapshot = |branch: &str, dirty: &[&str]| {
            json!({"operation": "snapshot", "session_id": session, "repo": "acme/app", "branch": branch, "worktree": "/home/ada/app",
                "dirty_files": dirty, "unpushed_files": ["src/b.rs"], "diff_hashes": [{"path": "src/a.rs", "hash": "9f86d081"}],
                "recent_commits": [{"hash": "1a2b3c", "subject": "Retry"}, "4d5e6f Draw"]})
        };
        let left = desk.watched(&ada, "covibe_session", snapshot("main", &["src/a.rs"]));
        let row = left.one("local_worktrees").clone();
        let kept =
            |row: &Value, name: &str| serde_json::from_str::<Value>(row[name].as_str().unwrap()).unwrap();
        assert_eq!(kept(&row, "dirty_files"), json!(["src/a.rs"]));
        assert_eq!(kept(&row, "unpushed_files"), json!(["src/b.rs"]));
        assert_eq!(kept(&row, "diff_hashes"), json!(["9f86d081 src/a.rs"]));
        assert_eq!(kept(&row, "recent_commits"), json!(["1a2b3c Retry", "4d5e6f Draw"]));
        assert_eq!((&row["branch"], &row["worktree"]), (&json!("main"), &json!("/home/ada/app")));
        assert_eq!(left.events(), ["session.snapshot"]);
        assert_eq!(payload(left.one("work_events"))["dirty"], 1);

        desk.done(&ada, "covibe_session", snapshot("main", &["src/c.rs"]));
        desk.done(&ada, "covibe_session", snapshot("retry", &[]));
        let rows = desk.book("local_worktrees");
        let dirty = |branch: &str| {
            let found = rows.iter().find(|row| row["branch"] == branch).unwrap();
            (kept(found, "dirty_files"), found["repo"].clone())
        };
        assert_eq!(rows.len(), 2, "one for each branch: {rows:?}");
        assert_eq!(dirty("main"), (json!(["src/c.rs"]), json!("acme/app")));
        assert_eq!(dirty("retry"), (json!([]), json!("acme/app")));

        // What would be contents has no place.
        for more in [json!({"diff": "+ secret"}), json!({"contents": {"a": "b"}})] {
            let mut arguments = snapshot("main", &[]);
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            desk.refused(&ada, "covibe_session", arguments);
        }
        let long = vec!["x"; 1001];
        desk.refused(&ada, "covibe_session", snapshot("main", &long));
        desk.refused(&ada, "covibe_session", snapshot("main", &["/etc/passwd"]));
    });
}

/// VIBE-38, VIBE-112: whoever began a session ends it, once; to others it is not there.
#[test]
fn only_its_developer_ends_a_session() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let id = desk.session(&ada);
        let end = json!({"operation": "end", "session_id": id});
        let (told, _) = desk.refused(&bob, "covibe_session", end.clone());
        assert!(told["message"].as_str().unwrap().contains(&id), "{told}");
        assert_eq!(desk.row("agent_sessions", &id)["ended_at"], json!(null));

        let left = desk.watched(&ada, "covibe_session", end.clone());
        assert_eq!((left.status(), left.events()), ("ok", vec!["session.ended"]));
        assert!(left.one("agent_sessions")["ended_at"].is_i64());
        let again = desk.watched(&ada, "covibe_session", end);
        assert_eq!((again.status(), again.events()), ("warning", vec![]));
        for operation in ["heartbeat", "activity", "snapshot"] {
            let more =
                json!({"operation": operation, "session_id": id, "activity": "On", "repo": "acme/app"});
            let (told, _) = desk.refused(&ada, "covibe_session", more);
            assert!(told["message"].as_str().unwrap().contains("has ended"), "{told}");
        }
    });
}

/// One good call of every tool and operation, without its session.
fn calls(desk: &Desk<'_>, token: &str) -> Vec<(&'static str, Value)> {
    let (task, stream) = desk.started(token, "Retry uploads");
    let planned = desk.planned(token, "Draw a chart");
    let work = |operation: &str| json!({"operation": operation, "title": "New", "task_type": "bug"});
    let stream_of = |operation: &str| json!({"operation": operation, "title": "New"});
    let context = desk.done(
        token,
        "covibe_session",
        json!({"operation": "publish_context", "title": "a", "summary": "b"}),
    );
    let mut calls: Vec<(&'static str, Value)> = Vec::new();
    calls.extend(["check", "plan", "start"].map(|operation| ("covibe_task", work(operation))));
    calls.extend(["check", "plan", "start"].map(|operation| ("covibe_workstream", stream_of(operation))));
    calls.extend([
        ("covibe_task", json!({"operation": "start_planned", "planned_task_id": planned})),
        ("covibe_task", json!({"operation": "update", "task_id": task, "status": "blocked"})),
        ("covibe_task", json!({"operation": "complete", "task_id": task, "result_summary": "x"})),
        ("covibe_task", json!({"operation": "cancel", "task_id": task, "reason": "x"})),
        ("covibe_workstream", json!({"operation": "start_planned", "workstream_id": stream})),
        ("covibe_workstream", json!({"operation": "update", "workstream_id": stream, "status": "blocked"})),
        (
            "covibe_workstream",
            json!({"operation": "complete", "workstream_id": stream, "result_summary": "x"}),
        ),
        ("covibe_workstream", json!({"operation": "cancel", "workstream_id": stream, "reason": "x"})),
        ("covibe_session", json!({"operation": "heartbeat"})),
        ("covibe_session", json!({"operation": "snapshot", "repo": "acme/app"})),
        ("covibe_session", json!({"operation": "activity", "activity": "Reading"})),
        ("covibe_session", json!({"operation": "publish_context", "title": "a", "summary": "b"})),
        ("covibe_session", json!({"operation": "get_context"})),
        ("covibe_session", json!({"operation": "revoke_context", "context_id": context["context_id"]})),
        ("covibe_session", json!({"operation": "end"})),
        ("covibe_note", json!({"kind": "decision", "text": "x"})),
        ("covibe_note", json!({"kind": "blocker", "text": "x"})),
        ("covibe_team", json!({"operation": "state"})),
        ("covibe_team", json!({"operation": "feedback"})),
        ("covibe_team", json!({"operation": "audit_parallel_work"})),
        ("covibe_team", json!({"operation": "generate_weekly_summary"})),
        ("covibe_coordination", json!({"operation": "announce", "message": "x"})),
        ("covibe_coordination", json!({"operation": "claim", "paths": ["a"]})),
        ("covibe_coordination", json!({"operation": "release", "paths": ["a"]})),
        ("covibe_coordination", json!({"operation": "ask", "message": "x"})),
        ("covibe_coordination", json!({"operation": "check_conflicts", "paths": ["a"]})),
        ("covibe_coordination", json!({"operation": "summary"})),
        ("covibe_coordination", json!({"operation": "inbox"})),
    ]);
    calls
}

/// VIBE-40, VIBE-181: no tool takes a session of somebody else's, and nothing is linked to it.
#[test]
fn every_tool_rejects_the_session_of_another_developer() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let foreign = desk.session(&bob);
        let calls = calls(desk, &ada);
        for (tool, mut arguments) in calls {
            for session in [foreign.as_str(), "sess_aaaaaaaaaaaaaaaa"] {
                arguments["session_id"] = json!(session);
                let (told, usage) = desk.refused(&ada, tool, arguments.clone());
                assert!(told["message"].as_str().unwrap().contains("session"), "{tool} {arguments}: {told}");
                assert_eq!(usage["session_id"], json!(null), "{tool} {arguments}: {usage}");
                assert!(usage["developer_id"].is_string(), "{usage}");
            }
        }
    });
}

/// VIBE-104, VIBE-105: a companion gives signs of life without a session, and touches one only if it is its own.
/// VIBE-110, VIBE-111: what it says of itself is bounded.
#[test]
fn a_companion_heartbeats_without_a_session_within_bounds() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let session = desk.session(&ada);
        let beat = |version: String, repos: Vec<String>| json!({"operation": "heartbeat", "companion_version": version, "registered_repos": repos});
        let many: Vec<String> = (0..256).map(|number| format!("{number:0>512}")).collect();
        let left = desk.watched(&ada, "covibe_session", beat("v".repeat(64), many.clone()));
        let row = left.one("companions");
        assert_eq!((left.status(), row["version"].as_str().map(str::len)), ("ok", Some(64)));
        assert_eq!(serde_json::from_str::<Vec<String>>(row["repos"].as_str().unwrap()).unwrap(), many);
        assert!(left.of("agent_sessions").is_empty(), "no session is touched: {left:?}");
        let other = desk.watched(&ada, "covibe_session", json!({"operation": "heartbeat"}));
        // That it is there is kept where it says nothing else, and what it said before stays.
        let now = other.one("companions");
        assert_eq!((other.status(), &now["version"], &now["repos"]), ("ok", &row["version"], &row["repos"]));
        assert!(now["at"].as_u64() > row["at"].as_u64() && other.rows.len() == 2, "{other:?}");
        let first = desk.watched(&bob, "covibe_session", json!({"operation": "heartbeat"}));
        let first = first.one("companions");
        assert!(first["version"].is_null() && first["repos"].is_null() && first["at"].is_u64(), "{first}");

        let mut more = many.clone();
        more.push("one".to_owned());
        for bad in [
            beat("v".repeat(65), vec![]),
            beat("1".to_owned(), more),
            beat("1".to_owned(), vec!["x".repeat(513)]),
            beat("1".to_owned(), vec![String::new()]),
            json!({"operation": "heartbeat", "companion_version": 7}),
        ] {
            desk.refused(&ada, "covibe_session", bad);
        }
        let mut with = beat("1".to_owned(), vec!["acme/app".to_owned()]);
        with["session_id"] = json!(session);
        desk.refused(&bob, "covibe_session", with.clone());
        let left = desk.watched(&ada, "covibe_session", with);
        assert_eq!(
            (left.one("agent_sessions")["id"].as_str(), left.status()),
            (Some(session.as_str()), "ok")
        );
        assert_eq!(desk.book("companions").len(), 2, "one of each developer");
    });
}

/// VIBE-187: the type of a token wins over what an agent says of itself, and a conflict is written down.
#[test]
fn a_typed_token_says_which_agent_it_is() {
    on_both(|desk| {
        let codex = desk.invite_as("ada", &[], &["--agent-type", "codex"]);
        let plain = desk.token(&["--for", "ada"]);
        let start = |token: &str, said: Option<&str>| {
            let left = desk.watched(
                token,
                "covibe_session",
                json!({"operation": "start", "agent_type": said.unwrap_or_default()}),
            );
            let events: Vec<String> = left.events().into_iter().map(str::to_owned).collect();
            (left.one("agent_sessions")["agent_type"].clone(), events, left)
        };
        let (kind, events, _) = start(&plain, Some("cursor"));
        assert_eq!((kind, events), (json!("cursor"), vec!["session.started".to_owned()]));
        for said in [None, Some("codex")] {
            let (kind, events, _) = start(&codex, said);
            assert_eq!((kind, events), (json!("codex"), vec!["session.started".to_owned()]));
        }
        let (kind, events, left) = start(&codex, Some("claude-code"));
        assert_eq!(
            (kind, events),
            (json!("codex"), vec!["session.agent_mismatch".to_owned(), "session.started".to_owned()])
        );
        let mismatch =
            left.of("work_events").iter().find(|row| row["event"] == "session.agent_mismatch").unwrap();
        assert_eq!(payload(mismatch), json!({"token": "codex", "reported": "claude-code"}));
        assert_eq!(mismatch["session_id"], left.envelope["data"]["session_id"]);
    });
}

/// VIBE-106, VIBE-107, VIBE-108: a companion that says its version is told which one this home has, and to take it whenever that
/// is another, also an older one.
/// VIBE-109: with the hash of what it takes, which is all it needs to bring itself there.
#[test]
fn a_companion_is_told_which_version_to_run() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let beat = |version: &str| {
            let beat = json!({"operation": "heartbeat", "companion_version": version});
            desk.done(&ada, "covibe_session", beat)
        };
        assert!(beat("1.0.0").get("companion").is_none(), "this home has none");
        let hash = "5f".repeat(32);
        desk.home.write(
            "downloads/companion.json",
            &json!({"latest_version": "1.2.0", "tarball_sha256": hash}).to_string(),
        );
        for (version, update) in [("1.1.9", true), ("1.2.0", false), ("1.3.0", true), ("1.2.0-rc.1", true)] {
            let told = json!({"latest_version": "1.2.0", "tarball_sha256": hash, "update_available": update});
            assert_eq!(beat(version)["companion"], told, "{version}");
        }
        let plain = desk.done(&ada, "covibe_session", json!({"operation": "heartbeat"}));
        assert!(plain.get("companion").is_none(), "who says no version asks for none: {plain}");
        for bad in ["", "{", "[]", r#"{"latest_version": 7}"#] {
            desk.home.write("downloads/companion.json", bad);
            assert!(beat("1.0.0").get("companion").is_none(), "{bad}");
        }
    });
}
