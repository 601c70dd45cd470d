//! What an origin can do to the bridge, and what the client is told: always an answer, in time, and the next one is served.

use std::time::{Duration, Instant};

use covenant_testkit::StdioClient;
use covenant_testkit::tls::Certificate;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::origin::{Does, Origin, bridge, stateless, told, welcome};
use crate::home;

/// Calls a tool in either era, and asks for the list.
fn ask(client: &mut StdioClient) -> [Value; 3] {
    let call = json!({"name": "covibe_task", "arguments": {"token": "cv_mine"}});
    let list = client.request("tools/list", json!({}));
    [client.request("tools/call", call.clone()), client.request("tools/call", stateless(call)), list]
}

/// Insists that calls are told so, and that the list is an error that says the same, never an empty list.
#[track_caller]
fn assert_told(answers: &[Value; 3], words: &str) {
    let [legacy, modern, list] = answers;
    for call in [legacy, modern] {
        let message = told(call);
        assert!(message.contains(words), "{words}: {message}");
    }
    assert_eq!(modern["result"]["resultType"], "complete");
    let message = list["error"]["message"].as_str().unwrap_or_else(|| panic!("{list}"));
    assert!(message.contains(words), "{words}: {message}");
}

/// VIBE-126: what the origin says in a structure comes through: errors of the protocol as they are, envelopes whole, and
/// the sentence of any other.
#[test]
fn a_structured_error_of_the_origin_is_passed_on() {
    let home = home();
    let envelope = json!({"status": "blocked", "message": "Possible duplicate work found.", "data": {"warning_id": "warn_123"},
        "feedback": {"type": "block", "required_action": "Ask the developer."}});
    let said = envelope.to_string();
    let origin = Origin::start(move |_| Does::Answers(401, "application/json", said.clone()));
    let mut client = bridge(&home, &origin.url(), &[("COVIBE_MCP_TOKEN", "cv_theirs")]);
    let [legacy, modern, list] = ask(&mut client);
    for call in [&legacy, &modern] {
        assert_eq!(
            (&call["result"]["structuredContent"], &call["result"]["isError"]),
            (&envelope, &json!(true))
        );
        let text: Value =
            serde_json::from_str(call["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, envelope);
    }
    assert_eq!(list["error"]["data"], envelope);
    assert_eq!(list["error"]["message"], "Possible duplicate work found. Ask the developer.");
    for heard in origin.heard() {
        assert!(heard.headers.contains("authorization: bearer cv_theirs\r\n"), "{heard:?}");
        let passed = heard.message["method"] != "tools/call"
            || heard.message["params"]["arguments"]["token"] == "cv_mine";
        assert!(passed, "an agent's own token is not touched: {heard:?}");
    }

    let error = json!({"code": -31003, "message": "a person must approve", "data": {"approval_id": "apr_1"}});
    for (status, id) in [(200, true), (403, true), (400, false), (503, false)] {
        let said = error.clone();
        origin.will(move |heard| {
            let id = if id { heard.message["id"].clone() } else { Value::Null };
            let body = json!({"jsonrpc": "2.0", "id": id, "error": said}).to_string();
            Does::Answers(status, "application/json", body)
        });
        for answer in ask(&mut client) {
            assert_eq!(answer["error"], error, "{status}: {answer}");
        }
    }

    let rest =
        json!({"error": {"code": "foreign", "message": "that host is not ours", "action": "set public_url"}});
    origin.will(move |_| Does::Answers(403, "application/json", rest.to_string()));
    let answers = ask(&mut client);
    assert_told(&answers, "(it answered 403): that host is not ours");
    assert_eq!(answers[0]["result"]["structuredContent"]["feedback"]["required_action"], "set public_url");
    assert_eq!(client.close(), 0);
}

/// VIBE-127: an origin that cannot be reached, that hangs up, or that speaks no TLS we trust, is an answer.
#[test]
fn an_origin_that_cannot_be_reached_is_told_to_the_agent() {
    let home = home();
    let gone = { Origin::start(|_| Does::Breaks(String::new())).url() };
    assert_told(&ask(&mut bridge(&home, &gone, &[])), "could not be reached");
    let plain = Origin::start(|_| Does::Breaks(String::new()));
    let encrypted = plain.url().replace("http://", "https://");
    assert_told(&ask(&mut bridge(&home, &encrypted, &[])), &encrypted);
    let server = Certificate::new().serve(("127.0.0.1", 0), "{}").unwrap();
    let untrusted = format!("https://127.0.0.1:{}", server.port());
    assert_told(&ask(&mut bridge(&home, &untrusted, &[])), "could not be reached");

    assert_told(&ask(&mut bridge(&home, &plain.url(), &[])), "closed the connection before it answered");
    let stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jso";
    plain.will(move |_| Does::Breaks(stream.to_owned()));
    assert_told(&ask(&mut bridge(&home, &plain.url(), &[])), "before it answered");
    let half =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\":";
    plain.will(move |_| Does::Breaks(half.to_owned()));
    let mut client = bridge(&home, &plain.url(), &[]);
    let broken = told(&client.call("covibe_task", json!({})));
    assert!(broken.contains(&plain.url()), "{broken}");
    assert_eq!(client.close(), 0);
}

/// VIBE-128: an origin that hangs, wherever in its answer, is given up after `COVIBE_TIMEOUT_MS`.
#[test]
fn an_origin_that_hangs_is_given_up_in_time() {
    let home = home();
    let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    for begun in ["", "HTTP/1.1 200", json, events] {
        let origin = Origin::start(move |_| Does::Hangs(begun.to_owned()));
        let mut client = bridge(&home, &origin.url(), &[("COVIBE_TIMEOUT_MS", "300")]);
        let began = Instant::now();
        let opened = client.initialize();
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "answered all the same: {opened}");
        assert_told(&ask(&mut client), "has not answered for 300 ms");
        // Four requests, each of which may wait for one that hangs before it; far less than the minute it would be.
        assert!(began.elapsed() < Duration::from_secs(20), "{begun:?}: {:?}", began.elapsed());
        assert_eq!(client.close(), 0);
    }
}

/// VIBE-127, VIBE-128: the daemon of this machine that is away, dies or hangs is told to the agent in the same shape.
#[test]
fn a_daemon_of_this_machine_that_does_not_answer_is_told_to_the_agent() {
    let home = home();
    let start =
        || StdioClient::start(home.command(&["--mcp", "--no-start"]).env("COVIBE_TIMEOUT_MS", "2000"));
    assert_told(&ask(&mut start()), "o daemon runs for this home");
    let daemon = home.up();
    let mut client = start();
    client.initialize();
    daemon.signal(Signal::STOP);
    assert_told(&ask(&mut client), "has not answered in time");
    client.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "echo"}}));
    daemon.kill();
    let last = client.receive();
    assert_eq!(
        (told(&last), &last["id"]),
        ("The Covenant daemon stopped before it answered.".to_owned(), &json!("last"))
    );
    assert_eq!(client.close(), 0);
    let slow = home.command(&["--mcp"]).env("COVIBE_TIMEOUT_MS", "soon");
    assert!(slow.run().exits(2).stderr.contains("COVIBE_TIMEOUT_MS"));
}

/// VIBE-129: pages, empty answers and JSON that answers nothing are told as what they are.
#[test]
fn what_is_no_json_is_told_to_the_agent() {
    let home = home();
    let page = "<!doctype html><title>Sign in</title>cv_theirs";
    let other = r#"{"jsonrpc":"2.0","id":"another","result":{}}"#;
    for (status, kind, body, words) in [
        (200, "text/html", page, "answered 200 with text/html"),
        (200, "application/json", page, "answered 200 with no JSON"),
        (200, "application/json", "", "answered 200 with nothing"),
        (202, "application/json", "", "answered 202 with nothing"),
        (200, "application/json", "{\"jsonrpc\":\"2.0\",", "answered 200 with no JSON"),
        (200, "application/json", other, "JSON that is no answer"),
        (200, "application/json", "[]", "JSON that is no answer"),
        (502, "text/html", page, "has trouble of its own (it answered 502)"),
        (503, "text/plain", "back soon", "(it answered 503): back soon"),
        (404, "text/html", page, "has no MCP at /mcp (it answered 404)"),
        (401, "text/html", page, "does not accept this token (it answered 401)"),
        (429, "text/html", page, "is asked too often (it answered 429)"),
        (302, "text/html", page, "redirects to"),
    ] {
        let origin = Origin::start(move |_| Does::Answers(status, kind, body.to_owned()));
        let mut client = bridge(&home, &origin.url(), &[("COVIBE_MCP_TOKEN", "cv_theirs")]);
        let answers = ask(&mut client);
        assert_told(&answers, words);
        assert!(answers.iter().all(|answer| !answer.to_string().contains("cv_theirs")), "{answers:?}");
        assert_eq!(client.close(), 0);
    }
}

/// VIBE-130: one bridge lives through all of it, whatever the client and the origin say, and then serves.
#[test]
fn nothing_ends_or_holds_the_bridge() {
    let home = home();
    let origin = Origin::start(|heard| welcome(heard).unwrap_or_else(|| Does::Works(json!({"tools": []}))));
    let mut client = bridge(&home, &origin.url(), &[("COVIBE_TIMEOUT_MS", "500")]);
    client.initialize();
    let flood = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n".repeat(20_000);
    let flood = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{flood}");
    let endless =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}", "x".repeat(40 << 20));
    let large = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}", "x".repeat(33 << 20));
    for bad in [
        Does::Hangs(String::new()),
        Does::Breaks(String::new()),
        Does::Breaks("\u{0}\u{1}nonsense\r\n\r\n".to_owned()),
        Does::Breaks("HTTP/1.1 999 ?\r\n\r\n".to_owned()),
        Does::Answers(200, "application/json", "[".repeat(100_000)),
        Does::Answers(200, "text/event-stream", "data: 7\n\ndata: {}\n\n:\n\n".to_owned()),
        Does::Answers(418, "application/json", "{\"error\": [[[]]]}".to_owned()),
        Does::Answers(200, "application/json", large),
        Does::Breaks(flood),
        Does::Breaks(endless),
    ] {
        origin.will(move |heard| welcome(heard).unwrap_or_else(|| bad.clone()));
        told(&client.call("covibe_task", json!({})));
    }
    origin.will(|heard| welcome(heard).unwrap_or_else(|| Does::Works(json!({"tools": []}))));
    for line in [
        "",
        "nonsense",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\"}",
        "\u{0}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}",
    ] {
        client.send_raw(format!("{line}\n").as_bytes());
    }
    client.send_raw(&[&b"\xff\xfe\n"[..], "x".repeat(33 << 20).as_bytes(), b"\n"].concat());
    assert_eq!(client.request("tools/list", json!({}))["result"], json!({"tools": []}));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.close(), 0);
}
