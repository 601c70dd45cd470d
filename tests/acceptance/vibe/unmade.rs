//! Calls that come to no tool: whoever made them and by whichever way, each is in the usage events, by itself or in a number.

use std::collections::BTreeMap;

use covenant_testkit::sqlite::Locked;
use covenant_testkit::wait::until;
use covenant_testkit::{HttpClient, StdioClient};
use serde_json::{Value, json};

use super::desk::{Desk, homes};
use super::origin::{bridge, stateless};
use crate::{home, unhurried};

/// One way to send `tools/call` with these parameters: the answer of JSON-RPC.
type Way<'w> = Box<dyn FnMut(Value) -> Value + 'w>;

/// Every way of MCP, for whoever holds these tokens.
fn ways<'w>(desk: &'w Desk<'_>, tokens: [&str; 4]) -> Vec<(&'static str, Way<'w>)> {
    let [local, remote, session, modern] = tokens;
    let mut local = StdioClient::start(desk.home.command(&["--mcp"]).env("COVENANT_TOKEN", local));
    local.initialize();
    let mut remote = bridge(desk.home, &desk.url(), &[("COVIBE_MCP_TOKEN", remote)]);
    let mut session = HttpClient::new(desk.port(), session);
    session.initialize();
    let mut modern = HttpClient::new(desk.port(), modern);
    vec![
        ("stdio", Box::new(move |params| local.request("tools/call", params))),
        ("the bridge, stateless", Box::new(move |params| remote.request("tools/call", stateless(params)))),
        (
            "/mcp, in a session",
            Box::new(move |params| {
                let message = session.message("tools/call", &params);
                session.send(&session.legacy(&message)).messages().pop().unwrap()
            }),
        ),
        (
            "/mcp, stateless",
            Box::new(move |params| {
                let request = modern.modern("tools/call", &params, &json!(1));
                modern.send(&request).messages().pop().unwrap()
            }),
        ),
    ]
}

/// How many calls came to nothing, by who made them, what they are called, why, and by which door.
fn unserved(desk: &Desk<'_>) -> BTreeMap<String, u64> {
    let events = desk.home.run(&["team", "events", "--kind", "usage", "-n", "500", "--json"]).ok().json();
    let mut calls = BTreeMap::new();
    for event in events.as_array().unwrap() {
        let payload = &event["payload_json"];
        let word = |value: &Value, otherwise: &str| value.as_str().unwrap_or(otherwise).to_owned();
        if event["status"] != "error" {
            continue;
        }
        let words = [
            word(&event["developer"], "nobody"),
            word(&event["event"], "?"),
            word(&payload["code"], "?"),
            word(&payload["source"], ""),
        ];
        let count = payload["count"].as_u64().unwrap_or(1) + payload["calls_before"].as_u64().unwrap_or(0);
        *calls.entry(words.join(" ").trim_end().to_owned()).or_default() += count;
    }
    calls
}

/// VIBE-175, VIBE-186: calls with a token that was revoked are counted by every way, also where the connection was there before.
#[test]
fn calls_with_a_token_that_is_not_valid_any_more_are_counted() {
    for (home, database) in homes() {
        let desk = Desk::at(&home, database);
        let ada = desk.invite("ada");
        let call = json!({"name": "covibe_team", "arguments": {"operation": "feedback"}});
        let mut ways = ways(&desk, [&ada; 4]);
        for (name, way) in &mut ways {
            let answer = way(call.clone());
            assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "{name}: {answer}");
        }
        let tokens = desk.home.run(&["tokens", "list", "--for", "ada", "--json"]).ok().json();
        desk.home.run(&["tokens", "revoke", tokens[0]["id"].as_str().unwrap()]).ok();
        for (name, way) in &mut ways {
            for _ in 0..3 {
                let answer = way(call.clone());
                assert!(
                    answer["error"].is_object() || answer["result"]["isError"] == true,
                    "{name}: {answer}"
                );
            }
        }
        // One who comes with it anew reaches no tool at all.
        let mut late = StdioClient::start(desk.home.command(&["--mcp"]).env("COVENANT_TOKEN", &ada));
        assert_eq!(late.request("tools/call", call)["error"]["code"], -31000);
        drop((ways, late));
        // What was not written down one by one is at the end.
        let desk = desk.again();
        let calls = unserved(&desk);
        let by_tools: u64 =
            calls.iter().filter(|(what, _)| what.ends_with("unauthenticated")).map(|(_, count)| count).sum();
        let by_doors = |door: &str| calls.get(&format!("nobody covibe unauthenticated {door}")).copied();
        assert_eq!((by_tools, by_doors("port"), by_doors("socket")), (3, Some(9), Some(1)), "{calls:?}");
        assert!(calls.keys().all(|what| what.contains(" unauthenticated")), "{calls:?}");
    }
}

/// VIBE-124, VIBE-175: a call whose request cannot be used is written down once, by every way.
#[test]
fn calls_that_cannot_be_read_are_written_down_by_every_way() {
    for (home, database) in homes() {
        let desk = Desk::at(&home, database);
        let ada = desk.invite("ada");
        let mut sent = 0;
        for (name, mut way) in ways(&desk, [&ada; 4]) {
            for arguments in [json!([]), json!(7), json!("operation=feedback")] {
                let answer = way(json!({"name": "covibe_team", "arguments": arguments}));
                assert!(answer["error"].is_object(), "{name}: {answer}");
                sent += 1;
            }
        }
        // Over HTTP the headers may be wrong as well, and the session another's.
        let params = json!({"name": "covibe_team", "arguments": {"operation": "feedback"}});
        let mut client = HttpClient::new(desk.port(), &ada);
        let legacy = client.message("tools/call", &params);
        let modern = || client.modern("tools/call", &params, &json!(1));
        let legacy = client.legacy(&legacy).with("Mcp-Session-Id", "none");
        for request in [
            modern().without("Mcp-Method"),
            modern().with("Mcp-Name", "covibe_task"),
            modern().with("Accept", "text/html"),
            legacy,
        ] {
            let answer = client.send(&request);
            assert!(answer.status >= 400, "{answer:?}");
            sent += 1;
        }
        let told = until("every call is written down", || {
            let calls = unserved(&desk);
            (calls.values().sum::<u64>() >= sent).then_some(calls)
        });
        assert_eq!(told, BTreeMap::from([("ada covibe_team invalid_arguments".to_owned(), sent)]));
    }
}

/// VIBE-175: calls that come too often are counted by every way, and none twice.
#[test]
fn calls_that_come_too_often_are_counted_by_every_way() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0.001\nburst = 6\n");
    let desk = Desk::at(&home, None);
    let names = ["ada", "bob", "cleo", "dora"];
    let tokens = names.map(|name| desk.invite(name));
    let call = json!({"name": "covibe_team", "arguments": {"operation": "feedback"}});
    for (name, mut way) in ways(&desk, tokens.each_ref().map(String::as_str)) {
        until(name, || {
            let answer = way(call.clone());
            (answer["error"].is_object() || answer["result"]["isError"] == true).then_some(())
        });
        // More than are written down one by one.
        for _ in 0..14 {
            way(call.clone());
        }
    }
    let desk = desk.again();
    let mut by_whom = BTreeMap::new();
    for (what, count) in unserved(&desk) {
        assert!(what.ends_with(" rate_limited"), "{what}");
        *by_whom.entry(what.split(' ').next().unwrap().to_owned()).or_default() += count;
    }
    assert_eq!(by_whom, names.map(|name| (name.to_owned(), 15)).into());
}

/// VIBE-175: a call that broke because the database was held leaves its usage event once there is a database again.
#[test]
fn a_call_that_finds_the_database_held_is_written_down_when_it_is_free() {
    let home = unhurried();
    let desk = Desk::at(&home, None);
    let ada = desk.invite("ada");
    let held = Locked::take(&home.path().join("covenant.db"));
    let told = desk.call(&ada, "covibe_session", json!({"operation": "heartbeat"}));
    assert_eq!(told["status"], "error", "{told}");
    drop(held);
    let calls = unserved(&desk.again());
    assert_eq!(calls, BTreeMap::from([("ada covibe_session.heartbeat broken".to_owned(), 1)]));
}
