//! Calls that take a while: what is said on the way, and what becomes of them when their client loses interest.

use serde_json::{Value, json};

use super::{Theatre, UNHURRIED, methods};

fn work(steps: u32, token: &str) -> Value {
    json!({"name": "work", "arguments": {"steps": steps}, "_meta": {"progressToken": token}})
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_arrives_before_the_answer_in_both_eras() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("watcher").await;
    client.initialize();
    let message = client.message("tools/call", &work(3, "t"));
    for (era, request) in [
        ("legacy", client.legacy(&message)),
        ("modern", client.modern("tools/call", &work(3, "t"), &message["id"])),
    ] {
        let mut stream = client.stream(&request);
        assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")), "{era}");
        for step in 1..=3 {
            let event = stream.event();
            assert_eq!(event["method"], "notifications/progress", "{era}: {event}");
            assert_eq!(event["params"], json!({"progressToken": "t", "progress": step}), "{era}");
        }
        assert!(stream.is_quiet(), "{era}: the tool has not ended");
        theatre.stage.go();
        let answer = stream.event();
        assert_eq!(answer["id"], message["id"], "{era}: {answer}");
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{era}: {answer}");
        assert_eq!(stream.next(), None, "{era}: the answer is the last event");
    }
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_only_documents_gets_one_and_who_takes_only_streams_gets_that() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("particular").await;
    client.initialize();
    theatre.stage.gate().add_permits(4);
    let message = client.message("tools/call", &work(3, "t"));
    let both = client.legacy(&message);
    for accept in ["application/json", "*/*", "application/*"] {
        let answer = client.send(&both.clone().with("Accept", accept));
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}: {answer:?}");
        assert_eq!(answer.json()["id"], message["id"]);
    }
    let answer = client.send(&both.with("Accept", "text/event-stream"));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let progress = "notifications/progress";
    assert_eq!(methods(&answer.messages()), [progress, progress, progress, "the answer"]);
    let unknown = client.modern("no/such", &json!({}), &json!(1)).with("Accept", "text/event-stream");
    let answer = client.send(&unknown);
    assert_eq!((answer.status, answer.code()), (404, -32601), "an error has its status whatever is taken");
    let ping = client.message("ping", &json!({}));
    let answer = client.send(&client.legacy(&ping).with("Accept", "text/event-stream"));
    assert_eq!(answer.messages(), [json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}})]);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_call_becomes_a_stream_so_that_its_client_knows_it_lives() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("patient").await;
    client.initialize();
    let message = client.message("tools/call", &work(0, "t"));
    let mut stream = client.stream(&client.legacy(&message));
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(theatre.stage.cancelled(), 0);
    theatre.stage.go();
    assert_eq!(stream.event()["id"], message["id"]);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_that_hangs_up_takes_its_request_back() {
    let theatre = Theatre::new(UNHURRIED).await;
    let client = theatre.client("fickle").await;
    // Once while the answer could still be a document, and once on a stream that has begun.
    let silent = client.begin(&client.modern("tools/call", &work(0, "t"), &json!(1)));
    theatre.stage.has_begun(1);
    drop(silent);
    theatre.stage.was_cancelled(1);
    let mut stream = client.stream(&client.modern("tools/call", &work(1, "t"), &json!(2)));
    assert_eq!(stream.event()["method"], "notifications/progress");
    drop(stream);
    theatre.stage.was_cancelled(2);
    assert_eq!(theatre.ends("work", 2).await, ["cancelled", "cancelled"]);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_a_session_that_hangs_up_does_not_take_its_request_back() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("steady").await;
    client.initialize();
    let message = client.message("tools/call", &work(0, "t"));
    let silent = client.begin(&client.legacy(&message));
    theatre.stage.has_begun(1);
    drop(silent);
    let message = client.message("tools/call", &work(1, "t"));
    let mut stream = client.stream(&client.legacy(&message));
    assert_eq!(stream.event()["method"], "notifications/progress");
    drop(stream);
    assert!(client.request("ping", json!({}))["result"].is_object(), "the session goes on");
    theatre.stage.go();
    theatre.stage.go();
    assert_eq!(theatre.ends("work", 2).await, ["ok", "ok"]);
    assert_eq!(theatre.stage.cancelled(), 0);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_a_session_takes_a_request_back_by_saying_so() {
    let theatre = Theatre::new(UNHURRIED).await;
    let (mut client, mut other) = (theatre.client("decided").await, theatre.client("other").await);
    client.initialize();
    other.initialize();
    let (first, second) =
        (client.message("tools/call", &work(0, "t")), client.message("tools/call", &work(1, "t")));
    let silent = client.begin(&client.legacy(&first));
    let mut stream = client.stream(&client.legacy(&second));
    assert_eq!(stream.event()["method"], "notifications/progress");
    theatre.stage.has_begun(2);
    // The same id in another session is another request.
    let cancel = |message: &Value| json!({"requestId": message["id"], "reason": "enough"});
    for message in [&first, &second] {
        assert_eq!(other.notify("notifications/cancelled", &cancel(message)).status, 202);
    }
    assert!(stream.is_quiet());
    assert_eq!(theatre.stage.cancelled(), 0);
    for message in [&first, &second] {
        assert_eq!(client.notify("notifications/cancelled", &cancel(message)).status, 202);
    }
    assert_eq!(stream.next(), None, "a request that was taken back has no answer");
    let answer = silent.answer();
    assert_eq!((answer.status, answer.text.as_str()), (202, ""));
    theatre.stage.was_cancelled(2);
    assert_eq!(theatre.ends("work", 2).await, ["cancelled", "cancelled"]);
    theatre.house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_a_stream_is_finished_before_the_daemon_ends() {
    let theatre = Theatre::new(UNHURRIED).await;
    let client = theatre.client("late").await;
    let mut stream = client.stream(&client.modern("tools/call", &work(1, "t"), &json!(1)));
    assert_eq!(stream.event()["method"], "notifications/progress");
    let (stage, socket) = (theatre.stage.clone(), theatre.house.socket());
    let stopping = tokio::spawn(theatre.house.stop());
    crate::wait::until("the daemon is closing", || (!socket.exists()).then_some(()));
    assert!(stream.is_quiet());
    stage.go();
    assert_eq!(stream.event()["result"]["content"][0]["text"], "done");
    assert_eq!(stream.next(), None);
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_outlasts_the_end_of_its_daemon_is_taken_back() {
    let theatre = Theatre::new(UNHURRIED).await;
    let mut client = theatre.client("endless").await;
    client.initialize();
    let message = client.message("tools/call", &work(1, "t"));
    let mut stream = client.stream(&client.legacy(&message));
    assert_eq!(stream.event()["method"], "notifications/progress");
    let (stage, dir) = (theatre.stage.clone(), theatre.house.stop().await);
    assert_eq!(stream.next(), None);
    assert_eq!(stage.cancelled(), 1);
    let rows = std::fs::read_to_string(crate::house::home(&dir).audit().join("000001.jsonl")).unwrap();
    assert!(rows.contains("\"decision\":\"cancelled\""), "{rows}");
}
