//! Who hears of changes: only who listens, and only of what it can see.

use covenant_mcp::Options;
use serde_json::{Value, json};

use crate::world::{Beginning, World, code, modern_meta};

async fn closed_world() -> World {
    World::begin(Beginning { granted: Vec::new(), ..Beginning::default() }).await
}

#[tokio::test]
async fn a_legacy_client_hears_when_what_it_sees_changes_and_not_otherwise() {
    let world = closed_world().await;
    let credential = world.add_client("claude").await;
    let mut client = world.connect_as(credential, Options::default());
    client.initialize().await;
    client.request("ping", json!({})).await;
    world.grant("tool.call.echo", "client:someone-else").await;
    client.request("ping", json!({})).await;
    let grant = world.grant("tool.call.echo", "client:claude").await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    assert_eq!(client.hear().await, changed);
    assert_eq!(client.request("tools/list", json!({})).await["result"]["tools"][0]["name"], "echo");
    world.gate.revoke_grant(&world.operator(), &grant).await.unwrap();
    assert_eq!(client.hear().await, changed);
    assert_eq!(client.close().await.1, Vec::<Value>::new());
}

#[tokio::test]
async fn who_did_not_shake_hands_hears_nothing() {
    let world = closed_world().await;
    let mut client = world.connect();
    client.request("tools/list", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    world.grant("tool.call.echo", "any").await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(client.close().await.1, Vec::<Value>::new());
}

#[tokio::test]
async fn a_modern_subscription_is_acknowledged_tagged_and_ends_when_cancelled() {
    let world = closed_world().await;
    let mut client = world.connect();
    let wanted =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["x:y"]});
    let id =
        client.ask("subscriptions/listen", json!({"_meta": modern_meta(), "notifications": wanted})).await;
    let tag = json!({"io.modelcontextprotocol/subscriptionId": id});
    let acknowledged = client.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"], json!({"_meta": tag, "notifications": {"toolsListChanged": true}}));
    world.grant("tool.call.echo", "any").await;
    let changed = client.hear().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"], json!({"_meta": tag}));
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    client.modern("tools/list", json!({})).await;
    world.grant("tool.call.clock", "any").await;
    client.modern("tools/list", json!({})).await;
    assert_eq!(client.close().await.1, Vec::<Value>::new());
}

#[tokio::test]
async fn a_subscription_to_nothing_hears_nothing_and_a_stop_ends_it_in_good_order() {
    let world = closed_world().await;
    let options = Options::default();
    let stop = options.stop.clone();
    let mut client = world.connect_as(covenant_gate::Credential::peer(crate::world::OPERATOR), options);
    let id = client.ask("subscriptions/listen", json!({"_meta": modern_meta(), "notifications": {}})).await;
    assert_eq!(client.hear().await["params"]["notifications"], json!({}));
    world.grant("tool.call.echo", "any").await;
    client.modern("tools/list", json!({})).await;
    stop.cancel();
    let end = client.hear().await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(id), &json!("complete")));
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn subscriptions_are_bounded_and_checked() {
    let world = closed_world().await;
    let mut client = world.connect();
    let params = |notifications: Value| json!({"_meta": modern_meta(), "notifications": notifications});
    for _ in 0..16 {
        client.ask("subscriptions/listen", params(json!({}))).await;
        assert_eq!(client.hear().await["method"], "notifications/subscriptions/acknowledged");
    }
    assert_eq!(code(&client.request("subscriptions/listen", params(json!({}))).await), -32600);
    for wrong in [json!([]), json!({"toolsListChanged": 7}), Value::Null] {
        assert_eq!(code(&client.request("subscriptions/listen", params(wrong)).await), -32602);
    }
}
