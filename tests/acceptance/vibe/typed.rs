//! What whoever types the commands of teams is told: how they end, and what to do next.

use covenant_testkit::{Home, Ran};
use serde_json::{Value, json};

use crate::unhurried;

fn call(home: &Home, arguments: &Value, json: &[&str]) -> Ran {
    let arguments = arguments.to_string();
    home.run(&[&["tools", "call", "covibe_task", "--args", &arguments], json].concat())
}

/// Runs a command as whoever holds that token.
fn by(home: &Home, token: &str, arguments: &[&str]) -> Ran {
    home.command(arguments).env("COVENANT_TOKEN", token).run()
}

fn token(home: &Home, who: &str) -> String {
    home.run(&["tokens", "create", "--for", who]).ok().stdout.trim().to_owned()
}

/// The error that stands as the last line on standard error.
fn error(ran: &Ran) -> Value {
    let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    last["error"].clone()
}

#[test]
fn a_refused_call_of_a_teams_tool_ends_like_that_of_any_other() {
    let home = unhurried();
    let _daemon = home.up();
    let nonsense = json!({"operation": "nope"});
    let ran = call(&home, &nonsense, &["--json"]).exits(2);
    assert_eq!(error(&ran)["code"], "invalid_arguments");
    assert_eq!(ran.json()["structuredContent"]["status"], "error", "{ran:?}");
    let told = call(&home, &nonsense, &[]).exits(2);
    let all =
        r#""nope" is not one of "check", "plan", "start", "start_planned", "update", "complete", "cancel""#;
    assert!(told.stderr.contains(all), "{told:?}");
    assert!(told.stderr.contains("covenant tools show covibe_task"), "{told:?}");
    // What the schema lets pass, and the tool does not.
    let blank = json!({"operation": "check", "title": " \t", "task_type": "bug"});
    assert_eq!(error(&call(&home, &blank, &["--json"]).exits(2))["code"], "invalid_arguments");
    // What a tool itself says no to is its answer, and no refusal.
    let start =
        json!({"operation": "start", "title": "Weigh every piano in the warehouse", "task_type": "bug"});
    let blocked = call(&home, &start, &["--json"]).exits(1);
    assert_eq!(
        (&blocked.json()["structuredContent"]["status"], blocked.stderr.as_str()),
        (&json!("blocked"), "")
    );
    let stranger = home.run(&["clients", "add", "other"]).ok().stdout.trim().to_owned();
    let arguments = start.to_string();
    let refused =
        by(&home, &stranger, &["tools", "call", "covibe_task", "--args", &arguments, "--json"]).exits(3);
    assert_eq!(error(&refused)["code"], "not_granted");
}

#[test]
fn a_tool_that_does_several_things_is_shown_in_tables() {
    let home = unhurried();
    let _daemon = home.up();
    let shown = home.run(&["tools", "show", "covibe_task"]).ok();
    assert!(shown.stdout.contains("complete       task_id, result_summary\n"), "{shown:?}");
    assert!(shown.stdout.contains("low | normal | high | urgent"), "{shown:?}");
    assert!(shown.stdout.lines().count() < 60 && shown.stderr.contains("--json"), "{shown:?}");
    assert!(
        home.run(&["tools", "show", "covibe_task", "--json"]).ok().json()["inputSchema"]["if"].is_object()
    );
    assert!(home.run(&["tools", "show", "echo"]).ok().stdout.contains("\"properties\""));
}

#[test]
fn events_say_what_the_work_is_called() {
    let home = unhurried();
    let _daemon = home.up();
    let plan =
        json!({"operation": "plan", "title": "Weigh every piano in the warehouse", "task_type": "bug"});
    call(&home, &plan, &[]).ok();
    let events = home.run(&["team", "events"]).ok().stdout;
    let planned = events.lines().find(|line| line.contains("task.planned")).unwrap();
    assert!(planned.ends_with("Weigh every piano in the warehouse"), "{events}");
}

/// VIBE-175, VIBE-176, VIBE-183: what changed, that calls were made and what agents were told has one shape for programs.
#[test]
fn events_are_printed_for_programs_in_one_shape() {
    let home = unhurried();
    let _daemon = home.up();
    let title = "Weigh every piano in the warehouse";
    let task = |operation: &str| json!({"operation": operation, "title": title, "task_type": "bug"});
    let start = json!({"operation": "start"}).to_string();
    let told = home.run(&["tools", "call", "covibe_session", "--args", &start, "--json"]).ok().json();
    let session = &told["structuredContent"]["data"]["session_id"];
    let mut plan = task("plan");
    plan["session_id"] = session.clone();
    let planned = call(&home, &plan, &["--json"]).ok().json()["structuredContent"]["data"].clone();
    call(&home, &task("start"), &[]).exits(1);
    let events = |kind: &str, most: &str| {
        let told = home.run(&["team", "events", "--kind", kind, "-n", most, "--json"]).ok().json();
        for event in told.as_array().unwrap() {
            let members: Vec<&String> = event.as_object().unwrap().keys().collect();
            let shape =
                ["at", "developer", "event", "id", "payload_json", "session_id", "status", "subject_id"];
            assert_eq!(members, shape, "{kind}");
            assert!(event["id"].as_str().unwrap().starts_with("evt_"), "{event}");
            assert_eq!(event["developer"], "local", "{event}");
            assert!(event["payload_json"].is_object(), "{event}");
            let at = event["at"].as_str().unwrap();
            assert!(at.len() == 24 && at.ends_with('Z') && at.contains('T'), "{event}");
        }
        told
    };
    // The newest last.
    let work = events("work", "50");
    let names: Vec<&Value> = work.as_array().unwrap().iter().map(|event| &event["event"]).collect();
    assert_eq!(names[0], "session.started", "{work}");
    let made = work.as_array().unwrap().iter().find(|event| event["event"] == "task.planned").unwrap();
    assert_eq!(
        (&made["session_id"], &made["subject_id"], &made["status"], &made["payload_json"]["title"]),
        (session, &planned["task_id"], &json!("planned"), &json!(title))
    );
    let usage = events("usage", "2");
    let said = |event: &Value| (event["event"].clone(), event["status"].clone(), event["session_id"].clone());
    assert_eq!(
        usage.as_array().unwrap().iter().map(said).collect::<Vec<_>>(),
        [
            (json!("covibe_task.plan"), json!("ok"), session.clone()),
            (json!("covibe_task.start"), json!("blocked"), Value::Null)
        ]
    );
    let feedback = events("feedback", "1");
    assert_eq!(said(&feedback[0]), (json!("covibe_task.start"), json!("blocked"), Value::Null), "{feedback}");
    assert_eq!(feedback.as_array().unwrap().len(), 1);
}

/// The tokens of others are for an admin; of those whom somebody may not know of nothing is said.
#[test]
fn whose_tokens_are_not_ones_own_is_said_of_those_one_knows() {
    let home = unhurried();
    let _daemon = home.up();
    for invited in [&["ada", "--role", "admin"][..], &["bob"], &["eve", "--private"]] {
        home.run(&[&["team", "invite"], invited].concat()).ok();
    }
    home.run(&["team", "init", "first"]).ok();
    home.run(&["team", "init", "other"]).ok();
    home.run(&["team", "invite", "zoe", "--workspace", "other"]).ok();
    let (ada, bob) = (token(&home, "ada"), token(&home, "bob"));
    for command in ["list", "create"] {
        for (who, whose, code, exit) in [
            (&bob, "ada", "not_admin", 3),
            (&bob, "local", "not_admin", 3),
            (&ada, "local", "not_admin", 3),
            (&bob, "eve", "not_found", 2),
            (&bob, "zoe", "not_found", 2),
            (&ada, "zoe", "not_found", 2),
            (&bob, "nobody", "not_found", 2),
        ] {
            let ran = by(&home, who, &["tokens", command, "--for", whose, "--json"]).exits(exit);
            assert_eq!(error(&ran)["code"], code, "{ran:?}");
            if (who, whose) == (&ada, "local") {
                assert!(
                    error(&ran)["message"].as_str().unwrap().contains("`local` is the operator"),
                    "{ran:?}"
                );
            }
        }
    }
    by(&home, &ada, &["tokens", "list", "--for", "eve"]).ok();
}

#[test]
fn tokens_and_invitations_say_what_there_is_and_what_ends() {
    let home = unhurried();
    let _daemon = home.up();
    let first = home.run(&["team", "invite", "bob"]).ok().stderr;
    assert!(first.contains("bob chooses how they sign in") && !first.contains("password"), "{first}");
    assert!(!first.contains("has ended"), "{first}");
    let none = home.run(&["tokens", "list", "--for", "bob"]).ok().stderr;
    assert!(none.contains("bob has no token; make one with: covenant tokens create --for bob"), "{none}");
    let again = home.run(&["team", "invite", "bob", "--again"]).ok().stderr;
    assert!(again.contains("The earlier link has ended.") && again.contains("sessions"), "{again}");
    let made = home.run(&["tokens", "create", "--for", "bob", "--json"]).ok().json();
    let members: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(members, ["developer", "id", "label", "token"]);
    assert_eq!((&made["developer"], &made["label"]), (&json!("bob"), &json!("token")));
    home.run(&["team", "init", "acme"]).ok();
    let taken = home.run(&["team", "init", "ACME"]).exits(2).stderr;
    assert!(taken.contains("there is already a workspace `acme`"), "{taken}");
    let no_id = home.run(&["capabilities", "revoke", "grant_x"]).exits(2).stderr;
    assert!(no_id.contains("covenant capabilities list"), "{no_id}");
    let dead =
        by(&home, "cv_oksYyxTm6OHQ7wkwjHzTk7XqrhRFTwswuMUcE3jOI4Q", &["tools", "list"]).exits(3).stderr;
    assert!(dead.contains("covenant tokens create") && dead.contains("covenant clients add"), "{dead}");
}
