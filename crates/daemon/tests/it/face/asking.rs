//! Questions of a tool to its client: in a session on the stream of the call, without one by rounds.

use serde_json::{Value, json};

use super::{Theatre, UNHURRIED};

fn askable() -> Value {
    json!({"elicitation": {}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_asks_on_the_stream_of_its_call_and_is_answered_in_the_session() {
    let theatre = Theatre::new(UNHURRIED).await;
    let (mut client, mut other) = (theatre.client("asked").await, theatre.client("other").await);
    client.initialize_with(&askable());
    other.initialize_with(&askable());
    let call = client.message("tools/call", &json!({"name": "ask", "arguments": {}}));
    theatre.stage.go();
    let mut stream = client.stream(&client.legacy(&call));
    let question = stream.event();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Your name?");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}}});
    // Who is not in the session cannot answer for who is.
    assert_eq!(other.send(&other.legacy(&answer)).status, 202);
    assert_eq!(other.send(&other.plain(&answer)).status, 400);
    assert!(stream.is_quiet());
    assert_eq!(client.send(&client.legacy(&answer)).status, 202);
    let result = stream.event();
    assert_eq!(
        (result["id"].clone(), result["result"]["content"][0]["text"].clone()),
        (call["id"].clone(), json!("\"Ada\""))
    );
    assert_eq!(client.send(&client.legacy(&answer)).status, 202, "an answer to nothing is nothing");
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_goes_on_after_a_restart_can_still_be_asked() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("asked").await;
    client.initialize_with(&askable());
    let theatre = theatre.again().await;
    client.moved(theatre.house.port());
    theatre.stage.go();
    let call = client.message("tools/call", &json!({"name": "ask", "arguments": {}}));
    let mut stream = client.stream(&client.legacy(&call));
    let question = stream.event();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Bo"}}});
    assert_eq!(client.send(&client.legacy(&answer)).status, 202);
    assert_eq!(stream.event()["result"]["content"][0]["text"], "\"Bo\"");
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_be_asked_is_told_so() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("mute").await;
    client.initialize();
    theatre.stage.gate().add_permits(2);
    assert_eq!(client.call("ask", json!({}))["error"]["code"], -32021);
    // One that could be asked, and takes no stream on which it would be.
    client.initialize_with(&askable());
    let call = client.message("tools/call", &json!({"name": "ask", "arguments": {}}));
    let answer = client.send(&client.legacy(&call).with("Accept", "application/json"));
    assert_eq!((answer.status, answer.code()), (200, -32021));
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_the_answer_of_a_client_that_hung_up_before_it_was_asked() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("gone").await;
    client.initialize_with(&askable());
    let call = client.message("tools/call", &json!({"name": "ask", "arguments": {}}));
    let pending = client.begin(&client.legacy(&call));
    theatre.stage.has_begun(1);
    pending.hang_up();
    theatre.stage.go();
    assert_eq!(theatre.ends("ask", 1).await.len(), 1, "the call ends");
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateless_client_is_told_what_is_asked_and_brings_the_answer_with_the_next_round() {
    let theatre = Theatre::new(UNHURRIED).await;
    let (mut client, mut other) = (theatre.client("rounds").await, theatre.client("other").await);
    theatre.stage.gate().add_permits(5);
    let mute = client.send(&client.modern("tools/call", &json!({"name": "ask"}), &json!(1)));
    assert_eq!((mute.status, mute.code()), (400, -32021), "one that cannot be asked");
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": askable()});
    let first = json!({"name": "ask", "arguments": {}, "_meta": meta});
    let asked = client.send(&client.modern("tools/call", &first, &json!(2))).json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["name"]["method"], "elicitation/create");
    let answers = json!({"name": {"action": "accept", "content": {"name": "Cy"}}});
    let second = json!({"name": "ask", "arguments": {}, "_meta": meta,
        "inputResponses": answers, "requestState": asked["requestState"]});
    let stolen = other.send(&other.modern("tools/call", &second, &json!(3)));
    assert_eq!(stolen.code(), -32602, "what one was given to carry is nothing to another");
    let done = client.send(&client.modern("tools/call", &second, &json!(4))).json();
    assert_eq!(done["result"]["content"][0]["text"], "\"Cy\"", "{done}");
    theatre.house.stop().await;
}
