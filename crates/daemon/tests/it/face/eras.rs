//! What decides how a message is taken, where it needs a tool of our own to be seen.

use serde_json::{Value, json};

use super::{Theatre, UNHURRIED};

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_that_stands_in_a_header_stands_in_both_or_in_neither() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("doubled").await;
    let request = |region: Value| {
        let arguments = if region.is_null() { json!({}) } else { json!({ "region": region }) };
        json!({"name": "region", "arguments": arguments})
    };
    let at = |client: &crate::mcp_client::HttpClient, region: Value| {
        client.modern("tools/call", &request(region), &json!(1))
    };
    let west = at(&client, json!("west"));
    for (request, outcome) in [
        (west.clone().with("Mcp-Param-Region", "west"), 200),
        (west.clone().with("mcp-param-region", "=?base64?d2VzdA==?="), 200),
        (at(&client, Value::Null), 200),
        (at(&client, json!("wést")).with("Mcp-Param-Region", "=?base64?d8Opc3Q=?="), 200),
        (west.clone().with("Mcp-Param-Other", "whatever"), 400),
        (west.clone().with("Mcp-Param-Region", "whatever").with("Mcp-Param-Other", "west"), 400),
        (west.clone(), 400),
        (west.clone().with("Mcp-Param-Region", "East"), 400),
        (west.with("Mcp-Param-Region", ""), 400),
        (at(&client, Value::Null).with("Mcp-Param-Region", "west"), 400),
        (at(&client, Value::Null).with("Mcp-Param-Region", "wést"), 400),
        (at(&client, json!("wést")).with("Mcp-Param-Region", "wést"), 400),
    ] {
        let answer = client.send(&request);
        assert_eq!(answer.status, outcome, "{request:?}: {answer:?}");
        if outcome == 400 {
            assert_eq!((answer.code(), answer.json()["id"].clone()), (-32020, json!(1)), "{request:?}");
        }
    }
    // It is a rule of the stateless era alone.
    client.initialize();
    assert_eq!(client.call("region", json!({"region": "west"}))["result"]["isError"], false);
    // And a tool that the caller may not call does not tell which headers it has.
    let mut stranger = theatre.client_with("stranger", &[]).await;
    let answer = stranger.send(&at(&stranger, json!("west")));
    assert_eq!((answer.status, answer.code()), (200, -31001), "{answer:?}");
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_no_text_is_not_taken_for_one_that_is_absent() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("odd").await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let odd = "\u{e9}";
    assert_eq!(client.send(&client.plain(&list)).status, 200);
    assert_eq!(client.send(&client.plain(&list).with("Mcp-Session-Id", odd)).status, 404);
    assert_eq!(client.send(&client.plain(&list).with("MCP-Protocol-Version", odd)).status, 400);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_post_is_answered_as_json_whatever_it_accepts() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("plain").await;
    theatre.stage.gate().add_permits(10);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "work", "arguments": {"steps": 2}, "_meta": {"progressToken": "t"}}});
    for accept in
        ["text/event-stream", "application/json, text/event-stream", "text/html", "image/*;q=0.5", "*/*", ""]
    {
        for message in [&list, &call] {
            let answer = client.send(&client.plain(message).with("Accept", accept));
            assert_eq!(answer.status, 200, "{accept}: {answer:?}");
            assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
            assert_eq!(answer.json()["id"], message["id"], "{accept}");
        }
    }
    theatre.house.stop().await;
}
