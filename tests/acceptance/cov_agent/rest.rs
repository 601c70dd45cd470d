//! Intents over HTTP: waited for or followed, taken back, and nobody else's business.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use covenant_testkit::http::exchange;
use covenant_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Language, Stage, install};
use crate::unhurried;

const MORE: &str = "[capabilities]\noptional = [\"tool.call.workspace_*\"]\n";

#[test]
fn an_intent_that_is_not_waited_for_has_a_place_where_it_is_followed() {
    let home = unhurried();
    install(&home, "py", Language::Python, MORE);
    let stage = Stage::up(&home);
    let operator = stage.operator();
    let (status, whole) = stage.ask(&operator, "POST", "intents", &json!({"text": "say hi"}));
    assert_eq!((status, &whole["text"], &whole["status"]), (200, &json!("hi"), &json!("ok")));

    let body = json!({"text": "until go", "wait": false, "priority": "low"});
    let answer = exchange(stage.port, &Stage::request(&operator, "POST", "intents", &body, ""));
    assert!(answer.starts_with("HTTP/1.0 202"), "{answer}");
    let (head, taken) = answer.split_once("\r\n\r\n").unwrap();
    let taken: Value = serde_json::from_str(taken).unwrap();
    let id = taken["intent_id"].as_str().unwrap();
    assert_eq!(
        (&taken["status"], &taken["url"]),
        (&json!("queued"), &json!(format!("/api/v1/intents/{id}")))
    );
    assert!(head.to_lowercase().contains(&format!("location: /api/v1/intents/{id}")), "{head}");
    stage.stands(id, "running");
    let read = |accept: &str| {
        let request = Stage::request(&operator, "GET", &format!("intents/{id}/events"), &Value::Null, accept);
        let port = stage.port;
        std::thread::spawn(move || exchange(port, &request))
    };
    let (lines, events) = (read(""), read("Accept: text/event-stream\r\n"));
    stage.place("go");
    let (lines, events) = (lines.join().unwrap(), events.join().unwrap());
    let of = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (head, body) = lines.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/x-ndjson"), "{head}");
    let lines: Vec<Value> = body.lines().map(of).collect();
    let over = json!({"intent_id": id, "event": "ok", "text": "there it is"});
    assert_eq!(lines.last(), Some(&over));
    assert!(lines.iter().all(|line| line["intent_id"] == id), "{lines:?}");
    let (head, body) = events.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    let last = body.trim_end().rsplit("\n\n").next().unwrap();
    assert_eq!(last.lines().next(), Some("event: ok"));
    assert_eq!(of(last.lines().nth(1).unwrap().strip_prefix("data: ").unwrap()), over);
    // One that is over is told at once.
    let later = exchange(
        stage.port,
        &Stage::request(&operator, "GET", &format!("intents/{id}/events"), &Value::Null, ""),
    );
    assert_eq!(of(later.split_once("\r\n\r\n").unwrap().1.trim()), over);
    let shown = stage.ask(&operator, "GET", &format!("intents/{id}"), &Value::Null).1;
    assert_eq!(
        (&shown["status"], &shown["priority"], &shown["request"]),
        (&json!("ok"), &json!("low"), &json!("until go"))
    );
}

#[test]
fn an_intent_is_taken_back_by_word_or_by_hanging_up() {
    let home = unhurried();
    install(&home, "py", Language::Python, "");
    let stage = Stage::up(&home);
    let operator = stage.operator();
    let id = stage.send("py", "stay", &[]);
    stage.stands(&id, "running");
    let cancel = format!("intents/{id}/cancel");
    let (status, shown) = stage.ask(&operator, "POST", &cancel, &json!({}));
    assert_eq!((status, &shown["status"]), (200, &json!("cancelled")), "{shown}");
    assert_eq!(shown["credits"], 1, "it ran, and has cost what it has cost");
    stage.nothing_left();
    let (status, over) = stage.ask(&operator, "POST", &cancel, &json!({}));
    assert_eq!((status, &over["error"]["code"]), (409, &json!("over")), "{over}");
    let again = home.run(&["intents", "cancel", &id]).exits(2);
    assert!(again.stderr.contains("is over already (cancelled)"), "{}", again.stderr);
    let kinds: Vec<(String, String)> = stage.way(&shown["call"]);
    assert_eq!(kinds.first().map(|(kind, _)| kind.as_str()), Some("CallStarted"));
    assert_eq!(kinds.len(), 2, "and an end: {kinds:?}");

    let mut wire = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
    let request = Stage::request(&operator, "POST", "intents", &json!({"text": "stay"}), "");
    wire.write_all(request.as_bytes()).unwrap();
    let running = until("it runs", || {
        let all = home.run(&["intents", "list", "--json"]).ok().json();
        (all[0]["status"] == "running").then(|| all[0]["intent_id"].as_str().unwrap().to_owned())
    });
    drop(wire);
    let shown = stage.stands(&running, "cancelled");
    assert_eq!(shown["call"].as_str().map(|call| call.starts_with("call_")), Some(true));
    stage.nothing_left();

    // Whoever only looks on may go without harm.
    let id = stage.send("py", "stay", &[]);
    let mut wire = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
    wire.write_all(
        Stage::request(&operator, "GET", &format!("intents/{id}/events"), &Value::Null, "").as_bytes(),
    )
    .unwrap();
    assert!(wire.read(&mut [0; 1]).unwrap() > 0);
    drop(wire);
    stage.stands(&id, "running");
    home.run(&["intents", "cancel", &id]).ok();
    let missing = "01234567-89ab-4cde-8f01-23456789abcd";
    assert_eq!(stage.ask(&operator, "POST", &format!("intents/{missing}/cancel"), &json!({})).0, 404);
    home.run(&["intents", "show", missing]).exits(2);
}

/// A client sees what it sent itself, and the operator sees everything.
#[test]
fn intents_of_another_are_not_there() {
    let home = unhurried();
    install(&home, "py", Language::Python, "");
    let stage = Stage::up(&home);
    let ada = stage.client("ada", &["tool.call.agent__py"]);
    let bob = stage.client("bob", &["tool.call.agent__py"]);
    let send = |token: &str, text: &str| {
        stage.ask(token, "POST", "intents", &json!({"text": text, "agent": "py", "wait": false})).1["intent_id"].as_str().unwrap().to_owned()
    };
    let (hers, his) = (send(&ada, "stay"), send(&bob, "stay"));
    stage.stands(&hers, "running");
    stage.stands(&his, "running");
    for (method, path) in [("GET", ""), ("GET", "/events"), ("POST", "/cancel")] {
        let body = if method == "POST" { json!({}) } else { Value::Null };
        let (status, answer) = stage.ask(&bob, method, &format!("intents/{hers}{path}"), &body);
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")), "{answer}");
    }
    let of = |token: &str| {
        let all = stage.ask(token, "GET", "intents", &Value::Null).1;
        all.as_array()
            .unwrap()
            .iter()
            .map(|intent| intent["intent_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((of(&ada), of(&bob)), (vec![hers.clone()], vec![his.clone()]));
    assert_eq!(of(&stage.operator()).len(), 2);
    let (status, refused) =
        stage.ask(&bob, "POST", "intents", &json!({"text": "say hi", "agent": "py", "parent": hers}));
    assert_eq!(status, 422, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("there is no intent"), "{refused}");
    let (status, own) = stage.ask(&ada, "POST", &format!("intents/{hers}/cancel"), &json!({}));
    assert_eq!((status, &own["status"]), (200, &json!("cancelled")));
    let (status, _) = stage.ask(&stage.operator(), "POST", &format!("intents/{his}/cancel"), &json!({}));
    assert_eq!(status, 200);
    stage.nothing_left();
}
