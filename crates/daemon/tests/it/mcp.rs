//! MCP over an upgraded connection.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::house::House;

/// Upgrades that stream, sending the first message in the same breath, and returns the head and one line.
async fn converse<Io: AsyncRead + AsyncWrite + Unpin>(
    stream: Io,
    authorization: &str,
    message: &Value,
) -> (String, String) {
    let mut stream = BufReader::new(stream);
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: Upgrade\r\nUpgrade: mcp\r\n\r\n"
    );
    stream.write_all(format!("{head}{message}\n").as_bytes()).await.unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).await.unwrap(), 0, "{head}");
    }
    let mut line = String::new();
    if head.starts_with("HTTP/1.1 101") {
        stream.read_line(&mut line).await.unwrap();
    }
    (head, line)
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

#[tokio::test]
async fn the_socket_becomes_mcp_and_no_byte_is_lost() {
    let house = House::new().await;
    let (head, line) = converse(UnixStream::connect(house.socket()).await.unwrap(), "", &initialize()).await;
    assert!(head.to_lowercase().contains("upgrade: mcp"), "{head}");
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (answer["id"].clone(), answer["result"]["protocolVersion"].clone()),
        (json!(1), json!("2025-11-25"))
    );
    house.stop().await;
}

#[tokio::test]
async fn a_wrong_token_is_refused_before_the_upgrade_and_the_port_needs_one() {
    let house = House::new().await;
    let wrong = "Authorization: Bearer cv_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";
    let (head, _) = converse(UnixStream::connect(house.socket()).await.unwrap(), wrong, &initialize()).await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (head, _) = converse(house.tcp().await, "", &initialize()).await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let token = std::fs::read_to_string(house.running.home().operator_token()).unwrap();
    let right = format!("Authorization: Bearer {}\r\n", token.trim());
    let (head, line) = converse(house.tcp().await, &right, &initialize()).await;
    assert!(head.starts_with("HTTP/1.1 101") && line.contains("protocolVersion"), "{head}{line}");
    house.stop().await;
}

#[tokio::test]
async fn without_an_upgrade_or_a_session_it_says_what_is_needed() {
    let house = House::new().await;
    let answer = house.get("/mcp").await;
    assert_eq!((answer.status.as_u16(), answer.headers["allow"].to_str().unwrap()), (405, "POST"));
    house.stop().await;
}

#[tokio::test]
async fn an_open_conversation_does_not_hold_the_daemon_up() {
    let house = House::new().await;
    let mut stream = UnixStream::connect(house.socket()).await.unwrap();
    stream
        .write_all(b"GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n")
        .await
        .unwrap();
    let mut line = String::new();
    BufReader::new(&mut stream).read_line(&mut line).await.unwrap();
    assert!(line.starts_with("HTTP/1.1 101"), "{line}");
    let stopped = tokio::time::timeout(std::time::Duration::from_secs(5), house.stop()).await;
    stopped.expect("the daemon stops");
}
