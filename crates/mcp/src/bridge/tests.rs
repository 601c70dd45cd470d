//! The bridge between a client we play and daemons we play: what is passed on, and what it answers by itself.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use super::*;

type Connections = Rc<RefCell<VecDeque<Result<DuplexStream, Unreached>>>>;

/// One end of a line-wise conversation.
struct End {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl End {
    fn of(stream: DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self { reader: BufReader::new(reader), writer }
    }

    async fn say(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }
}

/// A bridge at work, with a queue of what its attempts to connect will give.
fn bridge(options: Options) -> (End, Connections, impl Future<Output = ExitReason>) {
    bridge_holding(64 * 1024, options)
}

/// The same, with that much room between the bridge and the client.
fn bridge_holding(room: usize, options: Options) -> (End, Connections, impl Future<Output = ExitReason>) {
    let (client, ours) = duplex(room);
    let connections = Connections::default();
    let next = connections.clone();
    let (input, output) = split(ours);
    let running = run(
        input,
        output,
        move || {
            let next = next.borrow_mut().pop_front();
            async move { next.unwrap_or_else(|| Err(Unreached::silent("no daemon runs", "run `covenant up`"))) }
        },
        options,
    );
    (End::of(client), connections, running)
}

fn daemon(connections: &Connections) -> End {
    let (theirs, ours) = duplex(64 * 1024);
    connections.borrow_mut().push_back(Ok(theirs));
    End::of(ours)
}

fn request(id: u32, method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).to_string()
}

fn result(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The envelope that a call was answered with, in its text as in its structure.
fn failed(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!((&result["isError"], &result["structuredContent"]["status"]), (&json!(true), &json!("error")));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    result["structuredContent"].clone()
}

/// Plays a scene beside the running bridge.
async fn play<T>(
    running: impl Future<Output = ExitReason>,
    scene: impl Future<Output = T>,
) -> (ExitReason, T) {
    tokio::join!(running, scene)
}

#[tokio::test]
async fn lines_pass_both_ways_unchanged() {
    let (mut client, connections, running) = bridge(Options::default());
    let mut daemon = daemon(&connections);
    let scene = async move {
        client.say(&request(1, "tools/list")).await;
        assert_eq!(daemon.hear().await.unwrap()["method"], "tools/list");
        daemon.say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#).await;
        daemon.say(&result(1)).await;
        assert_eq!(client.hear().await.unwrap()["method"], "notifications/message");
        assert_eq!(client.hear().await.unwrap()["id"], 1);
        client.writer.shutdown().await.unwrap();
        assert_eq!(client.hear().await, None);
        assert_eq!(daemon.hear().await, None);
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));
}

#[tokio::test]
async fn a_daemon_that_dies_is_answered_for_and_the_next_request_reaches_a_new_one() {
    let (mut client, connections, running) = bridge(Options::default());
    let mut first = daemon(&connections);
    let scene = async move {
        client.say(&request(1, "tools/call")).await;
        client.say(&request(2, "tools/call")).await;
        first.hear().await.unwrap();
        first.hear().await.unwrap();
        drop(first);
        let mut told = [client.hear().await.unwrap(), client.hear().await.unwrap()];
        told.sort_by_key(|answer| answer["id"].as_u64());
        for (answer, id) in told.iter().zip(1..) {
            assert_eq!(answer["id"], id);
            let told = failed(answer);
            assert_eq!(told["message"], "The Covenant daemon stopped before it answered.");
            assert!(told["feedback"]["required_action"].as_str().unwrap().contains("covenant audit recent"));
        }
        let mut second = daemon(&connections);
        client.say(&request(3, "tools/list")).await;
        assert_eq!(second.hear().await.unwrap()["id"], 3);
        second.say(&result(3)).await;
        assert_eq!(client.hear().await.unwrap()["id"], 3);
        client.writer.shutdown().await.unwrap();
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));
}

#[tokio::test]
async fn a_legacy_session_goes_on_with_a_new_daemon() {
    let (mut client, connections, running) = bridge(Options::default());
    let mut first = daemon(&connections);
    let scene = async move {
        client.say(&request(0, "initialize")).await;
        first.hear().await.unwrap();
        first.say(&result(0)).await;
        client.hear().await.unwrap();
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!(first.hear().await.unwrap()["method"], "notifications/initialized");
        drop(first);
        let mut second = daemon(&connections);
        client.say(&request(1, "tools/list")).await;
        let repeated = second.hear().await.unwrap();
        assert_eq!(repeated["method"], "initialize");
        assert_eq!(second.hear().await.unwrap()["method"], "notifications/initialized");
        assert_eq!(second.hear().await.unwrap()["id"], 1);
        second.say(&json!({"jsonrpc": "2.0", "id": repeated["id"], "result": {}}).to_string()).await;
        second.say(&result(1)).await;
        assert_eq!(client.hear().await.unwrap()["method"], "notifications/tools/list_changed");
        assert_eq!(client.hear().await.unwrap()["id"], 1);
        client.writer.shutdown().await.unwrap();
        assert_eq!(client.hear().await, None);
    };
    play(running, scene).await;
}

#[tokio::test]
async fn while_no_daemon_can_be_reached_each_request_is_told_why() {
    let (mut client, connections, running) = bridge(Options { pause: Duration::ZERO, ..Options::default() });
    let scene = async move {
        for id in 1..4 {
            client.say(&request(id, "tools/list")).await;
            let answer = client.hear().await.unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)));
            assert_eq!(answer["error"]["message"], "no daemon runs; run `covenant up`");
        }
        let modern = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        for (meta, kind) in [(json!({}), Value::Null), (json!([]), Value::Null), (modern, json!("complete"))]
        {
            let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"_meta": meta}});
            client.say(&call.to_string()).await;
            let answer = client.hear().await.unwrap();
            assert_eq!(failed(&answer)["feedback"]["required_action"], "Run `covenant up`.");
            assert_eq!(answer["result"]["resultType"], kind, "{meta}");
        }
        let mut late = daemon(&connections);
        client.say(&request(4, "tools/list")).await;
        assert_eq!(late.hear().await.unwrap()["id"], 4);
        late.say(&result(4)).await;
        assert_eq!(client.hear().await.unwrap()["result"], json!({}));
        client.writer.shutdown().await.unwrap();
    };
    play(running, scene).await;
}

#[tokio::test]
async fn right_after_a_failure_nobody_tries_again() {
    let (mut client, connections, running) = bridge(Options { pause: Duration::MAX, ..Options::default() });
    let scene = async move {
        client.say(&request(1, "tools/list")).await;
        client.hear().await.unwrap();
        let _unused = daemon(&connections);
        client.say(&request(2, "tools/list")).await;
        assert_eq!(client.hear().await.unwrap()["error"]["message"], "no daemon runs; run `covenant up`");
        assert_eq!(connections.borrow().len(), 1);
        client.writer.shutdown().await.unwrap();
    };
    play(running, scene).await;
}

#[tokio::test]
async fn a_daemon_that_hangs_is_answered_for_and_its_late_answer_is_dropped() {
    let deadline = Duration::from_millis(50);
    let (mut client, connections, running) = bridge(Options { deadline, ..Options::default() });
    let mut daemon = daemon(&connections);
    let scene = async move {
        client.say(&request(1, "tools/call")).await;
        client.say(&request(9, "subscriptions/listen")).await;
        daemon.hear().await.unwrap();
        daemon.hear().await.unwrap();
        let answer = client.hear().await.unwrap();
        assert_eq!(answer["id"], 1);
        assert!(failed(&answer)["message"].as_str().unwrap().contains("not answered in time"), "{answer}");
        let taken_back = daemon.hear().await.unwrap();
        assert_eq!(taken_back["method"], "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], 1);
        daemon.say(&result(1)).await;
        daemon.say(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
        assert_eq!(client.hear().await.unwrap()["method"], "notifications/x");
        client.writer.shutdown().await.unwrap();
        assert_eq!(client.hear().await, None);
    };
    play(running, scene).await;
}

#[tokio::test]
async fn after_the_client_closes_its_answers_are_waited_for_and_not_for_ever() {
    let (mut client, connections, running) = bridge(Options::default());
    let mut daemon = daemon(&connections);
    let scene = async move {
        // The last line has no end.
        client.writer.write_all(request(1, "tools/list").as_bytes()).await.unwrap();
        client.writer.shutdown().await.unwrap();
        assert_eq!(daemon.hear().await.unwrap()["id"], 1);
        daemon.say(&result(1)).await;
        assert_eq!(client.hear().await.unwrap()["id"], 1);
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));

    let farewell = Duration::from_millis(50);
    let (mut client, connections, running) = bridge(Options { farewell, ..Options::default() });
    let mut silent = self::daemon(&connections);
    let scene = async move {
        client.say(&request(1, "tools/list")).await;
        client.writer.shutdown().await.unwrap();
        silent.hear().await.unwrap();
        assert_eq!(client.hear().await, None);
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::Abandoned));
}

#[tokio::test]
async fn a_client_that_cancels_or_stops_reading_leaves_nothing_behind() {
    let (mut client, connections, running) = bridge(Options::default());
    let mut daemon = daemon(&connections);
    let scene = async move {
        client.say(&request(1, "tools/call")).await;
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
        assert_eq!(daemon.hear().await.unwrap()["id"], 1);
        assert_eq!(daemon.hear().await.unwrap()["method"], "notifications/cancelled");
        client.writer.shutdown().await.unwrap();
        assert_eq!(client.hear().await, None);
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));

    let (client, connections, running) = bridge(Options::default());
    let mut daemon = self::daemon(&connections);
    let scene = async move {
        daemon.say(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
        drop(client);
        daemon
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::OutputClosed | ExitReason::InputClosed));
}

#[tokio::test]
async fn both_sides_may_talk_at_once_without_waiting_for_each_other() {
    let (client, connections, running) = bridge(Options::default());
    let daemon = daemon(&connections);
    let filler = "x".repeat(8 * 1024);
    let line =
        json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"filler": filler}}).to_string();
    // Each says everything before it listens: together more than all buffers between them hold.
    let talk = |mut end: End, line: String| async move {
        for _ in 0..100 {
            end.say(&line).await;
        }
        for _ in 0..100 {
            end.hear().await.unwrap();
        }
        end
    };
    let scene = async move {
        let (mut client, daemon) = tokio::join!(talk(client, line.clone()), talk(daemon, line));
        client.writer.shutdown().await.unwrap();
        daemon
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));
}

#[tokio::test]
async fn more_than_is_held_at_once_passes_in_full() {
    let room = 8 * 1024 * 1024;
    let (client, connections, running) = bridge_holding(room, Options::default());
    let (theirs, ours) = duplex(room);
    connections.borrow_mut().push_back(Ok(theirs));
    let (mut client, mut daemon) = (client, End::of(ours));
    let filler = "x".repeat(8 * 1024);
    let line =
        json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"filler": filler}}).to_string();
    for _ in 0..400 {
        daemon.say(&line).await;
        client.say(&line).await;
    }
    let scene = async move {
        for _ in 0..400 {
            client.hear().await.unwrap();
            daemon.hear().await.unwrap();
        }
        client.writer.shutdown().await.unwrap();
        daemon
    };
    assert!(matches!(play(running, scene).await.0, ExitReason::InputClosed));
}
