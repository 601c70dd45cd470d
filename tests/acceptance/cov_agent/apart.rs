//! Two runs of one agent are two: neither sees what the other issued, nor speaks in its session. And who may no longer follow
//! an intent hears no more of it.

use covenant_testkit::HttpClient;
use covenant_testkit::http::exchange;
use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install};
use super::tokens::handed;
use crate::unhurried;

const MORE: &str = "[capabilities]\noptional = [\"tool.call.*\"]\n";

#[test]
fn a_run_knows_nothing_of_what_another_run_of_its_agent_issued() {
    let home = unhurried();
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let (one, two) = (stage.send("py", "hand-out one go", &[]), stage.send("py", "hand-out two go", &[]));
    let (first, second) = (handed(&stage, "one"), handed(&stage, "two"));
    let body = json!({"text": "say for the first one's eyes", "agent": "py"});
    let (status, issued) = stage.ask(&first, "POST", "intents", &body);
    assert_eq!(status, 200, "{issued}");
    let id = issued["intent_id"].as_str().unwrap();
    assert_eq!(stage.ask(&first, "GET", &format!("intents/{id}"), &Value::Null).0, 200);
    assert_eq!(stage.ask(&first, "GET", "intents", &Value::Null).1.as_array().unwrap().len(), 1);
    for (method, path) in [("GET", ""), ("POST", "/cancel"), ("GET", "/events")] {
        let (status, told) = stage.ask(&second, method, &format!("intents/{id}{path}"), &Value::Null);
        assert_eq!(status, 404, "{method} {path}: {told}");
    }
    assert_eq!(stage.ask(&second, "GET", "intents", &Value::Null), (200, json!([])));
    // Nor can it pass off what it issues as something within the other.
    let body = json!({"text": "say hi", "agent": "py", "parent": one});
    assert_ne!(stage.ask(&second, "POST", "intents", &body).0, 200);
    stage.place("go");
    stage.stands(&one, "ok");
    stage.stands(&two, "ok");
}

#[test]
fn the_session_of_a_run_is_no_other_runs_and_ends_with_it() {
    let home = unhurried();
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let (one, two) = (stage.send("py", "hand-out one go", &[]), stage.send("py", "hand-out two stop", &[]));
    let mut first = HttpClient::new(stage.port, &handed(&stage, "one"));
    let mut second = HttpClient::new(stage.port, &handed(&stage, "two"));
    first.initialize();
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"});
    let own = first.legacy(&list);
    assert_eq!(first.send(&own).status, 200);
    second.resume(first.session());
    let foreign = second.legacy(&list);
    assert_eq!(second.send(&foreign).status, 404);
    let count = || {
        let metrics = exchange(stage.port, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n");
        let line = metrics.lines().find(|line| line.starts_with("covenant_sessions ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(count(), 1);
    stage.place("go");
    stage.stands(&one, "ok");
    until("its session is gone", || (count() == 0).then_some(()));
    assert_eq!(second.send(&foreign).status, 404);
    stage.place("stop");
    stage.stands(&two, "ok");
}

#[test]
fn who_is_revoked_hears_no_more_of_an_intent_it_follows() {
    let home = unhurried();
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let token = stage.client("ada", &["tool.call.*"]);
    let body = json!({"text": "until go", "agent": "py", "wait": false});
    let (status, sent) = stage.ask(&token, "POST", "intents", &body);
    assert_eq!(status, 202, "{sent}");
    let id = sent["intent_id"].as_str().unwrap().to_owned();
    let request = Stage::request(&token, "GET", &format!("intents/{id}/events"), &Value::Null, "");
    let port = stage.port;
    let follows = std::thread::spawn(move || exchange(port, &request));
    stage.stands(&id, "running");
    home.run(&["clients", "revoke", "ada"]).ok();
    // It ends before the intent does, which waits for somebody.
    let heard = follows.join().unwrap();
    assert!(!heard.contains("\"ok\"") && !heard.contains("\"error\""), "{heard}");
    home.run(&["intents", "cancel", &id]).ok();
}

#[test]
fn nobody_takes_up_all_the_room_in_the_queue() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[agents]\nconcurrency = 1\n");
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let token = stage.client("ada", &["tool.call.*"]);
    let first = stage.send("py", "until go", &[]);
    stage.stands(&first, "running");
    let body = json!({"text": "say hi", "agent": "py", "wait": false, "priority": "low"});
    let accepted = (0..300).filter(|_| stage.ask(&token, "POST", "intents", &body).0 == 202).count();
    assert_eq!(accepted, 256);
    let (_, refused) = stage.ask(&token, "POST", "intents", &body);
    let told = refused["error"]["message"].as_str().unwrap();
    assert!(told.starts_with("256 intents of client:ada wait already"), "{told}");
    let other = stage.send("py", "say there is room for others", &[]);
    stage.place("go");
    stage.stands(&other, "ok");
}
