//! What a team's records do not hold, do not tell, and are not filled with.

use std::fs;

use covenant_testkit::http;
use serde_json::{Value, json};

use crate::{home, unhurried};

/// Posts that to `/api/mcp` as whoever holds that token; the status, and what was answered.
fn post(port: u16, token: &str, body: &str) -> (String, Value) {
    let length = body.len();
    let answer = http::exchange(
        port,
        &format!(
            "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        ),
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().to_owned();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn call(port: u16, token: &str, tool: &str, arguments: &Value) -> Value {
    let (status, told) = post(port, token, &json!({"tool": tool, "arguments": arguments}).to_string());
    assert_eq!((status.as_str(), &told["status"]), ("200", &json!("ok")), "{told}");
    told
}

#[test]
fn a_secret_in_a_title_or_a_note_is_not_kept() {
    let home = unhurried();
    let daemon = home.up();
    home.command(&["secrets", "set", "DOOR"]).input("open-sesame-4711").run().ok();
    home.run(&["team", "invite", "ada"]).ok();
    let token = home.run(&["tokens", "create", "--for", "ada"]).ok().stdout.trim().to_owned();
    let note = json!({"kind": "decision", "text": format!("it is open-sesame-4711, by {token}")});
    call(daemon.port(), &token, "covibe_note", &note);
    let title = "Say open-sesame-4711";
    let check = json!({"operation": "check", "title": title, "task_type": "bug"});
    call(daemon.port(), &token, "covibe_task", &check);
    let start = json!({"operation": "start", "title": title, "task_type": "bug"});
    call(daemon.port(), &token, "covibe_task", &start);
    daemon.stop();
    for name in ["covenant.db", "covenant.db-wal"] {
        let kept = fs::read(home.path().join(name)).unwrap_or_default();
        for secret in ["open-sesame-4711", &token] {
            let found = kept.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {name}");
        }
    }
}

#[test]
fn whoever_sends_nonsense_is_held_to_the_limit_too() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0.001\nburst = 4\n");
    let daemon = home.up();
    home.run(&["team", "invite", "ada"]).ok();
    let token = home.run(&["tokens", "create", "--for", "ada"]).ok().stdout.trim().to_owned();
    let statuses: Vec<String> = (0..6).map(|_| post(daemon.port(), &token, "nonsense").0).collect();
    assert_eq!(statuses, ["400", "400", "400", "400", "429", "429"]);
}

#[test]
fn what_a_private_developer_calls_an_agent_is_not_told_to_teammates() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["team", "invite", "eve", "--private"]).ok();
    home.run(&["team", "invite", "bob"]).ok();
    let token = |who: &str| {
        let made = home.run(&["tokens", "create", "--for", who, "--label", &format!("{who}s-laptop")]);
        made.ok().stdout.trim().to_owned()
    };
    let (eve, bob) = (token("eve"), token("bob"));
    let start = json!({"operation": "start", "agent_name": "Eve's helper"});
    let session = call(daemon.port(), &eve, "covibe_session", &start)["data"]["session_id"].clone();
    // What she is told of her own earlier plan calls her by her handle.
    let title = "Retry failed uploads with exponential backoff";
    let plan = json!({"operation": "plan", "title": title, "task_type": "bug", "session_id": session});
    call(daemon.port(), &eve, "covibe_task", &plan);
    let check = json!({"operation": "check", "title": title, "task_type": "bug"});
    let body = json!({"tool": "covibe_task", "arguments": check}).to_string();
    let (_, told) = post(daemon.port(), &eve, &body);
    assert_eq!((&told["status"], &told["data"]["matches"][0]["owner"]), (&json!("warning"), &json!("eve")));
    for kind in ["work", "usage", "feedback"] {
        let events = |who: &str| {
            let asked = home.command(&["team", "events", "--kind", kind, "--json"]);
            asked.env("COVENANT_TOKEN", who).run().ok().stdout
        };
        let (own, others) = (events(&eve), events(&bob));
        let of_hers = if kind == "feedback" { "\"eve\"" } else { session.as_str().unwrap() };
        assert!(own.contains(of_hers) && others.contains("@private"), "{own} {others}");
        for told in [session.as_str().unwrap(), "Eve's helper", "eves-laptop", "eve\""] {
            assert!(!others.contains(told), "{told}: {others}");
        }
    }
}
