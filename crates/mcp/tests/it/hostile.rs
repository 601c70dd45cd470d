//! Clients that send nonsense, too much, or read nothing: refused or closed, and everyone else served.

use std::time::Duration;

use covenant_gate::Credential;
use covenant_mcp::{Ended, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{OPERATOR, World, code};

#[tokio::test]
async fn nonsense_is_answered_with_its_code_and_the_connection_goes_on() {
    let mut client = World::new().await.connect();
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}"#, "[".repeat(10_000));
    let cases: [(&[u8], i64, Value); 12] = [
        (b"nonsense", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (deep.as_bytes(), -32700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}"#, -32700, Value::Null),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (br#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
        (br#"{"jsonrpc":"2.0","method":7,"id":"x"}"#, -32600, json!("x")),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":5}"#, -32600, json!(5)),
        (br#"{"jsonrpc":"2.0","id":6,"method":"x/y"}"#, -32601, json!(6)),
    ];
    for (line, wanted, id) in cases {
        client.send(line).await;
        let answer = client.hear().await;
        assert_eq!((code(&answer), &answer["id"]), (wanted, &id), "{}", String::from_utf8_lossy(line));
    }
    client.send("\r").await;
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\r").await;
    assert_eq!(client.hear().await, json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
}

#[tokio::test]
async fn a_line_over_the_limit_is_refused_and_the_next_is_served() {
    let world = World::new().await;
    let options = Options { request_bytes: 1000, ..Options::default() };
    let mut client = world.connect_as(Credential::peer(OPERATOR), options);
    for _ in 0..200 {
        client.send_bytes(&[b'x'; 999]).await;
    }
    client.send("").await;
    let answer = client.hear().await;
    assert_eq!((code(&answer), &answer["id"]), (-32600, &Value::Null));
    assert!(answer["error"]["message"].as_str().unwrap().contains("1000 bytes"));
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn half_a_message_waits_for_its_end_and_a_last_line_needs_none() {
    let mut client = World::new().await.connect();
    client.send_bytes(br#"{"jsonrpc":"2.0","id":1,"#).await;
    client.send(br#""method":"ping"}"#).await;
    assert_eq!(client.hear().await["id"], 1);
    client.send_bytes(br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await;
    let (ended, rest) = client.close().await;
    assert!(matches!(ended, Ended::Closed));
    assert_eq!(rest, [json!({"jsonrpc": "2.0", "id": 2, "result": {}})]);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_closed_and_the_others_are_served() {
    let world = World::new().await;
    let options = Options { patience: Duration::from_secs(3), ..Options::default() };
    let mut deaf = world.connect_as(Credential::peer(OPERATOR), options);
    let mut other = world.connect();
    for _ in 0..8 {
        deaf.ask("tools/call", json!({"name": "big", "arguments": {"bytes": 100_000}})).await;
        assert_eq!(code(&other.request("ping", json!({})).await), 0);
    }
    assert!(matches!(deaf.ended().await, Ended::Stalled));
    assert_eq!(code(&other.request("ping", json!({})).await), 0);
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    let mut client = World::new().await.connect();
    let answer = client.call("big", json!({"bytes": 3_000_000})).await;
    assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), 3_000_000);
}

fn some_line() -> impl Strategy<Value = String> {
    let method = prop_oneof![
        Just("ping"),
        Just("tools/list"),
        Just("tools/call"),
        Just("initialize"),
        Just("subscriptions/listen"),
        Just("resources/subscribe"),
        Just("logging/setLevel"),
        Just("notifications/cancelled"),
        Just("notifications/initialized"),
        Just("x")
    ];
    let name = prop_oneof![Just(json!("echo")), Just(json!("yield")), Just(json!("steps")), Just(json!(7))];
    let request = (any::<Option<u8>>(), method, name, any::<Option<u8>>()).prop_map(|(id, method, name, other)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": {
            "name": name, "arguments": {"text": "x"}, "requestId": other, "protocolVersion": "x", "level": "info",
            "notifications": {"toolsListChanged": true},
        }});
        if let Some(id) = id {
            message["id"] = json!(id);
        }
        if let Some(other) = other {
            message["params"]["_meta"] = crate::world::modern_meta();
            message["params"]["_meta"]["progressToken"] = json!(other);
        }
        message.to_string()
    });
    let response = (any::<Option<u8>>(), any::<bool>()).prop_map(|(id, good)| {
        json!({"jsonrpc": "2.0", "id": id, if good { "result" } else { "error" }: {}}).to_string()
    });
    prop_oneof![4 => request, 1 => response, 1 => "[ -~]{0,60}", 1 => "[\\{\\}\\[\\]\",:a-z0-9]{0,40}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever else a client sends, each request with an id of its own is answered exactly once.
    #[test]
    fn every_id_gets_exactly_one_answer_among_any_noise(
        noise in proptest::collection::vec(some_line(), 0..40),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = World::new().await.connect();
            let mut expected = std::collections::BTreeSet::new();
            for (at, line) in noise.iter().enumerate() {
                client.send(line).await;
                let id = format!("mine-{at}");
                client.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                    "params": {"name": "yield", "arguments": {}}}).to_string()).await;
                expected.insert(id);
            }
            while !expected.is_empty() {
                let message = client.hear().await;
                if let Some(id) = message["id"].as_str().filter(|id| id.starts_with("mine-")) {
                    assert!(expected.remove(id), "{id} was answered twice");
                    assert_eq!(message["result"]["isError"], false);
                }
            }
            let (_, rest) = client.close().await;
            assert!(rest.iter().all(|message| !message["id"].as_str().unwrap_or_default().starts_with("mine-")));
        });
    }
}

#[tokio::test]
async fn half_a_message_and_then_silence_is_closed_and_the_others_are_served() {
    let world = World::new().await;
    let options = Options { patience: Duration::from_millis(100), ..Options::default() };
    let mut silent = world.connect_as(Credential::peer(OPERATOR), options.clone());
    let mut idle = world.connect_as(Credential::peer(OPERATOR), options);
    silent.send_bytes(br#"{"jsonrpc":"2.0","id":1,"#).await;
    assert!(matches!(silent.ended().await, Ended::Stalled));
    assert_eq!(code(&idle.request("ping", json!({})).await), 0, "one that has said nothing may stay");
}
