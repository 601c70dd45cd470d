//! What coordination does not take: each is refused by its name and changes nothing, and of what is another's nothing is told.

use serde_json::{Value, json};

use super::desk::on_both;

const TOOL: &str = "covibe_coordination";

#[test]
fn bad_claims_and_messages_are_refused_by_name() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        desk.invite("bob");
        let claim = |paths: Value| json!({"operation": "claim", "paths": paths});
        let numbered: Vec<String> = (0..65).map(|number| format!("f{number}")).collect();
        for (field, arguments) in [
            ("paths", claim(json!([]))),
            ("paths", claim(json!(["../x"]))),
            ("paths", claim(json!([".."]))),
            ("paths", claim(json!(["."]))),
            ("paths", claim(json!(["/etc/passwd"]))),
            ("paths", claim(json!([""]))),
            ("paths", claim(json!(["a//b"]))),
            ("paths", claim(json!(["a\\b"]))),
            ("paths", claim(json!(["**"]))),
            ("paths", claim(json!(["*"]))),
            ("paths", claim(json!(["**/*"]))),
            ("paths", claim(json!(["**/".repeat(100) + "a"]))),
            ("paths", claim(json!(["*".repeat(512)]))),
            ("paths", claim(json!(["a[b"]))),
            ("paths", claim(json!(["src/{a,b}"]))),
            ("paths", claim(json!(["a".repeat(513)]))),
            ("paths", claim(json!(numbered))),
            ("paths", claim(json!("src"))),
            ("paths", json!({"operation": "claim"})),
            ("paths", json!({"operation": "claim", "paths": ["a"], "claim_id": "claim_a"})),
            ("ttl_minutes", json!({"operation": "claim", "paths": ["a"], "ttl_minutes": 0})),
            ("ttl_minutes", json!({"operation": "claim", "paths": ["a"], "ttl_minutes": 1441})),
            ("ttl_minutes", json!({"operation": "claim", "paths": ["a"], "ttl_minutes": -1})),
            ("repo", json!({"operation": "claim", "paths": ["a"], "repo": "x".repeat(513)})),
            ("claim_id", json!({"operation": "claim", "claim_id": "task_a"})),
            ("claim_id", json!({"operation": "release"})),
            ("paths", json!({"operation": "release", "paths": ["a"], "claim_id": "claim_a"})),
            ("paths", json!({"operation": "check_conflicts"})),
            ("message", json!({"operation": "announce"})),
            ("message", json!({"operation": "announce", "message": " "})),
            ("message", json!({"operation": "announce", "message": "ä".repeat(2001)})),
            ("message", json!({"operation": "announce", "message": "a\u{0}b"})),
            ("to", json!({"operation": "ask", "message": "x", "to": ""})),
            ("to", json!({"operation": "ask", "message": "x", "to": " "})),
            ("nobody", json!({"operation": "ask", "message": "x", "to": "nobody"})),
            ("you", json!({"operation": "ask", "message": "x", "to": "ada"})),
            ("you", json!({"operation": "handoff", "message": "x", "to": "@ada"})),
            ("to", json!({"operation": "handoff", "message": "x"})),
            ("ask_id", json!({"operation": "reply", "message": "x"})),
            ("message", json!({"operation": "reply", "ask_id": "ask_a"})),
            ("limit", json!({"operation": "inbox", "limit": 0})),
            ("limit", json!({"operation": "inbox", "limit": 101})),
            ("operation", json!({"operation": "shout", "message": "x"})),
            ("wish", json!({"operation": "inbox", "wish": 1})),
        ] {
            let (told, _) = desk.refused(&ada, TOOL, arguments.clone());
            let message = told["message"].as_str().unwrap();
            assert!(message.contains(field) && message.len() < 900, "{field} of {arguments}: {told}");
        }
        // What stands just within the bounds is taken.
        desk.done(&ada, TOOL, claim(json!(numbered[..64])));
        let longest = json!({"operation": "announce", "message": "ä".repeat(2000)});
        let left = desk.watched(&ada, TOOL, longest);
        assert!(left.one("work_events")["payload_json"].as_str().unwrap().contains("ää"), "{left:?}");
        let wide: Vec<String> = (0..64).map(|number| format!("{number}{}", "ä".repeat(510))).collect();
        let left = desk.watched(&ada, TOOL, claim(json!(wide)));
        let kept = left.one("work_events")["payload_json"].as_str().unwrap();
        assert!(left.status() == "ok" && kept.len() < 8192 && kept.contains("more_paths"), "{left:?}");
    });
}

#[test]
fn what_is_anothers_is_answered_like_what_is_not_there() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let eve = desk.invite("eve");
        desk.home.run(&["team", "init", "acme"]).ok();
        desk.home.run(&["team", "init", "other"]).ok();
        let zoe = desk.invite_as("zoe", &["--workspace", "other"], &[]);
        let claim =
            desk.done(&ada, TOOL, json!({"operation": "claim", "paths": ["src"]}))["claim_id"].clone();
        let ask = json!({"operation": "ask", "to": "bob", "message": "x"});
        let ask = desk.done(&ada, TOOL, ask)["ask_id"].clone();
        let open = desk.done(&ada, TOOL, json!({"operation": "ask", "message": "y"}))["ask_id"].clone();
        let nobodys =
            |text: &Value, id: &Value, other: &str| text.to_string().replace(id.as_str().unwrap(), other);
        for token in [&bob, &zoe] {
            for operation in ["claim", "release"] {
                let by = |id: &Value| json!({"operation": operation, "claim_id": id});
                let (told, _) = desk.refused(token, TOOL, by(&claim));
                let (unknown, _) = desk.refused(token, TOOL, by(&json!("claim_aaa")));
                assert_eq!(nobodys(&told, &claim, "claim_aaa"), unknown.to_string());
            }
        }
        for (token, id) in [(&eve, &ask), (&zoe, &ask), (&zoe, &open)] {
            let by = |id: &Value| json!({"operation": "reply", "ask_id": id, "message": "z"});
            let (told, _) = desk.refused(token, TOOL, by(id));
            let (unknown, _) = desk.refused(token, TOOL, by(&json!("ask_aaa")));
            assert_eq!(nobodys(&told, id, "ask_aaa"), unknown.to_string());
        }
        // An open ask is anybody's to answer, and the asker adds to their own.
        for (token, id) in [(&eve, &open), (&ada, &open), (&bob, &ask), (&ada, &ask)] {
            desk.done(token, TOOL, json!({"operation": "reply", "ask_id": id, "message": "z"}));
        }
        // Nothing of another team is in the way, and nothing of it is heard.
        desk.done(&zoe, TOOL, json!({"operation": "claim", "paths": ["src"]}));
        let told = desk.done(&zoe, TOOL, json!({"operation": "summary"}));
        assert_eq!((&told["counts"]["claims"], &told["unread"]), (&json!(1), &json!(0)), "{told}");
        desk.refused(&zoe, TOOL, json!({"operation": "handoff", "to": "ada", "message": "x"}));
        // Releasing paths that somebody else holds releases nothing.
        let told = desk.watched(&bob, TOOL, json!({"operation": "release", "paths": ["src"]}));
        assert_eq!((told.status(), told.events()), ("warning", vec![]));
    });
}

#[test]
fn a_handoff_is_about_one_thing_and_goes_to_somebody_who_is_there() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        desk.invite("gone");
        let zelda = desk.invite_as("zelda", &["--private"], &[]);
        let (task, stream) = (desk.started(&ada, "Retry uploads").0, desk.stream(&ada, "Draw charts"));
        let handoff = |more: Value| {
            let mut call = json!({"operation": "handoff", "to": "bob", "message": "Yours now."});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            call
        };
        let (told, _) = desk.refused(&ada, TOOL, handoff(json!({"task_id": task, "workstream_id": stream})));
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("task_id") && message.contains("workstream_id"), "{told}");
        for (token, more) in [
            (&bob, json!({"to": "ada", "task_id": task})),
            (&bob, json!({"to": "ada", "workstream_id": stream})),
            (&ada, json!({"task_id": "task_aaaaaaaaaaaaaaaa"})),
            (&ada, json!({"workstream_id": task})),
            (&ada, json!({"context_id": "ctx_aaaaaaaaaaaaaaaa"})),
        ] {
            desk.refused(token, TOOL, handoff(more));
        }
        // Somebody who was removed is answered for like somebody who never was.
        desk.home.run(&["team", "remove", "gone"]).ok();
        let (removed, _) = desk.refused(&ada, TOOL, handoff(json!({"to": "gone"})));
        let (nobody, _) = desk.refused(&ada, TOOL, handoff(json!({"to": "nobody"})));
        assert_eq!(removed.to_string().replace("gone", "nobody"), nobody.to_string());
        // One from a private developer arrives, with what they hand over and without who they are.
        let session = desk.session(&zelda);
        let publish = json!({"operation": "publish_context", "title": "Half done", "summary": "Two of four.", "session_id": session,
            "repo": "zelda/app", "branch": "zelda/keys"});
        let context = desk.done(&zelda, "covibe_session", publish)["context_id"].clone();
        let hers = desk.started(&zelda, "Translate the invoice templates").0;
        desk.done(&zelda, TOOL, handoff(json!({"task_id": hers, "session_id": session})));
        let inbox = desk.done(&bob, TOOL, json!({"operation": "inbox"}));
        let told = &inbox["messages"][0];
        assert_eq!(
            (&told["kind"], &told["from"], &told["task_id"], &told["context"]["context_id"]),
            (&json!("handoff"), &json!("@private"), &json!(hers), &context),
            "{inbox}"
        );
        let get = json!({"operation": "get_context", "context_id": context});
        let fetched = desk.done(&bob, "covibe_session", get);
        assert_eq!(fetched["context"]["developer"], "@private", "{fetched}");
        let summary = desk.done(&bob, TOOL, json!({"operation": "summary"}));
        for told in [&inbox, &fetched, &summary] {
            let text = told.to_string();
            assert!(!text.contains("zelda") && !text.contains(&session), "{told}");
        }
    });
}
