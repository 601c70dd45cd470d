//! Teammates who keep out of each other's way: claims, messages, handoffs, and what becomes of them.

use covenant_testkit::HttpClient;
use serde_json::{Value, json};

use super::desk::{Desk, on_both, payload, word};

const TOOL: &str = "covibe_coordination";

/// What is in an inbox, newest first.
#[track_caller]
fn inbox(desk: &Desk<'_>, token: &str) -> Vec<Value> {
    desk.done(token, TOOL, json!({"operation": "inbox"}))["messages"].as_array().unwrap().clone()
}

/// VIBE-47: one tool has all of it, and every operation does what it says and is written down by its name.
#[test]
fn the_coordination_tool_offers_every_operation_and_does_it() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let mut client = HttpClient::new(desk.port(), &ada);
        client.initialize();
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let schema = &tools.iter().find(|tool| tool["name"] == TOOL).unwrap()["inputSchema"];
        let operations = json!([
            "announce",
            "claim",
            "release",
            "ask",
            "reply",
            "handoff",
            "check_conflicts",
            "summary",
            "inbox"
        ]);
        assert_eq!(schema["properties"]["operation"]["enum"], operations);
        assert_eq!(schema["additionalProperties"], false);
        assert!(["oneOf", "anyOf", "allOf"].iter().all(|choice| schema.get(choice).is_none()), "{schema}");
        assert_eq!(schema["properties"]["ttl_minutes"]["maximum"], 1440);
        assert_eq!(schema["properties"]["paths"]["maxItems"], 64);

        let act = |token: &str, arguments: Value, status: &str, events: &[&str]| {
            let left = desk.watched(token, TOOL, arguments.clone());
            assert_eq!((left.status(), left.events()), (status, events.to_vec()), "{arguments}: {left:?}");
            let operation = arguments["operation"].as_str().unwrap();
            assert_eq!(left.one("usage_events")["event"], format!("{TOOL}.{operation}"));
            for event in left.of("work_events") {
                assert!(event["payload_json"].as_str().unwrap().len() < 8192, "{event}");
            }
            left.envelope["data"].clone()
        };
        act(
            &ada,
            json!({"operation": "announce", "message": "I rework uploads."}),
            "ok",
            &["coordination.announce"],
        );
        let claim =
            json!({"operation": "claim", "paths": ["src/auth/**", "docs/auth.md"], "message": "uploads"});
        let held = act(&ada, claim.clone(), "ok", &["coordination.claim"]);
        let id = word(&held, "claim_id");
        assert_eq!(held["granted"], json!(["src/auth/**", "docs/auth.md"]));
        let held = act(&ada, claim, "ok", &["coordination.claim"]);
        assert_eq!(held["claim_id"], id, "said again, it is the same, renewed");
        assert_eq!(desk.book("claims").len(), 1);

        // What somebody holds is refused, the rest is granted.
        let some =
            json!({"operation": "claim", "paths": ["src/auth/login.rs", "src/pay.rs"], "ttl_minutes": 5});
        let told = act(&bob, some, "warning", &["coordination.claim"]);
        assert_eq!(told["granted"], json!(["src/pay.rs"]), "{told}");
        let refused = &told["refused"][0];
        assert_eq!(
            (&refused["path"], &refused["held_path"]),
            (&json!("src/auth/login.rs"), &json!("src/auth/**"))
        );
        assert_eq!((&refused["held_by"], &refused["claim_id"]), (&json!("ada"), &json!(id)));
        assert_eq!(
            (&refused["same_developer"], &refused["expires_at"]),
            (&json!(false), &held["expires_at"])
        );
        let none = json!({"operation": "claim", "paths": ["src/auth/*.rs"]});
        let told = act(&bob, none, "blocked", &[]);
        assert_eq!((&told["granted"], &told["claim_id"]), (&json!([]), &Value::Null), "{told}");
        let elsewhere = json!({"operation": "claim", "paths": ["src/pay.rs"], "repo": "acme/site"});
        act(&ada, elsewhere, "blocked", &[]);
        let theirs = json!({"operation": "claim", "paths": ["lib.rs"], "repo": "acme/app"});
        act(&bob, theirs, "ok", &["coordination.claim"]);
        let other = json!({"operation": "claim", "paths": ["lib.rs"], "repo": "acme/site"});
        act(&ada, other, "ok", &["coordination.claim"]);
        act(
            &ada,
            json!({"operation": "claim", "claim_id": id, "ttl_minutes": 10}),
            "ok",
            &["coordination.claim"],
        );

        let snapshot =
            json!({"operation": "snapshot", "repo": "acme/app", "dirty_files": ["src/auth/new.rs"]});
        desk.done(&ada, "covibe_session", snapshot);
        let check = json!({"operation": "check_conflicts", "paths": ["src/auth"], "repo": "acme/app"});
        let told = act(&bob, check.clone(), "warning", &[]);
        assert_eq!(told["claims"][0]["claim_id"], id, "{told}");
        assert_eq!(told["worktrees"][0]["files"], json!([{"path": "src/auth/new.rs", "state": "dirty"}]));
        act(&ada, check, "ok", &[]);

        let asked = act(
            &ada,
            json!({"operation": "ask", "to": "bob", "message": "Done?"}),
            "ok",
            &["coordination.ask"],
        );
        let reply = json!({"operation": "reply", "ask_id": asked["ask_id"], "message": "Soon."});
        act(&bob, reply.clone(), "ok", &["coordination.reply"]);
        act(&bob, reply, "warning", &[]);
        let handoff = json!({"operation": "handoff", "to": "@bob", "message": "Take over."});
        act(&ada, handoff, "warning", &["coordination.handoff"]);
        let told = act(&bob, json!({"operation": "summary"}), "ok", &[]);
        assert_eq!(
            told["counts"],
            json!({"claims": 4, "open_asks": 0, "handoffs_waiting": 1, "announcements": 1})
        );
        assert!(word(&told, "text").contains("I rework uploads."), "{told}");

        let release = json!({"operation": "release", "claim_id": id});
        act(&ada, release.clone(), "ok", &["coordination.release"]);
        act(&ada, release, "warning", &[]);
        let release = json!({"operation": "release", "paths": ["lib.rs", "other.rs"], "repo": "acme/site"});
        assert_eq!(
            act(&ada, release.clone(), "ok", &["coordination.release"])["not_held"],
            json!(["other.rs"])
        );
        act(&ada, release, "warning", &[]);
        let kinds: Vec<String> = inbox(desk, &bob).iter().map(|told| word(told, "kind")).collect();
        assert_eq!(kinds, ["freed", "handoff", "reply", "ask", "announce"]);
    });
}

/// VIBE-61: a handoff carries the giver's active context, which its receiver fetches.
#[test]
fn a_handoff_attaches_the_givers_context_and_the_receiver_fetches_it() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let publish = |token: &str, title: &str| {
            let arguments = json!({"operation": "publish_context", "title": title, "summary": "Two of four.", "branch": title});
            word(&desk.done(token, "covibe_session", arguments), "context_id")
        };
        let (older, _) = (publish(&ada, "older"), publish(&bob, "bob's"));
        let newest = publish(&ada, "newest");
        let (task, _) = desk.started(&ada, "Retry uploads");
        let handoff = json!({"operation": "handoff", "to": "bob", "message": "Yours now.", "task_id": task});
        let left = desk.watched(&ada, TOOL, handoff);
        assert_eq!((left.status(), &left.envelope["data"]["context_id"]), ("ok", &json!(newest)), "{left:?}");
        assert_eq!(payload(left.one("work_events"))["context"]["context_id"], newest);
        assert_eq!(desk.row("tasks", &task)["status"], "active", "whose work it is does not change");
        let told = &inbox(desk, &bob)[0];
        assert_eq!(
            (&told["kind"], &told["from"], &told["unread"]),
            (&json!("handoff"), &json!("ada"), &json!(true))
        );
        assert_eq!((&told["context"]["title"], &told["task_id"]), (&json!("newest"), &json!(task)));
        assert!(told["context"]["expires_at"].is_string(), "{told}");
        let get = json!({"operation": "get_context", "context_id": told["context"]["context_id"]});
        assert_eq!(desk.done(&bob, "covibe_session", get)["context"]["summary"], "Two of four.");
        // One that is named goes with it; not another's, nor one that does not count any more.
        let named = |context: &str| json!({"operation": "handoff", "to": "bob", "message": "x", "context_id": context});
        assert_eq!(desk.done(&ada, TOOL, named(&older))["context"]["title"], "older");
        desk.refused(
            &bob,
            TOOL,
            json!({"operation": "handoff", "to": "ada", "message": "x", "context_id": newest}),
        );
        desk.done(&ada, "covibe_session", json!({"operation": "revoke_context", "context_id": older}));
        desk.refused(&ada, TOOL, named(&older));
        desk.refused(
            &bob,
            TOOL,
            json!({"operation": "handoff", "to": "ada", "message": "x", "task_id": task}),
        );
    });
}

#[test]
fn what_lapses_is_told_and_an_inbox_is_read_once() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let session = desk.session(&ada);
        let claim = json!({"operation": "claim", "paths": ["src"], "session_id": session});
        let id = word(&desk.done(&ada, TOOL, claim), "claim_id");
        assert_eq!(
            desk.call(&bob, TOOL, json!({"operation": "claim", "paths": ["src/a.rs"]}))["status"],
            "blocked"
        );
        desk.meddle(&format!("UPDATE claims SET expires_at = created_at + 1 WHERE id = '{id}'"));
        let left = desk.watched(&bob, TOOL, json!({"operation": "claim", "paths": ["src/a.rs"]}));
        assert_eq!(
            (left.status(), left.events()),
            ("ok", vec!["coordination.claim", "coordination.expired"])
        );
        let expired =
            left.of("work_events").iter().find(|event| event["event"] == "coordination.expired").unwrap();
        assert_eq!((&expired["session_id"], &expired["subject_id"]), (&json!(session), &json!(id)));
        let beat = json!({"operation": "heartbeat", "session_id": session});
        let told = desk.done(&ada, "covibe_session", beat.clone());
        assert_eq!(
            (&told["expired_claims"][0]["claim_id"], &told["unread"]),
            (&json!(id), &json!(1)),
            "{told}"
        );
        assert_eq!(desk.done(&ada, "covibe_session", beat)["expired_claims"], json!([]));
        for unread in [true, false] {
            let told = inbox(desk, &ada);
            assert_eq!(
                (&told[0]["kind"], &told[0]["unread"]),
                (&json!("expired"), &json!(unread)),
                "{told:?}"
            );
        }
        let only = desk.done(&ada, TOOL, json!({"operation": "inbox", "unread_only": true}));
        assert_eq!((&only["messages"], &only["unread"]), (&json!([]), &json!(0)));
        assert_eq!(inbox(desk, &bob)[0]["kind"], "freed");
        // Two sessions of one developer are in each other's way too.
        let other = desk.session(&bob);
        let told =
            desk.call(&bob, TOOL, json!({"operation": "claim", "paths": ["src/*"], "session_id": other}));
        assert_eq!(
            (&told["status"], &told["data"]["refused"][0]["same_developer"]),
            (&json!("blocked"), &json!(true))
        );
    });
}

#[test]
fn a_private_developer_is_at_private_in_claims_and_messages_and_cannot_be_addressed() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let zelda = desk.invite_as("zelda", &["--private"], &[]);
        let session = desk.session(&zelda);
        let claim =
            json!({"operation": "claim", "paths": ["src"], "session_id": session, "repo": "zelda/app"});
        desk.done(&zelda, TOOL, claim);
        desk.done(&zelda, TOOL, json!({"operation": "announce", "message": "I am here."}));
        let ask = desk.done(&zelda, TOOL, json!({"operation": "ask", "message": "Who knows?"}));
        let mut told = vec![
            desk.call(&ada, TOOL, json!({"operation": "claim", "paths": ["src/a.rs"]})),
            desk.call(&ada, TOOL, json!({"operation": "check_conflicts", "paths": ["src/a.rs"]})),
            desk.call(&ada, TOOL, json!({"operation": "summary"})),
            desk.call(&ada, TOOL, json!({"operation": "inbox"})),
        ];
        desk.done(&ada, TOOL, json!({"operation": "reply", "ask_id": ask["ask_id"], "message": "I do."}));
        desk.done(&zelda, TOOL, json!({"operation": "release", "paths": ["src"], "session_id": session}));
        told.push(desk.call(&ada, TOOL, json!({"operation": "inbox"})));
        for told in told {
            let text = told.to_string();
            assert!(text.contains("@private"), "{told}");
            assert!(!text.contains("zelda") && !text.contains(&session), "{told}");
        }
        assert_eq!(inbox(desk, &zelda)[0]["message"], "I do.");
        // What happened is listed for everybody: neither whose it was, nor what one was told by another.
        let claim =
            json!({"operation": "claim", "paths": ["docs"], "session_id": session, "repo": "zelda/app"});
        let held = word(&desk.done(&zelda, TOOL, claim), "claim_id");
        desk.meddle(&format!("UPDATE claims SET expires_at = 1 WHERE id = '{held}'"));
        let quietly = "Between the two of us.";
        for operation in ["ask", "handoff"] {
            desk.call(&zelda, TOOL, json!({"operation": operation, "to": "ada", "message": quietly}));
        }
        let asked = inbox(desk, &ada).into_iter().find(|told| told["kind"] == "ask").unwrap();
        let reply = json!({"operation": "reply", "ask_id": asked["ask_id"], "message": quietly});
        desk.done(&ada, TOOL, reply);
        let events = desk.home.command(&["team", "events", "--json"]);
        let events = events.env("COVENANT_TOKEN", desk.invite("bob")).run().ok().stdout;
        assert!(
            !events.contains("zelda") && !events.contains(&session) && !events.contains(quietly),
            "{events}"
        );
        assert!(
            events.contains("I am here.") && events.contains("Who knows?"),
            "what all were told: {events}"
        );
        for kind in ["claim", "release", "expired", "ask", "reply", "handoff"] {
            assert!(events.contains(&format!("\"coordination.{kind}\"")), "{kind}: {events}");
        }
        for operation in ["ask", "handoff"] {
            let to = |handle: &str| json!({"operation": operation, "to": handle, "message": "x"});
            let (hidden, _) = desk.refused(&ada, TOOL, to("zelda"));
            let (nobody, _) = desk.refused(&ada, TOOL, to("nobody"));
            assert_eq!(hidden.to_string().replace("zelda", "nobody"), nobody.to_string());
        }
    });
}

#[test]
fn what_a_session_holds_and_hears_is_its_own() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let (one, two) = (desk.session(&ada), desk.session(&ada));
        let claim = json!({"operation": "claim", "paths": ["src/auth"], "session_id": one});
        let id = word(&desk.done(&ada, TOOL, claim), "claim_id");
        for session in [json!({}), json!({"session_id": two})] {
            let mut release = json!({"operation": "release", "paths": ["src/auth"]});
            release.as_object_mut().unwrap().extend(session.as_object().unwrap().clone());
            let told = desk.call(&ada, TOOL, release);
            assert_eq!(
                (&told["status"], &told["data"]["released"]),
                (&json!("warning"), &json!([])),
                "{told}"
            );
        }
        // It expires: whoever asks in no session sees that, and the session itself is still told.
        desk.meddle(&format!("UPDATE claims SET expires_at = 1 WHERE id = '{id}'"));
        let heard =
            |arguments: Value| desk.done(&ada, TOOL, arguments)["expired_claims"].as_array().unwrap().len();
        assert_eq!(heard(json!({"operation": "summary"})), 1);
        assert_eq!(heard(json!({"operation": "summary", "session_id": two})), 0);
        assert_eq!(heard(json!({"operation": "summary", "session_id": one})), 1);
        assert_eq!(heard(json!({"operation": "summary", "session_id": one})), 0, "once");
        assert_eq!(heard(json!({"operation": "summary"})), 0, "and nobody else any more");

        // What another agent of the same developer means to touch is told too.
        let start = |operation: &str| {
            json!({"operation": operation, "title": "Retry failed uploads", "task_type": "bug",
                "target_files": ["src/upload.rs"], "session_id": one})
        };
        desk.done(&ada, "covibe_task", start("check"));
        desk.done(&ada, "covibe_task", start("start"));
        let conflicts = |session: &str| {
            let check = json!({"operation": "check_conflicts", "paths": ["src/*.rs"], "session_id": session});
            desk.call(&ada, TOOL, check)["data"].clone()
        };
        let told = conflicts(&two);
        assert_eq!(
            (&told["tasks"][0]["same_developer"], &told["looked_at_all"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(conflicts(&one)["tasks"], json!([]));
    });
}
