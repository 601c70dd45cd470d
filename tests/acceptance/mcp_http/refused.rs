//! Messages that are none, from nobody, or too long: each has its status and its code, and harms nobody.

use covenant_testkit::HttpClient;
use serde_json::{Value, json};

use super::{client, refused};
use crate::{home, unhurried};

#[test]
fn messages_that_are_none_have_their_statuses_and_codes() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "broken", &["tool.call.echo"]);
    client.initialize();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (good, null) = (client.legacy(&ping), Value::Null);
    let batch = format!("[{ping},{ping}]");
    let deep = "[".repeat(100_000);
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
        (deep.as_str(), -32700),
        (batch.as_str(), -32600),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"id":1}"#, -32600),
    ] {
        for request in [&good, &client.plain(&null), &client.modern("ping", &json!({}), &json!(1))] {
            let answer = client.send(&request.clone().saying(body));
            assert_eq!((answer.status, answer.code()), (400, code), "{body:.80}: {answer:?}");
        }
    }
    let latin = good.clone().saying(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xefng\"}".to_vec());
    refused(&client.send(&latin), 400, -32700, &null);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
        refused(&client.send(&good.clone().with("Content-Type", kind)), 415, -32600, &null);
    }
    refused(&client.send(&good.clone().without("Content-Type")), 415, -32600, &null);
    assert_eq!(
        client.send(&good.clone().with("Content-Type", "Application/JSON; charset=UTF-8")).status,
        200
    );
    for accept in ["text/html", "image/*", "application/json;q=0, text/event-stream;q=0"] {
        refused(&client.send(&good.clone().with("Accept", accept)), 406, -32600, &json!(1));
        let modern = client.modern("tools/list", &json!({}), &json!(1)).with("Accept", accept);
        refused(&client.send(&modern), 406, -32600, &json!(1));
    }
    for accept in ["text/html", "text/event-stream", ""] {
        let answer = client.send(&client.plain(&ping).with("Accept", accept));
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{accept}"
        );
    }
    let lost = good.clone().without("Mcp-Session-Id");
    refused(&client.send(&lost), 400, -32600, &json!(1));
    refused(&client.send(&good.clone().with("MCP-Protocol-Version", "1999-01-01")), 400, -32022, &json!(1));
    for method in ["GET", "DELETE"] {
        let answer = client.send(&client.bare(method).with("Accept", "text/event-stream"));
        refused(&answer, 405, -32600, &null);
        assert_eq!(answer.header("allow"), Some("POST"), "without a session there is only that");
    }
    refused(
        &client.send(&client.in_session(client.bare("GET")).with("Accept", "application/json")),
        406,
        -32600,
        &null,
    );
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let answer = client.send(&client.bare(method));
        refused(&answer, 405, -32600, &null);
        assert_eq!(answer.header("allow"), Some("GET, POST, DELETE"));
    }
    assert_eq!(client.send(&good).status, 200, "and after all that the session is as it was");
}

#[test]
fn what_wants_no_answer_gets_none() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "terse", &[]);
    client.initialize();
    let note = json!({"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"a": 1}});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
    let answer = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
    let modern = client
        .plain(&note)
        .with("Accept", "application/json, text/event-stream")
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "notifications/whatever");
    for request in [
        client.legacy(&note),
        client.legacy(&cancelled),
        client.legacy(&answer),
        client.plain(&note),
        client.plain(&cancelled),
        modern,
    ] {
        let answer = client.send(&request);
        assert_eq!((answer.status, answer.text.as_str()), (202, ""), "{request:?}");
    }
    refused(&client.send(&client.plain(&answer)), 400, -32600, &Value::Null);
    refused(
        &client.send(&client.plain(&answer).with("MCP-Protocol-Version", "2026-07-28")),
        400,
        -32020,
        &Value::Null,
    );
}

#[test]
fn nobody_is_served_without_a_token_or_from_a_web_page() {
    let home = unhurried();
    let daemon = home.up();
    let mut known = client(&home, &daemon, "known", &["tool.call.echo"]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut stranger = HttpClient::stranger(daemon.port());
    let wrong = format!("Bearer cv_{}", "A".repeat(43));
    let plain = stranger.plain(&list);
    for request in [
        plain.clone(),
        plain.clone().with("Authorization", wrong),
        plain.clone().with("Authorization", "Basic Zm9vOmJhcg=="),
        plain.clone().with("Authorization", "Bearer \u{e9}"),
        plain.saying("{ not even json"),
        stranger.bare("GET"),
        stranger.bare("DELETE"),
        stranger.modern("server/discover", &json!({}), &json!(1)),
    ] {
        let answer = stranger.send(&request);
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{request:?}");
        assert_eq!(answer.code(), -31000);
    }
    let page = known.plain(&list).with("Origin", "http://evil.example.org");
    assert_eq!(known.send(&page).status, 403);
    assert_eq!(known.send(&known.plain(&list)).status, 200);
}

/// Letters count (hole 9 of the older system, which compared without regard to case).
#[test]
fn a_token_in_other_letters_is_another_token() {
    let home = unhurried();
    let daemon = home.up();
    let token =
        home.run(&["clients", "add", "ada", "--grant", "tool.call.echo"]).ok().stdout.trim().to_owned();
    let asked = |token: &str| {
        let shown = format!("Authorization: Bearer {token}\r\n");
        covenant_testkit::http::get(daemon.port(), "/api/v1/tools", "localhost", &shown)
    };
    assert!(asked(&token).starts_with("HTTP/1.1 200 "));
    let turned = |at: usize| -> String {
        let turn = |(place, letter): (usize, char)| match letter {
            letter if place != at => letter,
            letter if letter.is_ascii_lowercase() => letter.to_ascii_uppercase(),
            letter => letter.to_ascii_lowercase(),
        };
        token.chars().enumerate().map(turn).collect()
    };
    let each = (0..token.len()).map(turned).chain([token.to_uppercase(), token.to_lowercase()]);
    let others: Vec<String> = each.filter(|other| *other != token).collect();
    assert!(others.len() > 20, "{others:?}");
    for other in others {
        assert!(asked(&other).starts_with("HTTP/1.1 401 "), "{other}");
    }
    assert!(asked(&token).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_body_over_the_limit_is_refused_and_its_connection_closed_or_fit_for_more() {
    let home = home();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[limits]\nrequest_bytes = 10000\n");
    let daemon = home.up();
    let mut client = client(&home, &daemon, "long", &["tool.call.echo"]);
    client.initialize();
    let call = |length: usize| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo",
            "arguments": {"text": "x".repeat(length)}}})
    };
    for length in [10_000, 200_000, 8_000_000] {
        let long = call(length);
        for request in
            [client.legacy(&long), client.legacy(&long).in_chunks(), client.plain(&long).in_chunks()]
        {
            let answer = client.send(&request);
            assert_eq!((answer.status, answer.code()), (413, -32600), "{length}: {answer:?}");
            assert!(answer.json()["error"]["message"].as_str().unwrap().contains("10000"), "{answer:?}");
            assert!(client.request("ping", json!({}))["result"].is_object(), "{length}");
        }
    }
    let fits = call(9_000);
    for request in [client.legacy(&fits), client.legacy(&fits).in_chunks()] {
        assert_eq!(client.send(&request).json()["result"]["isError"], false);
    }
}

#[test]
fn secrets_are_not_repeated_over_http() {
    let home = unhurried();
    let daemon = home.up();
    home.command(&["secrets", "set", "API_KEY"]).input("s3cr3t-value-42\n").run().ok();
    let mut client = client(&home, &daemon, "curious", &["tool.call.echo"]);
    client.initialize();
    let secret = "s3cr3t-value-42";
    let echoed = client.call("echo", json!({ "text": secret }));
    assert_eq!(echoed["result"]["content"][0]["text"], "[REDACTED:API_KEY]");
    let stated = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": secret}});
    let plain = client.plain(&json!({"jsonrpc": "2.0", "id": 1, "method": secret}));
    let requests = [
        plain.clone(),
        client.modern(secret, &json!({}), &json!(1)),
        client.modern("tools/call", &json!({"name": secret}), &json!(1)),
        client.modern("tools/list", &stated, &json!(1)).with("MCP-Protocol-Version", secret),
        plain.clone().with("MCP-Protocol-Version", secret),
        plain.clone().with("Mcp-Session-Id", secret),
        plain.saying(format!("{{\"{secret}\":1,\"{secret}\":2}}")),
        client.in_session(client.bare("GET")).with("Accept", "*/*").with("MCP-Protocol-Version", secret),
    ];
    for request in requests {
        let answer = client.send(&request);
        assert!(!answer.text.contains(secret), "{request:?}: {answer:?}");
        assert!(answer.text.contains("error"), "{answer:?}");
    }
}

/// Whatever bytes come as a body, each is answered once and the connection goes on.
#[test]
fn a_thousand_mutated_messages_leave_the_daemon_standing() {
    let home = unhurried();
    let daemon = home.up();
    let mut client = client(&home, &daemon, "mutant", &["tool.call.echo"]);
    client.initialize();
    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
    let seeds = [
        client.modern("tools/call", &echo, &json!(1)),
        client.legacy(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": echo})),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": echo}).to_string();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for turn in 0..1000 {
        let mut bytes = body.clone().into_bytes();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = usize::try_from(state >> 8).unwrap() % bytes.len();
            bytes[place] = u8::try_from(state & 0xff).unwrap();
        }
        let answer = client.send(&seeds[turn % 2].clone().saying(bytes));
        assert!(matches!(answer.status, 200 | 202 | 400 | 404), "{answer:?}");
    }
    assert_eq!(client.call("echo", json!({"text": "here"}))["result"]["content"][0]["text"], "here");
}
