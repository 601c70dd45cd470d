//! What agents publish of where they stand: the newest of each branch counts, until it is withdrawn or too old.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};

fn publish(desk: &Desk<'_>, token: &str, title: &str, branch: &str) -> String {
    let arguments = json!({"operation": "publish_context", "title": title, "summary": "Two of four are done.", "repo": "acme/app",
        "branch": branch, "files_touched": ["src/a.rs"], "next_actions": ["Test it"], "blockers": ["No key"]});
    word(&desk.done(token, "covibe_session", arguments), "context_id")
}

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
fn get(desk: &Desk<'_>, token: &str, more: Value) -> Value {
    let mut arguments = json!({"operation": "get_context"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    desk.call(token, "covibe_session", arguments)
}

/// The titles of all that count.
fn titles(desk: &Desk<'_>, token: &str) -> Vec<String> {
    let told = get(desk, token, json!({}));
    let listed = told["data"]["contexts"].as_array().unwrap_or_else(|| panic!("{told}")).clone();
    let mut titles: Vec<String> = listed.iter().map(|context| word(context, "title")).collect();
    titles.sort();
    titles
}

/// VIBE-53, VIBE-54: a context takes the place of the same developer's earlier one for the same repository and branch.
#[test]
fn a_context_supersedes_the_earlier_one_of_its_branch() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let first = publish(desk, &ada, "first", "main");
        publish(desk, &ada, "beside", "retry");
        publish(desk, &bob, "bob's", "main");
        let second = publish(desk, &ada, "second", "main");
        assert_ne!(first, second);
        let row = desk.row("session_contexts", &first);
        assert_eq!((&row["superseded_by"], &row["revoked_at"]), (&json!(second), &json!(null)));
        assert_eq!(titles(desk, &ada), ["beside", "bob's", "second"]);
        let left = desk.watch(|| {
            desk.call(
                &ada,
                "covibe_session",
                json!({"operation": "publish_context", "title": "third", "summary": "x",
                "repo": "acme/app", "branch": "main"}),
            )
        });
        assert_eq!(left.envelope["data"]["superseded"], json!([second]));
        assert_eq!(left.events(), ["session.context_published"]);
    });
}

/// VIBE-55, VIBE-56, VIBE-58: a teammate's newest is found by handle or id, and never one that counts no more.
#[test]
fn contexts_that_count_no_more_are_never_told() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        assert_eq!(get(desk, &bob, json!({"handle": "ada"}))["data"]["context"], json!(null));
        let superseded = publish(desk, &ada, "superseded", "main");
        let newest = publish(desk, &ada, "newest", "main");
        let told = get(desk, &bob, json!({"handle": "ada"}))["data"]["context"].clone();
        assert_eq!((&told["context_id"], &told["developer"]), (&json!(newest), &json!("ada")));
        let kept =
            ["summary", "files_touched", "next_actions", "blockers", "branch"].map(|name| told[name].clone());
        let said = [
            json!("Two of four are done."),
            json!(["src/a.rs"]),
            json!(["Test it"]),
            json!(["No key"]),
            json!("main"),
        ];
        assert_eq!(kept, said);
        assert_eq!(get(desk, &bob, json!({"context_id": newest}))["data"]["context"], told);

        let expired = publish(desk, &ada, "expired", "old");
        desk.meddle(&format!(
            "UPDATE session_contexts SET expires_at = created_at + 1 WHERE id = '{expired}'"
        ));
        let revoked = publish(desk, &ada, "revoked", "gone");
        let revoke = json!({"operation": "revoke_context", "context_id": revoked});
        desk.refused(&bob, "covibe_session", revoke.clone());
        let left = desk.watched(&ada, "covibe_session", revoke.clone());
        assert_eq!((left.status(), left.events()), ("ok", vec!["session.context_revoked"]));
        assert_eq!(desk.call(&ada, "covibe_session", revoke)["status"], "warning");
        for gone in [&superseded, &expired, &revoked] {
            let told = get(desk, &bob, json!({"context_id": gone}));
            assert_eq!(told["status"], "error", "{told}");
        }
        assert_eq!(titles(desk, &bob), ["newest"]);
        assert_eq!(get(desk, &bob, json!({"handle": "ada"}))["data"]["context"]["title"], "newest");
        assert_eq!(get(desk, &bob, json!({"handle": "nobody"}))["status"], "error");
    });
}

/// VIBE-59, VIBE-60: a context counts for a day, or for 1 to 168 hours where it says so.
#[test]
fn a_context_counts_for_a_day_or_as_long_as_it_says() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for (hours, counted) in [(None, 24), (Some(1), 1), (Some(168), 168)] {
            let mut arguments = json!({"operation": "publish_context", "title": "a", "summary": "b"});
            if let Some(hours) = hours {
                arguments["ttl_hours"] = json!(hours);
            }
            let left = desk.watched(&ada, "covibe_session", arguments);
            let id = word(&left.envelope["data"], "context_id");
            let row = desk.row("session_contexts", &id);
            let life = row["expires_at"].as_i64().unwrap() - row["created_at"].as_i64().unwrap();
            assert_eq!(life, counted * 3_600_000);
            assert!(left.envelope["data"]["expires_at"].is_string());
        }
        for bad in [json!(0), json!(169), json!(-1), json!(1.5), json!("24")] {
            let arguments =
                json!({"operation": "publish_context", "title": "a", "summary": "b", "ttl_hours": bad});
            desk.refused(&ada, "covibe_session", arguments);
        }
    });
}

#[test]
fn a_team_sees_nothing_of_another_team() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        desk.home.run(&["team", "init", "acme"]).ok();
        desk.home.run(&["team", "init", "other"]).ok();
        let zoe = desk.invite_as("zoe", &["--workspace", "other"], &[]);
        let task = desk.planned(&zoe, "Draw a chart");
        let theirs = publish(desk, &zoe, "theirs", "main");
        publish(desk, &ada, "ours", "main");
        assert_eq!(
            (titles(desk, &ada), titles(desk, &zoe)),
            (vec!["ours".to_owned()], vec!["theirs".to_owned()])
        );
        desk.refused(&ada, "covibe_session", json!({"operation": "get_context", "handle": "zoe"}));
        desk.refused(&ada, "covibe_session", json!({"operation": "get_context", "context_id": theirs}));
        let about = json!({"operation": "publish_context", "title": "a", "summary": "b", "task_ids": [task]});
        desk.refused(&ada, "covibe_session", about);
    });
}

/// VIBE-57, VIBE-151: of a private developer, others learn what is going on, and not who it is.
#[test]
fn a_private_developer_is_at_private_to_teammates() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let zelda = desk.invite_as("zelda", &["--private"], &[]);
        let session = desk.session(&zelda);
        let arguments = json!({"operation": "publish_context", "title": "hidden", "summary": "b", "session_id": session,
            "repo": "zelda/app", "branch": "zelda/keys"});
        let id = word(&desk.done(&zelda, "covibe_session", arguments), "context_id");
        let developer = desk.row("session_contexts", &id)["developer_id"].as_str().unwrap().to_owned();
        for told in [get(desk, &ada, json!({})), get(desk, &ada, json!({"context_id": id}))] {
            let text = told.to_string();
            assert!(text.contains("@private") && text.contains("hidden"), "{told}");
            assert!(
                !text.contains("zelda") && !text.contains(&session) && !text.contains(&developer),
                "{told}"
            );
        }
        // Asked by name, there is no such developer, in the words for any other.
        let (named, nobody) =
            (get(desk, &ada, json!({"handle": "zelda"})), get(desk, &ada, json!({"handle": "nobody"})));
        assert_eq!(named.to_string().replace("zelda", "nobody"), nobody.to_string());
        assert_eq!(get(desk, &zelda, json!({"handle": "zelda"}))["data"]["context"]["developer"], "zelda");
    });
}
