//! Streams on which a client listens: who hears of what, how they end, and one that is not read.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Theatre, UNHURRIED};
use crate::mcp_client::HttpClient;

fn listen(client: &HttpClient, wanted: &Value, id: &Value) -> crate::wire::Stream {
    let stream =
        client.stream(&client.modern("subscriptions/listen", &json!({ "notifications": wanted }), id));
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_acknowledged_filtered_and_ended_with_a_result() {
    let theatre = Theatre::new(UNHURRIED).await;
    let client = theatre.client_with("listener", &["tool.call.echo", "tool.resource.notes"]).await;
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["note:a", "file:///etc/passwd"]});
    let mut stream = listen(&client, &wanted, &json!("sub-1"));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "sub-1"});
    let said = |method: &str, more: Value| {
        let mut params = json!({ "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params})
    };
    let given = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["note:a"]}});
    assert_eq!(stream.event(), said("subscriptions/acknowledged", given), "what there is, and may be heard");
    let gate = theatre.house.running.gate().clone();
    gate.resource_updated("note:b");
    gate.resource_updated("note:a");
    assert_eq!(stream.event(), said("resources/updated", json!({"uri": "note:a"})));
    let grant = async |subject: &str, action: &str| {
        let grant = json!({"subject": subject, "action": action});
        assert_eq!(theatre.house.ask("POST", "/api/v1/capabilities", grant).await.status, 201);
    };
    grant("client:other", "tool.call.say").await;
    assert!(stream.is_quiet(), "what another may do is not this one's business");
    grant("client:listener", "tool.call.say").await;
    assert_eq!(stream.event(), said("tools/list_changed", json!({})));
    let stopping = tokio::spawn(theatre.house.stop());
    let ended = stream.event();
    assert_eq!(
        ended,
        json!({"jsonrpc": "2.0", "id": "sub-1", "result": {"resultType": "complete", "_meta": meta}})
    );
    assert_eq!(stream.next(), None);
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_wants_nothing_hears_nothing_and_one_who_takes_no_stream_is_refused() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("quiet").await;
    let mut stream = listen(&client, &json!({}), &json!(7));
    assert_eq!(stream.event()["params"]["notifications"], json!({}));
    theatre.house.running.gate().resource_updated("note:a");
    theatre.client("another").await;
    assert!(stream.is_quiet());
    let request = client.modern("subscriptions/listen", &json!({"notifications": {}}), &json!(8));
    let answer = client.send(&request.clone().with("Accept", "application/json"));
    assert_eq!((answer.status, answer.json()["id"].clone()), (406, json!(8)));
    let answer =
        client.send(&client.modern("subscriptions/listen", &json!({"notifications": []}), &json!(9)));
    assert_eq!((answer.status, answer.code()), (200, -32602), "{answer:?}");
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_ends_its_stream_and_its_calls() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("ending").await;
    client.initialize();
    let mut stream = client.listen();
    let message = client.message("tools/call", &json!({"name": "work", "arguments": {}}));
    let pending = client.begin(&client.legacy(&message));
    theatre.stage.has_begun(1);
    assert_eq!(client.end().status, 204);
    assert_eq!(stream.next(), None);
    theatre.stage.was_cancelled(1);
    assert_eq!(pending.answer().status, 202);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_token_it_was_opened_by_whatever_the_client_was_granted() {
    let theatre = Theatre::new(UNHURRIED).await;
    for (name, grants) in [("granted", &["tool.call.echo"][..]), ("plain", &[])] {
        let mut client = theatre.client_with(name, grants).await;
        client.initialize();
        let mut session = client.listen();
        let mut subscription = listen(&client, &json!({"toolsListChanged": true}), &json!(1));
        assert!(subscription.event()["params"].is_object());
        let path = format!("/api/v1/clients/{name}");
        assert_eq!(theatre.house.ask("DELETE", &path, Value::Null).await.status, 200);
        assert_eq!(session.next(), None, "{name}");
        assert_eq!(subscription.next(), None, "{name}");
        let ping = client.message("ping", &json!({}));
        let answer = client.send(&client.legacy(&ping));
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{name}");
    }
    theatre.house.stop().await;
}

/// The clock of the runtime jumps ahead when nothing else is left to do: half a minute passes at once.
#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_and_what_it_asked_for_is_taken_back() {
    let theatre = Theatre::new(UNHURRIED).await;
    let client = theatre.client("deaf").await;
    let params = json!({"name": "flood", "arguments": {}, "_meta": {"progressToken": "t"}});
    let bytes = client.modern("tools/call", &params, &json!(1)).bytes(theatre.house.port());
    let mut deaf = theatre.house.tcp().await;
    deaf.write_all(&bytes).await.unwrap();
    // Everything between us is full when the tool is held back.
    let (mut said, mut unchanged) = (0, 0);
    while said == 0 || unchanged < 1000 {
        tokio::task::yield_now().await;
        unchanged = if theatre.stage.said() == said { unchanged + 1 } else { 0 };
        said = theatre.stage.said();
    }
    let answer = theatre.house.get("/healthz").await;
    assert_eq!(answer.text, "ok", "others are served");
    tokio::time::pause();
    while theatre.stage.cancelled() == 0 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    tokio::time::resume();
    let mut read = Vec::new();
    let _ = deaf.read_to_end(&mut read).await;
    assert!(read.starts_with(b"HTTP/1.1 200"));
    assert!(read.len() < 16_000_000, "what is not read is not kept: {}", read.len());
    assert_eq!(theatre.ends("flood", 1).await, ["cancelled"]);
    theatre.house.stop().await;
}
