//! A client, the bridge and the served connection together, over a real socket.

use covenant_gate::Credential;
use covenant_mcp::bridge::{self, ExitReason, Unreached};
use covenant_mcp::{Options, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};
use tokio::net::{UnixListener, UnixStream};

use crate::world::{OPERATOR, World};

#[tokio::test]
async fn piped_requests_are_all_answered_before_the_bridge_ends() {
    let world = World::new().await;
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
    let connect = || {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map_err(|error| Unreached::silent(error.to_string())) }
    };
    let (mut reader, mut writer) = split(client);
    let talk = async {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "yield"}});
        let piped = format!("{}\n{call}", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        writer.write_all(piped.as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
        let mut said = String::new();
        reader.read_to_string(&mut said).await.unwrap();
        said
    };
    let (reason, said) = tokio::join!(bridge::run(input, output, connect, bridge::Options::default()), talk);
    assert!(matches!(reason, ExitReason::InputClosed));
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(answers[1]["result"]["content"][0]["text"], "yielded");
    assert!(matches!(daemon.await.unwrap(), covenant_mcp::Ended::Closed));
}
