//! Calls that take their time: progress, messages, cancellation, and how many run at once.

use covenant_mcp::{Ended, Options};
use serde_json::{Value, json};

use crate::tools::gate;
use crate::world::{Client, OPERATOR, World, code};

async fn at_gate(client: &mut Client, name: &str) -> u64 {
    let waits = gate(&format!("{name} waits"));
    let id = client.ask("tools/call", json!({"name": "gate", "arguments": {"name": name}})).await;
    waits.notified().await;
    id
}

async fn cancel(client: &mut Client, id: u64) {
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "test"})).await;
}

#[tokio::test]
async fn progress_and_messages_come_before_the_answer_and_in_order() {
    let mut client = World::new().await.connect();
    let id = client.ask("tools/call", json!({"name": "steps", "_meta": {"progressToken": "p-1"}})).await;
    let mut heard = Vec::new();
    loop {
        let message = client.hear().await;
        if message["id"] == id {
            break;
        }
        heard.push(message);
    }
    let of = |method: &str| -> Vec<Value> {
        heard
            .iter()
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    };
    let step =
        |n: u64| json!({"progressToken": "p-1", "progress": n, "total": 3, "message": format!("step {n}")});
    assert_eq!(of("notifications/progress"), [step(1), step(2), step(3)]);
    let levels: Vec<_> = of("notifications/message").iter().map(|params| params["level"].clone()).collect();
    assert_eq!(levels, ["info", "error"], "debug is below the level a session begins with");
}

#[tokio::test]
async fn a_legacy_client_sets_how_much_it_hears_and_secrets_are_not_in_it() {
    let mut client = World::new().await.connect();
    client.request("logging/setLevel", json!({"level": "emergency"})).await;
    assert_eq!(client.call("steps", json!({})).await["result"]["isError"], false);
    client.request("logging/setLevel", json!({"level": "error"})).await;
    client.ask("tools/call", json!({"name": "steps", "arguments": {"say": "hunter2-hunter2"}})).await;
    assert_eq!(client.hear().await["params"]["data"], "[REDACTED:API_KEY]");
    client.hear().await;
}

#[tokio::test]
async fn a_fast_call_does_not_wait_for_a_slow_one() {
    let mut client = World::new().await.connect();
    let slow = at_gate(&mut client, "slow one").await;
    assert_eq!(client.call("echo", json!({"text": "fast"})).await["result"]["isError"], false);
    gate("slow one").notify_one();
    let answer = client.hear().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(slow), &json!("opened")));
}

#[tokio::test]
async fn a_cancelled_call_is_stopped_and_not_answered() {
    let mut client = World::new().await.connect();
    let id = at_gate(&mut client, "to cancel").await;
    cancel(&mut client, id + 100).await;
    cancel(&mut client, id).await;
    gate("to cancel cancelled").notified().await;
    let (ended, rest) = client.close().await;
    assert!(matches!(ended, Ended::Closed));
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test]
async fn an_id_that_is_still_under_way_is_refused_and_the_first_is_answered() {
    let mut client = World::new().await.connect();
    let id = at_gate(&mut client, "twice").await;
    client.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string()).await;
    assert_eq!(code(&client.hear().await), -32600);
    gate("twice").notify_one();
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "opened");
    client.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string()).await;
    assert_eq!(client.hear().await["result"], json!({}));
}

#[tokio::test]
async fn when_the_client_goes_its_calls_are_stopped() {
    let world = World::new().await;
    let mut client = world.connect();
    at_gate(&mut client, "left behind").await;
    let cancelled = gate("left behind cancelled");
    let (ended, rest) = client.close().await;
    assert!(matches!(ended, Ended::Closed));
    assert_eq!(rest, Vec::<Value>::new());
    cancelled.notified().await;
}

#[tokio::test]
async fn requests_over_the_number_under_way_wait_and_cancelling_gets_through() {
    let world = World::new().await;
    let options = Options { in_flight: 3, ..Options::default() };
    let mut client = world.connect_as(covenant_gate::Credential::peer(OPERATOR), options);
    let first = at_gate(&mut client, "full 1").await;
    let second = at_gate(&mut client, "full 2").await;
    let third = at_gate(&mut client, "full 3").await;
    let waiting = client.ask("tools/call", json!({"name": "echo", "arguments": {"text": "waited"}})).await;
    let unwanted = client.ask("tools/call", json!({"name": "gate", "arguments": {"name": "never"}})).await;
    cancel(&mut client, unwanted).await;
    cancel(&mut client, first).await;
    gate("full 1 cancelled").notified().await;
    assert_eq!(client.hear().await["id"], waiting);
    gate("full 2").notify_one();
    assert_eq!(client.hear().await["id"], second);
    gate("full 3").notify_one();
    assert_eq!(client.hear().await["id"], third);
    assert_eq!(client.close().await.1, Vec::<Value>::new());
}

#[tokio::test]
async fn a_stop_answers_what_is_under_way_and_then_closes() {
    let world = World::new().await;
    let options = Options::default();
    let stop = options.stop.clone();
    let mut client = world.connect_as(covenant_gate::Credential::peer(OPERATOR), options);
    let id = at_gate(&mut client, "drained").await;
    stop.cancel();
    gate("drained").notify_one();
    assert_eq!(client.hear().await["id"], id);
    assert_eq!(client.next().await, None);
    assert!(matches!(client.ended().await, Ended::Stopped));
}

#[tokio::test]
async fn a_thousand_calls_at_once_are_each_answered_once() {
    let mut client = World::new().await.connect();
    let (mut asked, mut answered) = (0, std::collections::BTreeSet::new());
    for _ in 0..10 {
        for tool in ["echo", "yield"].into_iter().cycle().take(100) {
            asked = client.ask("tools/call", json!({"name": tool, "arguments": {"text": "x"}})).await;
        }
        for _ in 0..100 {
            assert!(answered.insert(client.hear().await["id"].as_u64().unwrap()));
        }
    }
    assert_eq!(answered.len(), 1000);
    assert_eq!(answered.last(), Some(&asked));
}
