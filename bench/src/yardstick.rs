//! The bare server that HTTP is measured against: axum with as many workers as the daemon, JSON read and written,
//! nothing else. It runs in the process of the client, which spares it some of what the daemon has to pay.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::http::Server;

/// As long as the ids of the real thing.
const SESSION: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// A bare server, and the event loop it runs on for as long as this is held.
pub struct Bare {
    /// How to call it.
    pub server: Server,
    _runtime: Runtime,
}

impl Bare {
    /// Starts one that takes any token.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start() -> Self {
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 16);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        runtime.spawn(async move {
            let router = Router::new().route("/mcp", post(answer).get(events));
            axum::serve(listener.tap_io(|stream| _ = stream.set_nodelay(true)), router).await
        });
        let token = format!("cv_{SESSION}");
        let tool = "echo".to_owned();
        Self { server: Server { port, pid: std::process::id(), token, tool }, _runtime: runtime }
    }
}

async fn answer(body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    if request.get("method").is_some_and(|method| method == "initialize") {
        let result =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "bare"}});
        return ([("mcp-session-id", SESSION)], written(id, &result)).into_response();
    }
    let text = request.pointer("/params/arguments/text").and_then(Value::as_str).unwrap_or_default();
    let mut result = json!({"content": [{"type": "text", "text": text}], "isError": false});
    if let (Some(result), Some(_)) = (result.as_object_mut(), request.pointer("/params/_meta")) {
        let server = json!({"io.modelcontextprotocol/serverInfo": {"name": "bare", "version": "0.1.0"}});
        result.insert("resultType".to_owned(), "complete".into());
        result.insert("_meta".to_owned(), server);
    }
    written(id, &result)
}

fn written(id: &Value, result: &Value) -> Response {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    ([(CONTENT_TYPE, "application/json")], answer).into_response()
}

/// A stream on which nothing ever happens.
async fn events() -> Response {
    let silence = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    ([(CONTENT_TYPE, "text/event-stream")], silence).into_response()
}
