//! Names of repositories, branches and worktrees on either database: as long as they may be they are kept, and longer ones are
//! refused by both.

use covenant_team::input::{Call, Tool};
use covenant_team::{Outcome, Request};
use serde_json::{Value, json};

use super::team::peopled;
use super::{Bench, at, on_both};

/// A name of that many bytes, three to a sign, in which nothing repeats that a database could leave out.
fn name(bytes: usize) -> String {
    let mut number = 7_u32;
    let signs = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(0x4e00 + (number >> 16) % 20_000).unwrap()
    });
    signs.take(bytes / 3).chain("x".repeat(bytes % 3).chars()).collect()
}

async fn told(store: &covenant_store::Store, arguments: Value) -> Outcome {
    let call = Call::read(Tool::Session, arguments.as_object().unwrap().clone()).unwrap();
    let request = Request { principal: "dev:ada".parse().unwrap(), agent_type: None, call, now: at(9) };
    store.perform(request).await.unwrap()
}

async fn names_are_kept_up_to_their_bounds_in_bytes_and_refused_beyond(bench: Bench) {
    let store = peopled(&bench).await;
    for operation in ["snapshot", "publish_context", "start"] {
        let longest = json!({"operation": operation, "title": "t", "summary": "s",
            "repo": name(512), "branch": name(256), "worktree": name(512)});
        assert!(told(&store, longest.clone()).await.is_kept(), "{operation}");
        for (field, bytes) in [("repo", 513), ("branch", 257), ("worktree", 513)] {
            if field == "worktree" && operation != "snapshot" {
                continue;
            }
            // Counted in characters, that is no more than may be.
            let mut longer = longest.clone();
            longer[field] = json!(name(bytes));
            let outcome = told(&store, longer).await;
            assert_eq!((outcome.is_kept(), outcome.code), (false, Some("invalid_arguments")), "{operation}");
            let message = outcome.envelope.message;
            assert!(message.contains(&format!("`{field}`")) && message.contains("bytes"), "{message}");
        }
    }
    let kept = "SELECT (SELECT count(*) FROM local_worktrees) + (SELECT count(*) FROM session_contexts)";
    assert_eq!(bench.number(kept).await, 2);
}

on_both!(names_are_kept_up_to_their_bounds_in_bytes_and_refused_beyond);
