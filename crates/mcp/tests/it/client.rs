//! A client that talks in lines, in either era.

use std::time::Duration;

use covenant_mcp::Ended;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a modern request says of itself.
pub(crate) fn modern_meta() -> Value {
    able_meta(&json!({}))
}

/// The same of a client that can be asked for those things.
pub(crate) fn able_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A client at the other end of a served stream.
pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<Ended>,
    last: u64,
}

impl Client {
    pub(crate) fn new(stream: DuplexStream, serving: JoinHandle<Ended>) -> Self {
        let (reader, writer) = split(stream);
        Self { reader: BufReader::new(reader), writer, serving, last: 0 }
    }

    pub(crate) async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.writer.write_all(line.as_ref()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    /// Sends a request under the next id, which it returns.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(request.to_string()).await;
        self.last
    }

    /// The next message, or nothing when the server has closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.reader.read_line(&mut line));
        read.await.expect("the server says nothing").unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn hear(&mut self) -> Value {
        self.next().await.expect("the server closed")
    }

    /// Sends a request and gives its answer, which must be the next message.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The same in the modern era.
    pub(crate) async fn modern(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = modern_meta();
        self.request(method, params).await
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Answers a question of the server's.
    pub(crate) async fn answer(&mut self, question: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()).await;
    }

    /// Waits until there is something to hear, and leaves it unheard.
    pub(crate) async fn is_spoken_to(&mut self) {
        assert!(!self.reader.fill_buf().await.unwrap().is_empty());
    }

    /// The legacy handshake.
    pub(crate) async fn initialize(&mut self) -> Value {
        self.initialize_able(json!({})).await
    }

    /// The same of a client that can be asked for those things.
    pub(crate) async fn initialize_able(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.request("initialize", params).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    /// Closes our side, and waits for the server's end; everything it still said comes back too.
    pub(crate) async fn close(mut self) -> (Ended, Vec<Value>) {
        self.writer.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        (self.serving.await.unwrap(), rest)
    }

    /// Waits for the server's end without reading anything.
    pub(crate) async fn ended(self) -> Ended {
        self.serving.await.unwrap()
    }
}

/// The code of an error.
pub(crate) fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}
