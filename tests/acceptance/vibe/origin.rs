//! An origin for the bridge that is as bad as a test wants it, and the bridge to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

/// What an origin does with a request.
#[derive(Debug, Clone)]
pub(super) enum Does {
    /// Answers with that status, content type and body, as they are.
    Answers(u16, &'static str, String),
    /// Writes those bytes and hangs up.
    Breaks(String),
    /// Writes those bytes and nothing more, for as long as the test runs.
    Hangs(String),
    /// Answers that result of JSON-RPC.
    Works(Value),
}

/// A request: its headers as they were sent, and its message.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) headers: String,
    pub(super) message: Value,
}

type Manner = Box<dyn Fn(&Heard) -> Does + Send + Sync>;

/// An origin that serves until it is dropped.
pub(super) struct Origin {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    manner: Mutex<Manner>,
    heard: Mutex<Vec<Heard>>,
    hung: Mutex<Vec<TcpStream>>,
    over: AtomicBool,
}

impl Origin {
    /// One that does that.
    pub(super) fn start(manner: impl Fn(&Heard) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            manner: Mutex::new(Box::new(manner)),
            heard: Mutex::default(),
            hung: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || converse(&shared, stream));
            }
        });
        Self { port, shared }
    }

    /// From now on it does that.
    pub(super) fn will(&self, manner: impl Fn(&Heard) -> Does + Send + Sync + 'static) {
        *self.shared.manner.lock().unwrap() = Box::new(manner);
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What reached it.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.shared.heard.lock().unwrap().clone()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.hung.lock().unwrap().clear();
        // Wakes whoever waits for the next connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn converse(shared: &Shared, mut stream: TcpStream) {
    let mut reading = BufReader::new(stream.try_clone().unwrap());
    while let Some(heard) = read(&mut reading) {
        shared.heard.lock().unwrap().push(heard.clone());
        let does = (shared.manner.lock().unwrap())(&heard);
        let head = |status: u16, kind: &str, length: usize| {
            format!("HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
        };
        let written = match &does {
            Does::Answers(status, kind, body) => head(*status, kind, body.len()) + body,
            Does::Works(result) => {
                let body = json!({"jsonrpc": "2.0", "id": heard.message["id"], "result": result}).to_string();
                head(200, "application/json", body.len()) + &body
            }
            Does::Breaks(bytes) | Does::Hangs(bytes) => bytes.clone(),
        };
        if stream.write_all(written.as_bytes()).is_err() {
            return;
        }
        match does {
            Does::Breaks(_) => return,
            Does::Hangs(_) => return shared.hung.lock().unwrap().push(stream),
            Does::Answers(..) | Does::Works(_) => {}
        }
    }
}

fn read(from: &mut BufReader<TcpStream>) -> Option<Heard> {
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        from.read_line(&mut headers).ok().filter(|count| *count > 0)?;
    }
    let lower = headers.to_ascii_lowercase();
    let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).ok()?;
    Some(Heard { headers: lower, message: serde_json::from_slice(&body).unwrap_or_default() })
}

/// What an origin of the handshake's era says to whoever opens.
pub(super) fn welcome(heard: &Heard) -> Option<Does> {
    match heard.message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            Some(Does::Works(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "origin", "version": "1"}})))
        }
        "notifications/initialized" | "notifications/cancelled" => {
            Some(Does::Answers(202, "application/json", String::new()))
        }
        // It has no stream of what belongs to no request.
        "" => Some(Does::Answers(405, "text/plain", String::new())),
        _ => None,
    }
}

/// A bridge to that origin, with these variables as well.
pub(super) fn bridge(home: &Home, origin: &str, environment: &[(&str, &str)]) -> StdioClient {
    let command = home.command(&["--mcp"]).env("COVIBE_BASE_URL", origin);
    let command = environment.iter().fold(command, |command, (name, value)| command.env(name, *value));
    StdioClient::start(command)
}

/// The parameters of a request without a handshake.
pub(super) fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    params
}

/// Insists that a call was answered with an envelope of an error, in its text as in its structure; what it says.
#[track_caller]
pub(super) fn told(answer: &Value) -> String {
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer}");
    let envelope = &result["structuredContent"];
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, envelope);
    assert_eq!(
        (&envelope["status"], &envelope["feedback"]["type"]),
        (&json!("error"), &json!("error")),
        "{answer}"
    );
    assert!(envelope["data"].is_object(), "{answer}");
    assert!(
        envelope["feedback"]["required_action"].as_str().is_some_and(|action| !action.is_empty()),
        "{answer}"
    );
    envelope["message"].as_str().unwrap().to_owned()
}
