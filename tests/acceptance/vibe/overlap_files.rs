//! Files that several mean to touch, or touch: told to whoever asks, and never a reason to be kept from starting.

use serde_json::{Value, json};

use super::desk::{on_both, word};

fn task(operation: &str, title: &str, files: &[&str]) -> Value {
    json!({"operation": operation, "title": title, "task_type": "feature", "target_files": files})
}

/// VIBE-146, VIBE-147: conflicts are with the targets of open tasks and the dirty and unpushed files of recent snapshots; each says
/// whose, which files, and what the other does.
/// VIBE-150: they inform.
#[test]
fn conflicts_of_files_are_told_and_keep_nobody_from_starting() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite_as("bob", &["--private"], &[]));
        let mut plan = task("plan", "Sharpen the lathe", &["src/a.rs", "src/b.rs"]);
        plan["action"] = json!("remove");
        let theirs = word(&desk.done(&ada, "covibe_task", plan), "task_id");
        let session = desk.session(&bob);
        let snapshot = json!({"operation": "snapshot", "session_id": session, "repo": "shop", "branch": "main",
            "dirty_files": ["src/b.rs", "x"], "unpushed_files": ["src/c.rs"]});
        desk.call(&bob, "covibe_session", snapshot);
        let eve = desk.invite("eve");
        let mut check = task("check", "Tune the piano", &["src/b.rs", "src/c.rs", "src/d.rs"]);
        check["action"] = json!("create");
        for operation in ["check", "plan", "start"] {
            check["operation"] = json!(operation);
            if operation == "plan" {
                check["title"] = json!("Ring the bell");
            } else {
                check["title"] = json!("Tune the piano");
            }
            let told = desk.call(&eve, "covibe_task", check.clone());
            assert_eq!(told["status"], "ok", "{told}");
            let mut conflicts = told["data"]["file_conflicts"].as_array().unwrap().clone();
            conflicts.retain(|conflict| conflict["same_developer"] == false);
            assert_eq!(conflicts.len(), 2, "{told}");
            let said = ["source", "owner", "files", "action", "action_divergent"];
            let said = |at: usize| said.map(|name| conflicts[at][name].clone());
            assert_eq!(
                said(0),
                [json!("task"), json!("ada"), json!(["src/b.rs"]), json!("remove"), json!(true)]
            );
            assert_eq!(
                said(1),
                [
                    json!("snapshot"),
                    json!("@private"),
                    json!(["src/b.rs", "src/c.rs"]),
                    json!(null),
                    json!(null)
                ]
            );
            assert_eq!((&conflicts[0]["id"], &conflicts[1]["session_id"]), (&json!(theirs), &json!(null)));
        }
        // Of one developer's two tasks each is told of the other.
        let told = desk.done(&ada, "covibe_task", task("check", "Oil the pedals", &["src/a.rs"]));
        assert_eq!(told["file_conflicts"][0]["same_developer"], true, "{told}");
        desk.done(
            &ada,
            "covibe_task",
            json!({"operation": "cancel", "task_id": theirs, "reason": "Enough."}),
        );
        let told = desk.call(&eve, "covibe_task", task("check", "Polish the floor", &["src/a.rs"]));
        assert_eq!(told["data"]["file_conflicts"], json!([]), "it is over: {told}");
    });
}

/// VIBE-148, VIBE-149: a match says which files it shares, and that it does the opposite; then it does not escalate.
#[test]
fn a_match_says_which_files_it_shares_and_that_it_is_opposed() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let mut work = task("plan", "Cache of rendered invoices on disk", &["src/cache.rs", "src/disk.rs"]);
        work["action"] = json!("create");
        work["component"] = json!("server");
        desk.done(&ada, "covibe_task", work.clone());
        work["operation"] = json!("check");
        work["target_files"] = json!(["src/cache.rs", "src/other.rs"]);
        let same = desk.call(&bob, "covibe_task", work.clone());
        let candidate = &same["data"]["candidates"][0];
        assert_eq!(
            (&candidate["file_overlap"], candidate.get("action_divergent")),
            (&json!(["src/cache.rs"]), None),
            "{same}"
        );
        work["action"] = json!("remove");
        let opposed = desk.call(&bob, "covibe_task", work.clone());
        assert_eq!(
            (&opposed["status"], &opposed["data"]["candidates"]),
            (&json!("ok"), &json!([])),
            "{opposed}"
        );
        let found = &opposed["data"]["matches"][0];
        assert_eq!(
            (&found["action_divergent"], &found["score"]),
            (&json!(true), &candidate["score"]),
            "{opposed}"
        );
        work["action"] = json!("create");
        work["component"] = json!("client");
        let elsewhere = desk.call(&bob, "covibe_task", work);
        let found = &elsewhere["data"]["matches"][0];
        assert_eq!(
            (&elsewhere["data"]["candidates"], &found["score"]),
            (&json!([]), &candidate["score"]),
            "{elsewhere}"
        );
        assert!(word(found, "reason").contains("they touch other components"), "{elsewhere}");
    });
}

/// VIBE-39: a snapshot of files that others touch, or mean to, is answered with a warning.
#[test]
fn a_snapshot_of_files_that_others_touch_is_a_warning() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let sessions = [desk.session(&ada), desk.session(&ada), desk.session(&bob)];
        let snapshot = |session: &str, repo: &str, files: &[&str]| json!({"operation": "snapshot", "session_id": session, "repo": repo, "dirty_files": files});
        let mut mine = task("plan", "Sharpen the lathe", &["src/a.rs"]);
        mine["session_id"] = json!(sessions[0]);
        desk.done(&ada, "covibe_task", mine);
        desk.done(&ada, "covibe_session", snapshot(&sessions[0], "shop", &["src/a.rs", "src/b.rs"]));
        let again =
            desk.done(&ada, "covibe_session", snapshot(&sessions[0], "shop", &["src/a.rs", "src/b.rs"]));
        assert_eq!(again["overlaps"], json!([]), "nobody is warned of itself");
        desk.done(&bob, "covibe_session", snapshot(&sessions[2], "elsewhere", &["src/b.rs"]));
        for (token, session, same) in [(&bob, &sessions[2], false), (&ada, &sessions[1], true)] {
            let left =
                desk.watched(token, "covibe_session", snapshot(session, "shop", &["src/a.rs", "src/z.rs"]));
            assert_eq!((left.status(), left.of("agent_feedback_events").len()), ("warning", 1), "{left:?}");
            let overlaps = left.envelope["data"]["overlaps"].as_array().unwrap().clone();
            let said = |overlap: &Value| {
                (word(overlap, "source"), word(overlap, "owner"), overlap["same_developer"].clone())
            };
            assert!(
                overlaps.iter().any(|overlap| said(overlap) == ("task".into(), "ada".into(), json!(same))),
                "{overlaps:?}"
            );
            assert!(
                overlaps
                    .iter()
                    .any(|overlap| said(overlap) == ("snapshot".into(), "ada".into(), json!(same))),
                "{overlaps:?}"
            );
        }
    });
}
