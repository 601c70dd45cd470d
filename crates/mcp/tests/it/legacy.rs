//! The era of the handshake, and bare requests without one.

use covenant_gate::config::Config;
use covenant_mcp::Options;
use covenant_model::grant::Approval;
use serde_json::json;

use crate::world::{Beginning, World, code};

#[tokio::test]
async fn a_client_of_every_legacy_revision_shakes_hands_lists_and_calls() {
    let world = World::new().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = world.connect();
        let info = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let answer = client.request("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "covenant");
        assert_eq!(answer["result"]["serverInfo"]["title"], "Covenant");
        assert_eq!(answer["result"]["capabilities"], json!({"logging": {}, "tools": {"listChanged": true}}));
        client.notify("notifications/initialized", json!({})).await;
        let list = client.request("tools/list", json!({})).await;
        let names: Vec<_> =
            list["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(names.is_sorted_by_key(|name| name.as_str()) && names.contains(&&json!("echo")), "{names:?}");
        assert_eq!(
            client.call("echo", json!({"text": "hi"})).await["result"],
            json!({"content": [{"type": "text", "text": "hi"}], "isError": false})
        );
        assert!(matches!(client.close().await.0, covenant_mcp::Ended::Closed));
    }
}

#[tokio::test]
async fn an_unknown_revision_is_offered_our_newest_and_a_missing_one_is_refused() {
    let mut client = World::new().await.connect();
    let answer = client.request("initialize", json!({"protocolVersion": "2026-07-28"})).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(code(&client.request("initialize", json!({})).await), -32602);
}

/// PACT: the documented requests, typed as written, without a handshake.
#[tokio::test]
async fn the_documented_requests_are_answered_as_documented() {
    let mut client = World::new().await.connect();
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let list = client.hear().await;
    let echo =
        list["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(echo["description"], "Returns the provided text argument verbatim.");
    assert_eq!(list["result"].as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    client
        .send(r#"{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"echo","arguments":{"text":"ü\n"}}}"#)
        .await;
    assert_eq!(
        client.hear().await,
        json!({"jsonrpc": "2.0", "id": "two",
               "result": {"content": [{"type": "text", "text": "ü\n"}], "isError": false}})
    );
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_told_so() {
    let mut client = World::new().await.connect();
    for (method, params, wanted) in [
        ("ping", json!({}), 0),
        ("logging/setLevel", json!({"level": "warning"}), 0),
        ("logging/setLevel", json!({"level": "loud"}), -32602),
        ("logging/setLevel", json!({}), -32602),
        ("tools/list", json!({"cursor": "x"}), -32602),
        ("tools/list", json!({"_meta": []}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": "nothing"}), -32602),
        ("tools/call", json!({"name": "echo", "arguments": []}), -32602),
        ("tools/call", json!({"name": "echo", "arguments": {"text": 7}}), -32602),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": ""}, "_meta": {"progressToken": {}}}),
            -32602,
        ),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": ""}, "_meta": {"progressToken": "a"}}),
            0,
        ),
        ("resources/list", json!({}), -32601),
        ("prompts/get", json!({"name": "x"}), -32601),
        ("completion/complete", json!({}), -32601),
        ("server/discover", json!({}), -32602),
        ("no/such/method", json!({}), -32601),
        ("resources/subscribe", json!({"uri": "x:"}), -32601),
    ] {
        let answer = client.request(method, params.clone()).await;
        assert_eq!(code(&answer), wanted, "{method} {params}: {answer}");
        if wanted == -32602 {
            assert!(answer["error"]["message"].as_str().unwrap().starts_with("Invalid params: "), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_grant_is_refused_with_the_command_that_grants_it() {
    let world = World::begin(Beginning { granted: Vec::new(), ..Beginning::default() }).await;
    let credential = world.add_client("claude").await;
    let mut client = world.connect_as(credential, Options::default());
    assert_eq!(client.request("tools/list", json!({})).await["result"]["tools"], json!([]));
    let refused = client.call("echo", json!({"text": "hi"})).await;
    assert_eq!(code(&refused), -31001);
    let command = "covenant capabilities grant tool.call.echo --to client:claude";
    assert_eq!(refused["error"]["data"], json!({"action": "tool.call.echo", "command": command}));
    assert!(refused["error"]["message"].as_str().unwrap().contains(command));

    world.grant("tool.call.echo", "client:claude").await;
    assert_eq!(client.call("echo", json!({"text": "hi"})).await["result"]["isError"], false);

    world.grant_with("tool.call.big", "client:claude", Approval::Ask).await;
    let pending = client.call("big", json!({})).await;
    assert_eq!(code(&pending), -31003);
    assert!(pending["error"]["data"]["approval_id"].as_str().unwrap().starts_with("appr_"), "{pending}");
}

/// PACT-51 to 53: burst 20, and the documented message.
#[tokio::test]
async fn every_request_counts_and_a_notification_does_not() {
    let config = Config { rate: 0.001, burst: 20, ..Config::default() };
    let world = World::begin(Beginning { config, ..Beginning::default() }).await;
    let mut client = world.connect();
    client.initialize().await;
    for _ in 0..30 {
        client.notify("notifications/roots/list_changed", json!({})).await;
    }
    for method in ["ping", "tools/list", "no/such/method", "resources/list"].into_iter().cycle().take(19) {
        assert_ne!(code(&client.request(method, json!({})).await), -32000);
    }
    let limited = client.request("ping", json!({})).await;
    assert_eq!(code(&limited), -32000);
    assert_eq!(limited["error"]["message"], "Rate limit exceeded. Please try again later.");
    assert!(limited["error"]["data"]["retry_after_ms"].as_u64().unwrap() > 0);
    let mut other = world.connect();
    assert_eq!(code(&other.request("ping", json!({})).await), 0);
}

#[tokio::test]
async fn a_revoked_token_is_refused_on_the_open_connection() {
    let world = World::new().await;
    let credential = world.add_client("claude").await;
    let mut client = world.connect_as(credential, Options::default());
    assert_eq!(code(&client.call("echo", json!({"text": "a"})).await), 0);
    world.gate.revoke_client(&world.operator(), "claude").await.unwrap();
    for method in ["tools/list", "ping", "initialize"] {
        assert_eq!(code(&client.request(method, json!({})).await), -31000, "{method}");
    }
}

#[tokio::test]
async fn a_secret_comes_back_neither_in_a_result_nor_in_an_error() {
    let mut client = World::new().await.connect();
    let secret = "hunter2-hunter2";
    let echoed = client.call("echo", json!({"text": secret})).await;
    assert_eq!(echoed["result"]["content"][0]["text"], "[REDACTED:API_KEY]");
    for answer in [
        client.request(secret, json!({})).await,
        client.call(secret, json!({})).await,
        client.modern("tools/call", json!({"name": secret})).await,
    ] {
        assert!(answer["error"].is_object() && !answer.to_string().contains(secret), "{answer}");
    }
}
