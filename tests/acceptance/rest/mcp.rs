//! `/mcp` answers as described, with errors of JSON-RPC; what it says beyond that, the tests of MCP hold to the protocol.

use std::collections::BTreeSet;

use serde_json::json;

use super::ask::Ask;
use super::{Api, ELSEWHEN};
use crate::home;

/// A thousand streams are for the tests of streams.
const CROWD: (&str, u16) = ("mcpSend", 429);

const JSON: &str = "Content-Type: application/json\r\n";
const MODERN: &str =
    "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: no/such\r\n";

fn message(method: &str) -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// A request of the era without sessions, for a method that is not there.
fn modern() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta}}).to_string()
}

/// Opens a session; the header that names it.
fn session(api: &Api<'_>, token: &str) -> String {
    let operation = api.described.operation("mcpSend");
    let mut ask = operation.at("", "").token(token);
    (ask.headers, ask.body) = (JSON.to_owned(), Some(message("initialize")));
    let answer = ask.send(api.port);
    assert_eq!(answer.status, 200, "{answer:?}");
    api.described.check(&operation, &answer);
    format!("Mcp-Session-Id: {}\r\n", answer.header("mcp-session-id").unwrap())
}

#[test]
fn what_is_sent_to_mcp_is_answered_as_described() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[limits]\nrequest_bytes = 2048\n");
    let api = Api::start(&home);
    let mut given = BTreeSet::new();
    let mut expect = |id: &str, status: u16, headers: &str, body: Option<String>, change: fn(&mut Ask)| {
        let operation = api.described.operation(id);
        let mut ask = operation.at("", "").token(&api.operator);
        (ask.headers, ask.body) = (headers.to_owned(), body);
        change(&mut ask);
        let answer =
            if (id, status) == ("mcpListen", 200) { ask.listen(api.port).0 } else { ask.send(api.port) };
        assert_eq!(answer.status, status, "{id}: {answer:?}");
        api.described.check(&operation, &answer);
        given.insert((id.to_owned(), status));
    };
    let as_is = |_: &mut Ask| {};
    let nobody = |ask: &mut Ask| ask.token = None;
    let foreign = |ask: &mut Ask| ask.host = Some("evil.example.org".to_owned());
    let session = session(&api, &api.operator);
    let ours = format!("{JSON}{session}");
    let ping = Some(message("ping"));
    expect("mcpSend", 200, &ours, ping.clone(), as_is);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    expect("mcpSend", 202, &ours, Some(notification), as_is);
    for wrong in ["no JSON", "[]", "{}"] {
        expect("mcpSend", 400, JSON, Some(wrong.to_owned()), as_is);
    }
    expect("mcpSend", 400, &format!("{ours}{session}"), ping.clone(), as_is);
    expect(
        "mcpSend",
        400,
        &format!("{MODERN}Mcp-Name: x\r\n").replace("no/such", "other"),
        Some(modern()),
        as_is,
    );
    expect("mcpSend", 401, JSON, ping.clone(), nobody);
    expect("mcpSend", 403, JSON, ping.clone(), foreign);
    expect("mcpSend", 404, &format!("{JSON}Mcp-Session-Id: nothing\r\n"), ping.clone(), as_is);
    expect("mcpSend", 404, MODERN, Some(modern()), as_is);
    expect("mcpSend", 406, &format!("{ours}Accept: text/html\r\n"), ping.clone(), as_is);
    expect("mcpSend", 413, JSON, Some(message(&"x".repeat(4096))), as_is);
    expect("mcpSend", 415, "Content-Type: text/plain\r\n", ping, as_is);
    expect("mcpListen", 200, &format!("{session}Accept: text/event-stream\r\n"), None, as_is);
    expect("mcpListen", 406, &format!("{session}Accept: application/json\r\n"), None, as_is);
    for id in ["mcpListen", "mcpEnd"] {
        expect(id, 400, &format!("{session}MCP-Protocol-Version: 1999-01-01\r\n"), None, as_is);
        expect(id, 401, &session, None, nobody);
        expect(id, 403, &session, None, foreign);
        expect(id, 404, "Mcp-Session-Id: nothing\r\n", None, as_is);
        expect(id, 405, "", None, as_is);
    }
    expect("mcpEnd", 204, &session, None, as_is);
    expect("mcpEnd", 404, &session, None, as_is);
    given.extend([limited(), (CROWD.0.to_owned(), CROWD.1)]);
    given.retain(|(_, status)| *status >= 400);
    let operations = ["mcpSend", "mcpListen", "mcpEnd"].map(|id| api.described.operation(id));
    let errors =
        operations.iter().flat_map(|it| it.errors().into_iter().map(|status| (it.id.clone(), status)));
    assert_eq!(given, errors.filter(|(_, status)| !ELSEWHEN.contains(status)).collect());
}

/// Who opens streams too often is told so.
fn limited() -> (String, u16) {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0.001\nburst = 1\n");
    let api = Api::start(&home);
    let token = home.run(&["clients", "add", "busy"]).ok().stdout.trim().to_owned();
    let session = session(&api, &token);
    let operation = api.described.operation("mcpListen");
    let mut ask = operation.at("", "").token(&token);
    ask.headers = format!("{session}Accept: text/event-stream\r\n");
    let answer = ask.send(api.port);
    assert_eq!(answer.status, 429, "{answer:?}");
    api.described.check(&operation, &answer);
    (operation.id, 429)
}

#[test]
fn a_stream_of_a_revoked_client_ends_at_once_also_where_it_had_no_grants() {
    for grants in [&[][..], &["--grant", "tool.call.echo"]] {
        let home = home();
        let api = Api::start(&home);
        let token = home.run(&[&["clients", "add", "eve"], grants].concat()).ok().stdout.trim().to_owned();
        let mut ask = Ask::new("GET", "/mcp").token(&token);
        ask.headers = format!("{}Accept: text/event-stream\r\n", session(&api, &token));
        let (answer, mut lines) = ask.listen(api.port);
        assert_eq!(answer.status, 200, "{answer:?}");
        home.run(&["clients", "revoke", "eve"]).ok();
        assert_eq!(lines.next(), None, "{grants:?}: it goes on");
    }
}
