//! The server is real; only the waiting is shorter.

use std::sync::Arc;

use covenant_gate::context::Trace;
use covenant_model::audit::Decision;
use covenant_model::id::CallId;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Tells a queue of a call that ended so.
fn tell(queue: &Queue, outcome: Decision, reason: Option<&'static str>) {
    let trace = Trace::from_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    queue.ended(&CallSpan {
        trace: &trace,
        id: "00f067aa0ba902b7",
        method: "tools/call",
        tool: Some("echo"),
        kind: Some("native"),
        call: &CallId::from_random([0; 10]),
        principal: "user@local",
        ended: 1_700_000_000_000_000_123,
        took: Duration::from_nanos(123),
        outcome,
        reason,
    });
}

fn queue(room: usize) -> (Queue, mpsc::Receiver<Ended>, Arc<AtomicU64>) {
    let (sender, spans) = mpsc::channel(room);
    let lost = Arc::new(AtomicU64::new(0));
    (Queue { spans: sender, lost: Arc::clone(&lost) }, spans, lost)
}

fn status_of(span: &Value) -> &Value {
    &span["status"]
}

#[tokio::test]
async fn a_span_is_written_as_otlp_wants_it() {
    let (queue, mut spans, _) = queue(8);
    tell(&queue, Decision::Ok, None);
    let body: Value = serde_json::from_str(&batch::body(&[spans.recv().await.unwrap()])).unwrap();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let version = covenant_model::VERSION;
    assert_eq!(
        body,
        json!({"resourceSpans": [{
            "resource": {"attributes": [text("service.name", "covenant"), text("service.version", version)]},
            "scopeSpans": [{
                "scope": {"name": "covenant", "version": version},
                "spans": [{
                    "traceId": "0af7651916cd43dd8448eb211c80319c",
                    "spanId": "00f067aa0ba902b7",
                    "parentSpanId": "b7ad6b7169203331",
                    "name": "tools/call echo",
                    "kind": 2,
                    "startTimeUnixNano": "1700000000000000000",
                    "endTimeUnixNano": "1700000000000000123",
                    "attributes": [
                        text("mcp.method.name", "tools/call"),
                        text("mcp.tool.name", "echo"),
                        text("covenant.call.id", CallId::from_random([0; 10]).as_str()),
                        text("covenant.outcome", "ok"),
                        text("covenant.kind", "native"),
                        text("covenant.principal", "user@local"),
                    ],
                    "status": {},
                }],
            }],
        }]})
    );
}

#[tokio::test]
async fn failures_have_the_status_of_an_error_and_refusals_do_not() {
    let (queue, mut spans, _) = queue(8);
    for (outcome, reason, status) in [
        (Decision::Error, "tool_error", json!({"code": 2})),
        (Decision::Failed, "fault", json!({"code": 2})),
        (Decision::TimedOut, "timed_out", json!({"code": 2})),
        (Decision::Refused, "not_granted", json!({})),
        (Decision::Cancelled, "cancelled", json!({})),
    ] {
        tell(&queue, outcome, Some(reason));
        let body: Value = serde_json::from_str(&batch::body(&[spans.recv().await.unwrap()])).unwrap();
        let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(status_of(span), &status, "{reason}");
        let last = span["attributes"].as_array().unwrap().last().unwrap();
        assert_eq!(last, &json!({"key": "error.type", "value": {"stringValue": reason}}));
    }
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_nobody_waits() {
    let (queue, mut spans, lost) = queue(2);
    for _ in 0..5 {
        tell(&queue, Decision::Ok, None);
    }
    assert_eq!(lost.load(Ordering::Relaxed), 3);
    spans.recv().await.unwrap();
    tell(&queue, Decision::Ok, None);
    assert_eq!(lost.load(Ordering::Relaxed), 3, "there is room again");
    drop(spans);
    tell(&queue, Decision::Ok, None);
    assert_eq!(lost.load(Ordering::Relaxed), 4);
}

/// A collector that answers each request with the next of those statuses; how many came.
async fn collector(statuses: &'static [&'static str]) -> (Address, Arc<AtomicU64>) {
    collector_on(TcpListener::bind("127.0.0.1:0").await.unwrap(), statuses)
}

fn collector_on(listener: TcpListener, statuses: &'static [&'static str]) -> (Address, Arc<AtomicU64>) {
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let came = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&came);
    tokio::spawn(async move {
        for status in statuses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = Vec::new();
            while !text.ends_with(b"]}") {
                assert!(stream.read_buf(&mut text).await.unwrap() > 0);
            }
            count.fetch_add(1, Ordering::SeqCst);
            stream
                .write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())
                .await
                .unwrap();
        }
    });
    (Address::parse(&url).unwrap(), came)
}

fn quick(address: Address) -> Post {
    let mut post = Post::new(address, HeaderMap::new());
    post.hurry();
    post
}

fn body() -> String {
    batch::body(&[])
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_does_not_is_not() {
    let (address, came) =
        collector(&["503 Busy", "502 Busy", "429 Busy", "200 OK", "400 Bad", "200 OK"]).await;
    let mut post = quick(address);
    assert!(post.deliver(body()).await, "those pass");
    assert_eq!(came.load(Ordering::SeqCst), 4);
    assert!(!post.deliver(body()).await);
    assert_eq!(came.load(Ordering::SeqCst), 5, "a bad request stays one");
    assert!(post.deliver(body()).await, "the next batch has its own chance");
    let (address, came) = collector(&["504 Busy"; 8]).await;
    assert!(!quick(address).deliver(body()).await);
    assert_eq!(came.load(Ordering::SeqCst), 4, "and not for ever");
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_given_up_on_and_found_when_it_is_back() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut post = quick(Address::parse(&format!("http://{gone}/v1/traces")).unwrap());
    assert!(!post.deliver(body()).await);
    let (_, came) = collector_on(TcpListener::bind(gone).await.unwrap(), &["200 OK"]);
    assert!(post.deliver(body()).await);
    assert_eq!(came.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_closed_queue_is_sent_at_once_and_what_is_not_taken_counts_as_lost() {
    let (address, came) = collector(&["200 OK", "400 Bad"]).await;
    for lost_then in [0, 3] {
        let (queue, spans, lost) = queue(8);
        for _ in 0..3 {
            tell(&queue, Decision::Ok, None);
        }
        drop(queue);
        let sending = send(spans, quick(address.clone()), Arc::clone(&lost));
        timeout(GATHER / 2, sending).await.expect("it does not wait for more");
        assert_eq!(lost.load(Ordering::Relaxed), lost_then);
    }
    assert_eq!(came.load(Ordering::SeqCst), 2);
}
