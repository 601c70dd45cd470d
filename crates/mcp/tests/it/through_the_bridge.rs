//! A client, the bridge and the served connection together, over a real socket.

use covenant_gate::Credential;
use covenant_mcp::bridge::{self, ExitReason, Unreached};
use covenant_mcp::{Ended, Options, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::curious::{able, asking_world};
use crate::world::{OPERATOR, World};

/// The client's end of a bridge to a daemon, and both of those.
struct Bridged {
    client: DuplexStream,
    bridge: JoinHandle<ExitReason>,
    daemon: JoinHandle<Ended>,
    _home: TempDir,
}

fn bridged(world: &World) -> Bridged {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let gate = world.gate.clone();
    let daemon = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, gate, Credential::peer(OPERATOR), Options::default()).await
    });
    let (client, ours) = duplex(64 * 1024);
    let (input, output) = split(ours);
    let connect = move || {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map_err(|error| Unreached::silent(error.to_string(), "")) }
    };
    let bridge = tokio::spawn(bridge::run(input, output, connect, bridge::Options::default()));
    Bridged { client, bridge, daemon, _home: home }
}

#[tokio::test]
async fn piped_requests_are_all_answered_before_the_bridge_ends() {
    let world = World::new().await;
    let Bridged { mut client, bridge, daemon, _home } = bridged(&world);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "yield"}});
    let piped = format!("{}\n{call}", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    client.write_all(piped.as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    assert!(matches!(bridge.await.unwrap(), ExitReason::InputClosed));
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(answers[1]["result"]["content"][0]["text"], "yielded");
    assert!(matches!(daemon.await.unwrap(), Ended::Closed));
}

#[tokio::test]
async fn questions_and_their_answers_pass_the_bridge() {
    let world = asking_world().await;
    let Bridged { client, _home, .. } = bridged(&world);
    let (reader, mut writer) = split(client);
    let mut lines = BufReader::new(reader).lines();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": able()});
    let shake = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "curious"}});
    writer.write_all(format!("{shake}\n{call}\n").as_bytes()).await.unwrap();
    let mut said = Vec::new();
    while said.len() < 4 {
        let line = lines.next_line().await.unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"].is_string() {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": "Ada"}});
            writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        said.push(message);
    }
    assert_eq!((&said[0]["id"], &said[3]["id"]), (&json!(1), &json!(2)));
    assert_eq!(said[1]["method"], "elicitation/create");
    assert_eq!(said[2]["method"], "sampling/createMessage");
    assert_eq!(said[3]["result"]["content"][0]["text"], r#""Ada" "Ada" null"#);
}
