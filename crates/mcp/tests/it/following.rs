//! Who hears that a resource changed: who follows it and may read it, in either era.

use std::sync::Arc;

use covenant_gate::Context;
use covenant_gate::provider::{NotProvided, Provided, Resources};
use covenant_mcp::Options;
use serde_json::{Value, json};

use crate::world::{Beginning, Client, World, code, modern_meta};

/// Resources `name:…`, which may tell when they change.
pub(crate) struct Board(&'static str, bool);

impl Resources for Board {
    fn name(&self) -> &str {
        self.0
    }
    fn list(&self) -> Vec<Value> {
        Vec::new()
    }
    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }
    fn serves(&self, uri: &str) -> bool {
        uri.strip_prefix(self.0).is_some_and(|rest| rest.starts_with(':'))
    }
    fn tells_updates(&self) -> bool {
        self.1
    }
    fn read<'a>(&'a self, uri: &'a str, _: &'a Context) -> Provided<'a> {
        Box::pin(async move { Err(NotProvided::Failed(format!("{uri} is not for reading"))) })
    }
}

/// Two boards that tell, and one that does not.
pub(crate) async fn boards(granted: Vec<&'static str>) -> World {
    let board = |name, tells| -> Arc<dyn Resources> { Arc::new(Board(name, tells)) };
    let resources = vec![board("board", true), board("notes", true), board("mute", false)];
    World::begin(Beginning { granted, resources, ..Beginning::default() }).await
}

async fn both() -> World {
    boards(vec!["tool.resource.*"]).await
}

async fn subscribe(client: &mut Client, uri: &str) -> Value {
    client.request("resources/subscribe", json!({"uri": uri})).await
}

/// Listens for those, and gives the tag of the subscription and what was accepted.
async fn listen(client: &mut Client, uris: &Value) -> (Value, Value) {
    let params = json!({"_meta": modern_meta(), "notifications": {"resourceSubscriptions": uris}});
    let id = client.ask("subscriptions/listen", params).await;
    let acknowledged = client.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    (json!({"io.modelcontextprotocol/subscriptionId": id}), acknowledged["params"]["notifications"].clone())
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

/// A legacy client that follows those.
async fn follower(world: &World, uris: &[&str]) -> Client {
    let mut client = world.connect();
    let capabilities = client.initialize().await["result"]["capabilities"].clone();
    assert_eq!(capabilities["resources"], json!({"listChanged": true, "subscribe": true}));
    for uri in uris {
        assert_eq!(subscribe(&mut client, uri).await["result"], json!({}));
    }
    client
}

#[tokio::test]
async fn only_followers_hear_and_only_until_they_have_enough() {
    let world = both().await;
    let mut one = follower(&world, &["board:a", "board:b"]).await;
    let mut other = follower(&world, &["board:c"]).await;
    for uri in ["board:x", "board:a", "board:c"] {
        world.gate.resource_updated(uri);
    }
    assert_eq!(one.hear().await, updated("board:a"));
    assert_eq!(other.hear().await, updated("board:c"));
    for _ in 0..2 {
        assert_eq!(
            one.request("resources/unsubscribe", json!({"uri": "board:a"})).await["result"],
            json!({})
        );
    }
    for uri in ["board:a", "board:b"] {
        world.gate.resource_updated(uri);
    }
    assert_eq!(one.hear().await, updated("board:b"));
}

#[tokio::test]
async fn a_listener_is_told_under_its_tag_of_what_it_was_given_and_once() {
    let world = both().await;
    let mut client = world.connect();
    let wanted = json!(["board:b", "board:a", "nowhere:x", "mute:x", "", "board:a"]);
    let (tag, accepted) = listen(&mut client, &wanted).await;
    assert_eq!(accepted, json!({"resourceSubscriptions": ["board:a", "board:b"]}));
    for uri in ["nowhere:x", "mute:x", "board:c", "board:a", "board:b"] {
        world.gate.resource_updated(uri);
    }
    for uri in ["board:a", "board:b"] {
        let heard = client.hear().await;
        assert_eq!(heard["method"], "notifications/resources/updated");
        assert_eq!(heard["params"], json!({"_meta": tag, "uri": uri}));
    }
    for wrong in [json!("board:a"), json!([7]), json!({}), Value::Null] {
        let notifications = json!({"resourceSubscriptions": wrong});
        let params = json!({"notifications": notifications});
        assert_eq!(code(&client.modern("subscriptions/listen", params).await), -32602, "{wrong}");
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_followed() {
    let world = both().await;
    let mut client = follower(&world, &[]).await;
    for uri in ["nowhere:x", "mute:x", "", "board"] {
        assert_eq!(code(&subscribe(&mut client, uri).await), -32002, "{uri}");
    }
    let long = format!("board:{}", "x".repeat(3000));
    assert_eq!(code(&subscribe(&mut client, &long).await), -32602);
    assert_eq!(listen(&mut client, &json!([long, "nowhere:x"])).await.1, json!({}));
    for params in [json!({}), json!({"uri": 7}), json!({"uri": null})] {
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(code(&client.request(method, params.clone()).await), -32602);
            assert_eq!(code(&client.modern(method, params.clone()).await), -32601);
        }
    }
}

#[tokio::test]
async fn to_follow_needs_the_grant_to_read() {
    let world = boards(Vec::new()).await;
    let credential = world.add_client("claude").await;
    let mut client = world.connect_as(credential, Options::default());
    client.initialize().await;
    let refused = subscribe(&mut client, "board:a").await;
    assert_eq!(
        (code(&refused), &refused["error"]["data"]["action"]),
        (-31001, &json!("tool.resource.board"))
    );
    assert_eq!(listen(&mut client, &json!(["board:a"])).await.1, json!({}));
    world.grant("tool.resource.board", "client:claude").await;
    assert_eq!(subscribe(&mut client, "board:a").await["result"], json!({}));
    let accepted = json!({"resourceSubscriptions": ["board:a"]});
    assert_eq!(listen(&mut client, &json!(["board:a", "notes:a"])).await.1, accepted);
}

#[tokio::test]
async fn a_client_may_follow_so_many_and_the_same_one_again() {
    let world = both().await;
    let mut client = follower(&world, &[]).await;
    for at in 0..256 {
        assert_eq!(subscribe(&mut client, &format!("board:{at}")).await["result"], json!({}));
    }
    let refused = subscribe(&mut client, "board:one-more").await;
    assert_eq!(code(&refused), -32602);
    assert!(refused["error"]["message"].as_str().unwrap().contains("256"), "{refused}");
    assert_eq!(subscribe(&mut client, "board:7").await["result"], json!({}));
    client.request("resources/unsubscribe", json!({"uri": "board:7"})).await;
    assert_eq!(subscribe(&mut client, "board:one-more").await["result"], json!({}));
    let many: Vec<_> = (0..300).map(|at| format!("board:{at}")).collect();
    let (_, accepted) = listen(&mut client, &json!(many)).await;
    assert_eq!(accepted["resourceSubscriptions"].as_array().unwrap().len(), 256);
}

/// More updates at once than are kept for anyone, of something nobody follows.
fn flood(world: &World) {
    for _ in 0..300 {
        world.gate.resource_updated("notes:flood");
    }
}

#[tokio::test]
async fn who_cannot_keep_up_is_told_of_all_it_follows() {
    let world = both().await;
    let mut legacy = follower(&world, &["board:a", "notes:b"]).await;
    let mut modern = world.connect();
    listen(&mut modern, &json!(["board:a", "notes:b"])).await;
    legacy.request("ping", json!({})).await;
    flood(&world);
    for client in [&mut legacy, &mut modern] {
        for uri in ["board:a", "notes:b"] {
            assert_eq!(client.hear().await["params"]["uri"], uri);
        }
        world.gate.resource_updated("notes:b");
        assert_eq!(client.hear().await["params"]["uri"], "notes:b");
    }
}

#[tokio::test]
async fn a_revoked_grant_ends_the_telling() {
    let world = boards(vec!["tool.resource.notes"]).await;
    let grant = world.grant("tool.resource.board", "any").await;
    let mut legacy = follower(&world, &["board:a", "notes:b"]).await;
    let mut modern = world.connect();
    listen(&mut modern, &json!(["board:a", "notes:b"])).await;
    legacy.request("ping", json!({})).await;
    world.gate.revoke_grant(&world.operator(), &grant).await.unwrap();
    for uri in ["board:a", "notes:b"] {
        world.gate.resource_updated(uri);
    }
    for client in [&mut legacy, &mut modern] {
        assert_eq!(client.hear().await["params"]["uri"], "notes:b");
    }
    flood(&world);
    for client in [&mut legacy, &mut modern] {
        assert_eq!(client.hear().await["params"]["uri"], "notes:b", "nor by way of a flood");
    }
}
