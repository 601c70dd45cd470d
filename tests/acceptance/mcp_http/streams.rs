//! Streams over HTTP: who hears of what, how they end, and clients that open them and do not read.

use covenant_testkit::{Home, HttpClient};
use serde_json::json;

use super::{client, token};
use crate::unhurried;

fn grant(home: &Home, action: &str, name: &str) {
    home.run(&["capabilities", "grant", action, "--to", &format!("client:{name}")]).ok();
}

#[test]
fn only_whose_list_changed_hears_that_it_changed() {
    let home = unhurried();
    let daemon = home.up();
    let (mut one, mut two) = (client(&home, &daemon, "one", &[]), client(&home, &daemon, "two", &[]));
    one.initialize();
    two.initialize();
    let (mut of_one, mut of_two) = (one.listen(), two.listen());
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut modern = one.stream(&one.modern("subscriptions/listen", &wanted, &json!("s")));
    assert_eq!(modern.event()["method"], "notifications/subscriptions/acknowledged");
    grant(&home, "tool.call.echo", "one");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    assert_eq!(of_one.event(), changed);
    assert_eq!(modern.event()["params"]["_meta"], json!({"io.modelcontextprotocol/subscriptionId": "s"}));
    assert!(of_two.is_quiet(), "two sees what it saw");
    grant(&home, "tool.call.echo", "one");
    assert!(of_one.is_quiet(), "a second grant shows nothing new");
    grant(&home, "tool.call.echo", "two");
    assert_eq!(of_two.event(), changed);
    assert!(of_one.is_quiet());
}

#[test]
fn a_second_stream_of_a_session_takes_over_from_the_first() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "twice", &[]);
    client.initialize();
    let mut first = client.listen();
    assert_eq!((first.status, first.header("content-type")), (200, Some("text/event-stream")));
    let mut second = client.listen();
    assert_eq!(first.next(), None, "each message goes to one of them");
    grant(&home, "tool.call.echo", "twice");
    assert_eq!(second.event()["method"], "notifications/tools/list_changed");
    assert!(second.is_quiet(), "once");
    drop(second);
    let mut third = client.listen();
    grant(&home, "tool.call.no_such_tool", "twice");
    home.run(&["capabilities", "list"]).ok();
    assert!(third.is_quiet());
}

#[test]
fn no_stream_outlives_its_session_however_close_the_end_is() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "racing", &[]);
    for _ in 0..50 {
        client.initialize();
        let get = client.begin(&client.in_session(client.bare("GET")).with("Accept", "text/event-stream"));
        assert_eq!(client.end().status, 204);
        let answer = get.answer();
        assert!(matches!((answer.status, answer.text.as_str()), (200, "") | (404, _)), "{answer:?}");
    }
}

#[test]
fn a_daemon_that_stops_ends_subscriptions_with_a_result_and_streams_without() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "ended", &[]);
    client.initialize();
    let mut stream = client.listen();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut subscription = client.stream(&client.modern("subscriptions/listen", &wanted, &json!(5)));
    assert_eq!(subscription.event()["params"]["notifications"], json!({"toolsListChanged": true}));
    daemon.stop();
    let last = subscription.event();
    assert_eq!((last["id"].clone(), last["result"]["resultType"].clone()), (json!(5), json!("complete")));
    assert_eq!(subscription.next(), None);
    assert_eq!(stream.next(), None);
}

/// How much memory the daemon has, in kilobytes.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn clients_that_ask_and_never_read_cost_little_and_hold_nobody_up() {
    let home = unhurried();
    let daemon = home.up();
    let token = token(&home, "deaf", &["tool.call.echo"]);
    let mut other = client(&home, &daemon, "other", &["tool.call.echo"]);
    other.initialize();
    let mut deaf = HttpClient::new(daemon.port(), &token);
    deaf.initialize();
    let before = memory(daemon.pid());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "x".repeat(400_000)}}});
    let unread: Vec<_> = (0..50).map(|_| deaf.begin(&deaf.legacy(&call))).collect();
    let listening: Vec<_> = (0..50)
        .map(|_| {
            deaf.stream(&deaf.modern(
                "subscriptions/listen",
                &json!({"notifications": {"toolsListChanged": true}}),
                &json!(1),
            ))
        })
        .collect();
    for round in 0..20 {
        let action = format!("tool.call.none{round}");
        grant(&home, &action, "deaf");
        assert_eq!(other.call("echo", json!({"text": "here"}))["result"]["content"][0]["text"], "here");
    }
    let after = memory(daemon.pid());
    assert!(after < before + 150_000, "{before} kB, then {after} kB");
    drop((unread, listening));
}
