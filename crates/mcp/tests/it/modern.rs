//! The era in which every request stands alone.

use serde_json::json;

use crate::world::{World, code, modern_meta};

#[tokio::test]
async fn discovery_says_what_we_speak_and_have() {
    let mut client = World::new().await.connect();
    let result = &client.modern("server/discover", json!({})).await["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["capabilities"], json!({"logging": {}, "tools": {"listChanged": true}}));
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
    assert!(result["ttlMs"].is_u64() && result["instructions"].is_string());
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "covenant");
}

#[tokio::test]
async fn lists_and_calls_need_no_handshake_and_say_what_they_are() {
    let mut client = World::new().await.connect();
    let list = client.modern("tools/list", json!({})).await;
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!((&list["result"]["ttlMs"], &list["result"]["cacheScope"]), (&json!(0), &json!("private")));
    let call = client.modern("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}})).await;
    assert_eq!(call["result"]["resultType"], "complete");
    assert_eq!(call["result"]["content"], json!([{"type": "text", "text": "hi"}]));
    assert!(call["result"].get("ttlMs").is_none());
}

#[tokio::test]
async fn what_the_modern_era_dropped_is_not_there() {
    let mut client = World::new().await.connect();
    let params = json!({"level": "info", "protocolVersion": "2025-11-25", "capabilities": {}, "uri": "x:y"});
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(code(&client.modern(method, params.clone()).await), -32601, "{method}");
    }
}

#[tokio::test]
async fn a_revision_we_do_not_speak_is_named_with_those_we_do() {
    let mut client = World::new().await.connect();
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let answer = client.request("tools/list", json!({"_meta": meta})).await;
    assert_eq!(code(&answer), -32022);
    assert_eq!(answer["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(answer["error"]["data"]["supported"][0], "2026-07-28");
    let only = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert_eq!(code(&client.request("tools/list", only).await), -32602);
}

#[tokio::test]
async fn both_eras_live_on_one_connection() {
    let mut client = World::new().await.connect();
    client.initialize().await;
    assert!(client.modern("tools/list", json!({})).await["result"]["resultType"].is_string());
    assert!(client.request("tools/list", json!({})).await["result"].get("resultType").is_none());
}

#[tokio::test]
async fn log_messages_come_only_to_who_asks_for_them() {
    let mut client = World::new().await.connect();
    let answer = client.modern("tools/call", json!({"name": "steps"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/logLevel"] = json!("error");
    let id = client.ask("tools/call", json!({"name": "steps", "_meta": meta})).await;
    let message = client.hear().await;
    assert_eq!(message["method"], "notifications/message");
    assert_eq!(message["params"], json!({"level": "error", "logger": "steps", "data": 3.0}));
    assert_eq!(client.hear().await["id"], id);
    meta["io.modelcontextprotocol/logLevel"] = json!("loud");
    assert_eq!(code(&client.request("tools/call", json!({"name": "steps", "_meta": meta})).await), -32602);
}
