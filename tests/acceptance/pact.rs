//! The protocol document: JSON-RPC as written there, limits, redaction, debug lines.

use std::collections::BTreeSet;

use covenant_testkit::wait::until;
use serde_json::{Value, json};

use crate::openpact::catalogue::everything;
use crate::{home, unhurried};

/// PACT-01, PACT-02, PACT-05, PACT-16, PACT-48: bare lines piped into `covenant --mcp`, as the document writes them.
#[test]
fn the_documents_list_request_is_answered_on_stdio() {
    let home = home();
    let _daemon = home.up();
    let ran = home
        .command(&["--mcp"])
        .input("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}\n")
        .run()
        .ok();
    let answers = ran.json_lines();
    assert_eq!(answers.len(), 1, "{}", ran.stdout);
    assert_eq!(answers[0]["jsonrpc"], "2.0");
    assert_eq!(answers[0]["id"], 1);
    for tool in answers[0]["result"]["tools"].as_array().unwrap() {
        assert!(
            tool["name"].is_string() && tool["description"].is_string() && tool["inputSchema"].is_object(),
            "{tool}"
        );
    }
}

/// PACT-03, PACT-04, PACT-08, PACT-09, PACT-19
#[test]
fn a_call_answers_content_and_says_that_it_is_no_error() {
    let home = home();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}}));
    assert_eq!(
        client.receive(),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "hi"}], "isError": false}})
    );
}

/// PACT-06, PACT-07, PACT-74, PACT-81, PACT-10
#[test]
fn every_answer_echoes_its_id_as_it_was_sent() {
    let home = unhurried();
    let _daemon = home.up();
    let mut client = home.mcp();
    for id in ["7", "\"seven\"", "\"7\"", "-1", "9007199254740993", "\"ünï \\\"x\\\"\""] {
        client.send_raw(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"nothing/here\"}}\n").as_bytes(),
        );
        let line = client.line();
        let sent: Value = serde_json::from_str(id).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], sent, "{line}");
        assert_eq!(answer["error"]["code"], -32601);
        assert!(answer["error"]["message"].is_string());
        assert!(answer.get("result").is_none());
    }
}

/// PACT-11, PACT-12, PACT-13, PACT-14, PACT-15: each kind of broken message has its documented code.
#[test]
fn malformed_messages_get_the_documented_codes() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    for (line, code, id) in [
        ("{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        ("not json", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700, Value::Null),
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600, json!(3)),
        (r#"{"id":4,"method":"ping"}"#, -32600, json!(4)),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":6,"method":"ping","params":[1]}"#, -32600, json!(6)),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":8,"method":"no/such"}"#, -32601, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}"#, -32602, json!(9)),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"echo","arguments":[1]}}"#,
            -32602,
            json!(10),
        ),
    ] {
        client.send_raw(format!("{line}\n").as_bytes());
        let answer = client.receive();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["id"], id, "{line}: {answer}");
    }
    // An inside failure: the log cannot be written, so no call is made.
    drop(client);
    daemon.stop();
    crate::durability::with_full_disk(|client| {
        let answer = client.call("echo", json!({"text": "hi"}));
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
    });
}

/// PACT-17, PACT-21, PACT-22, PACT-23: every tool has a unique name, a description and an object schema whose
/// properties are typed and described (`echo` stays as its own document writes it).
#[test]
fn every_definition_is_complete() {
    let home = everything();
    let _daemon = home.up();
    let listed = home.run(&["tools", "list", "--json"]).ok().json();
    let tools = listed["tools"].as_array().unwrap();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), tools.len(), "{names:?}");
    for tool in tools {
        assert!(!tool["description"].as_str().unwrap().is_empty());
        assert_eq!(tool["inputSchema"]["type"], "object");
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for (property, schema) in properties {
            assert!(schema["type"].is_string(), "{tool}");
            assert!(tool["name"] == "echo" || schema["description"].is_string(), "{property} of {tool}");
        }
        let required = tool["inputSchema"].get("required").map(|required| required.as_array().unwrap());
        for name in required.into_iter().flatten() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{name} of {tool}");
        }
    }
}

/// PACT-50, PACT-51, PACT-52, PACT-53, PACT-71
#[test]
fn the_twenty_first_request_at_once_is_refused_with_the_documents_message() {
    let home = home();
    let _daemon = home.up();
    let mut client = home.mcp();
    let batch: String = (1..=40)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n"))
        .collect();
    let sent = std::time::Instant::now();
    client.send_raw(batch.as_bytes());
    let answers: Vec<Value> = (0..40).map(|_| client.receive()).collect();
    let refilled = usize::try_from(sent.elapsed().as_millis() / 100).unwrap();
    let refused: Vec<&Value> = answers.iter().filter(|answer| answer.get("error").is_some()).collect();
    let served = answers.len() - refused.len();
    assert!((20..=21 + refilled).contains(&served), "a burst of 20, and one more per 100 ms: {served}");
    for answer in refused {
        assert_eq!(answer["error"]["code"], -32000);
        assert_eq!(answer["error"]["message"], "Rate limit exceeded. Please try again later.");
        assert!((1..=100).contains(&answer["error"]["data"]["retry_after_ms"].as_u64().unwrap()), "{answer}");
    }
    // Sustained: ten per second come back.
    let waited = std::time::Instant::now();
    until("the bucket refills", || client.request("ping", json!({})).get("result").map(|_| ()));
    assert!(waited.elapsed() < std::time::Duration::from_secs(5));
}

/// PACT-20: a tool that fails answers with a result; refusals of ours are errors.
#[test]
fn a_failing_tool_is_a_result_that_begins_with_error() {
    let home = home();
    home.write("config.toml", "[limits]\noutput_bytes = 1024\n");
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    let answer = client.call("echo", json!({"text": "x".repeat(2000)}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().starts_with("Error: "), "{answer}");
}

/// PACT-57, PACT-58, PACT-59, PACT-70
#[test]
fn a_secret_in_a_result_is_replaced_by_its_name() {
    let home = home();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    home.command(&["secrets", "set", "API_KEY"]).input("s3cr3t-value-42\n").run().ok();
    let mut client = home.mcp();
    let text = "API response: {\"key\": \"s3cr3t-value-42\"}";
    let answer = client.call("echo", json!({ "text": text }));
    assert_eq!(answer["result"]["content"][0]["text"], "API response: {\"key\": \"[REDACTED:API_KEY]\"}");
    let refused = client.call("s3cr3t-value-42", json!({}));
    assert!(!refused.to_string().contains("s3cr3t-value-42"), "errors too: {refused}");
}

/// PACT-64, PACT-65, PACT-66, PACT-67
#[test]
fn debug_logging_writes_the_documented_lines() {
    let home = home();
    home.write("config.toml", "[logging]\nlevel = \"debug\"\n");
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    client.receive();
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}));
    client.receive();
    let log = until("the last line is written", || {
        let log = std::fs::read_to_string(home.path().join("logs/covenant.log")).unwrap_or_default();
        log.contains("tool execution completed").then_some(log)
    });
    for line in [
        "DEBUG mcp: received request method=tools/list id=1\n",
        "DEBUG mcp: sending response id=1 tools=9\n",
        "DEBUG mcp: received request method=tools/call id=2 tool=echo\n",
    ] {
        assert!(log.contains(line), "{line}{log}");
    }
    let done = log.lines().find(|line| line.contains("DEBUG mcp: tool execution completed")).unwrap();
    let (_, tail) = done.split_once("tool execution completed ").unwrap();
    let (front, success) = tail.rsplit_once(' ').unwrap();
    assert!(
        front.starts_with("id=2 duration=") && front.ends_with("ms") && success == "success=true",
        "{done}"
    );
}
