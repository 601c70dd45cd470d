//! What sessions do not take: paths that lead elsewhere, and more than there is room for; each is refused by its name.

use serde_json::{Value, json};

use super::desk::on_both;

fn with(arguments: &Value, name: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[name] = value;
    arguments
}

fn long(count: usize) -> Value {
    json!("ä".repeat(count))
}

const TOOL: &str = "covibe_session";

#[test]
fn files_of_snapshots_and_contexts_are_paths_within_the_repository() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let session = desk.session(&ada);
        let snapshot = json!({"operation": "snapshot", "repo": "acme/app", "session_id": session});
        let publish =
            json!({"operation": "publish_context", "title": "a", "summary": "b", "session_id": session});
        let long = "x".repeat(513);
        for (good, field) in
            [(&snapshot, "dirty_files"), (&snapshot, "unpushed_files"), (&publish, "files_touched")]
        {
            for path in [
                "",
                "/etc/passwd",
                "~/a",
                "C:/a",
                "../a",
                "a/../b",
                "..",
                "./a",
                "a/./b",
                "a//b",
                "a/",
                "a\\b",
                "a\nb",
                "a\u{0}b",
                &long,
            ] {
                let (told, _) = desk.refused(&ada, TOOL, with(good, field, json!(["src/good.rs", path])));
                assert!(told["message"].as_str().unwrap().contains(field), "{path:?} of {field}: {told}");
            }
            let many: Vec<String> = (0..1001).map(|number| format!("src/{number}.rs")).collect();
            let (told, _) = desk.refused(&ada, TOOL, with(good, field, json!(many)));
            assert!(told["message"].as_str().unwrap().contains(field), "{told}");
            desk.done(&ada, TOOL, with(good, field, json!(many[..1000])));
        }
    });
}

#[test]
fn what_a_session_says_of_itself_and_of_where_it_stands_has_bounds() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        desk.invite("bob");
        let start = json!({"operation": "start"});
        let snapshot = json!({"operation": "snapshot", "repo": "acme/app"});
        let publish = json!({"operation": "publish_context", "title": "a", "summary": "b"});
        let get = json!({"operation": "get_context"});
        let task = desk.planned(&ada, "Retry uploads");
        let tasks = |count: usize| vec![task.clone(); count];
        for (good, field, bad) in [
            (&start, "provider", long(129)),
            (&start, "model", long(129)),
            (&start, "model", json!("a\u{0}b")),
            (&start, "repo", long(513)),
            (&start, "branch", long(257)),
            (&start, "operation", json!("resume")),
            (&snapshot, "worktree", long(513)),
            (&snapshot, "worktree", json!("a\u{0}b")),
            (&snapshot, "repo", json!("")),
            (&publish, "title", long(301)),
            (&publish, "title", json!(" ")),
            (&publish, "summary", long(8001)),
            (&publish, "repo", long(513)),
            (&publish, "branch", long(257)),
            (&publish, "blockers", json!(vec!["x"; 101])),
            (&publish, "blockers", json!(["x".repeat(1001)])),
            (&publish, "blockers", json!([" "])),
            (&publish, "task_ids", json!(tasks(101))),
            (&publish, "task_ids", json!("task_a")),
            (&get, "handle", long(65)),
            (&get, "handle", json!(" ")),
            (&get, "handle", json!("a\u{0}b")),
            (&get, "handle", json!("nobody")),
            (&get, "context_id", json!("task_aaaaaaaaaaaaaaaa")),
        ] {
            let (told, _) = desk.refused(&ada, TOOL, with(good, field, bad.clone()));
            let message = told["message"].as_str().unwrap();
            // Of somebody who is not there the name is told.
            assert!(message.contains(if bad == "nobody" { "nobody" } else { field }), "{field}: {told}");
            assert!(message.len() < 600, "{told}");
        }
        for (good, field, value) in [
            (&start, "provider", long(128)),
            (&start, "model", long(128)),
            (&snapshot, "worktree", json!("x".repeat(512))),
            (&publish, "title", long(300)),
            (&publish, "summary", long(8000)),
            (&publish, "blockers", json!(vec!["x"; 100])),
            (&publish, "task_ids", json!(tasks(100))),
        ] {
            desk.done(&ada, TOOL, with(good, field, value));
        }
        // Whose context it is, and which one: one of the two is asked.
        let published = desk.done(&ada, TOOL, publish)["context_id"].clone();
        let both = with(&with(&get, "handle", json!("ada")), "context_id", published.clone());
        let (told, _) = desk.refused(&ada, TOOL, both);
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("context_id") && message.contains("handle"), "{told}");
        assert_eq!(
            desk.done(&ada, TOOL, with(&get, "context_id", published.clone()))["context"]["context_id"],
            published
        );
    });
}
