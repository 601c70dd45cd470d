//! Streamable HTTP, in both eras: sessions, headers that must agree, and answers that are documents or streams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::era::{self, Era, MODERN};
use crate::request::{self, Connection, Request};
use crate::server::{Mouth, Server, error};

/// The sessions there are, and how many requests each has had.
static SESSIONS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

fn sessions() -> MutexGuard<'static, BTreeMap<String, u64>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a port.
pub(crate) fn serve(server: &Arc<Server>) {
    request::serve(server, handle);
}

/// What a request must show before anything else is looked at; `false` where it was turned away.
pub(crate) fn may_enter(server: &Server, request: &Request, connection: &Connection) -> bool {
    let wanted = server.manner.value("needs").map(|token| format!("Bearer {token}"));
    let shown = request.header("authorization").map(str::to_owned);
    let enters = wanted.is_none() || wanted == shown;
    if !enters {
        connection.answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", b"show a token");
    }
    enters
}

fn handle(server: &Arc<Server>, request: &Request, connection: &Connection) {
    let path = server.manner.value("path").unwrap_or("/mcp");
    if request.path != path {
        return connection.answer("404 Not Found", "", b"nothing is here");
    }
    if !may_enter(server, request, connection) {
        return;
    }
    match request.method.as_str() {
        "POST" => post(server, request, connection),
        "GET" if is_open(request) && !server.manner.is("no-get") => listen(server, connection),
        "DELETE" if is_open(request) => {
            sessions().remove(request.header("mcp-session-id").unwrap_or_default());
            connection.answer("200 OK", "", b"");
        }
        _ => connection.answer("405 Method Not Allowed", "Allow: POST\r\n", b""),
    }
}

fn is_open(request: &Request) -> bool {
    request.header("mcp-session-id").is_some_and(|id| sessions().contains_key(id))
}

/// Keeps a stream open on which changes are announced.
fn listen(server: &Server, connection: &Connection) {
    connection.begin("");
    let stream = connection.clone();
    server.listen(Box::new(move |message| {
        stream.event("message", message.to_string().as_bytes());
        !stream.is_gone()
    }));
    while !connection.is_gone() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn post(server: &Arc<Server>, request: &Request, connection: &Connection) {
    let Some(message) = request.message() else {
        return connection.json("400 Bad Request", "", &failure(-32_700, "no JSON"));
    };
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    let era = era::of(&message);
    if fails(server, method, connection) {
        return;
    }
    let opened = match era {
        Era::Modern if server.manner.speaks(era) => modern(request, &message).map(|()| None),
        _ => legacy(server, request, method),
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err((status, failure)) => return connection.json(status, "", &failure),
    };
    if message.get("id").is_none() || method.is_empty() {
        connection.answer("202 Accepted", "", b"");
        let nobody: Arc<dyn Mouth> = Arc::new(Reply::new(connection, String::new(), false));
        return server.hear(&message, &nobody);
    }
    let headers = opened.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let reply = Arc::new(Reply::new(connection, headers, server.manner.is("streams")));
    let mouth: Arc<dyn Mouth> = Arc::<Reply>::clone(&reply);
    server.hear(&message, &mouth);
    reply.done(server, era);
}

/// What goes wrong before anything is answered; `true` where it did.
fn fails(server: &Server, method: &str, connection: &Connection) -> bool {
    let to = server.manner.value("to").unwrap_or_default();
    match server.manner.fault(method) {
        Some("html") => {
            connection.answer("200 OK", "Content-Type: text/html\r\n", b"<html><h1>Welcome</h1></html>");
        }
        Some("redirect") => connection.answer("307 Temporary Redirect", &format!("Location: {to}\r\n"), b""),
        Some("broken") => {
            connection.answer("500 Internal Server Error", "Content-Type: text/plain\r\n", b"it broke");
        }
        Some("empty") => connection.answer("200 OK", "Content-Type: application/json\r\n", b""),
        Some("cut") => {
            connection.begin("");
            connection.chunk(b"event: message\ndata: {\"jsonrpc\":\"2.0\",");
            connection.hang_up();
        }
        _ => return false,
    }
    true
}

type Refused = (&'static str, Value);

fn failure(code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "error": error(code, message)})
}

/// A request that stands for itself: its headers must say what its body says.
fn modern(request: &Request, message: &Value) -> Result<(), Refused> {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut wanted = vec![("mcp-protocol-version", Some(MODERN.to_owned())), ("mcp-method", text("/method"))];
    if text("/method").as_deref() == Some("tools/call") {
        wanted.push(("mcp-name", text("/params/name")));
        wanted.push(("mcp-param-region", text("/params/arguments/region")));
    }
    let wrong = wanted.iter().find(|(name, value)| request.header(name) != value.as_deref());
    match wrong {
        Some((name, _)) => Err(("400 Bad Request", failure(-32_020, &format!("Header mismatch: {name}")))),
        None => Ok(()),
    }
}

/// A request in a session; the id of one that it opens.
fn legacy(server: &Server, request: &Request, method: &str) -> Result<Option<String>, Refused> {
    if !server.manner.speaks(Era::Legacy) {
        return Err(("400 Bad Request", failure(-32_602, "`_meta` lacks the protocol version")));
    }
    if method == "initialize" {
        let id = format!("session-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        sessions().insert(id.clone(), 0);
        return Ok(Some(id));
    }
    let Some(id) = request.header("mcp-session-id") else {
        return Err(("400 Bad Request", failure(-32_000, "Bad Request: no valid session ID provided")));
    };
    let mut sessions = sessions();
    let Some(count) = sessions.get_mut(id) else {
        return Err(("404 Not Found", failure(-32_001, "Session not found")));
    };
    *count += 1;
    if server.manner.number("forget").is_some_and(|most| *count > most) {
        sessions.remove(id);
        return Err(("404 Not Found", failure(-32_001, "Session not found")));
    }
    let version = request.header("mcp-protocol-version");
    if version.is_none_or(|version| era::agreed(Some(version)) != version) {
        return Err(("400 Bad Request", failure(-32_000, "Bad Request: unsupported protocol version")));
    }
    Ok(None)
}

/// The answer to one request: a document, or a stream where something is said before it.
struct Reply {
    connection: Connection,
    headers: String,
    /// Even one answer is a stream.
    streams: bool,
    begun: AtomicBool,
    /// What was said may be the answer, or none will come.
    whole: AtomicBool,
    answers: Mutex<Vec<Value>>,
}

impl Reply {
    fn new(connection: &Connection, headers: String, streams: bool) -> Self {
        Self {
            connection: connection.clone(),
            headers,
            streams,
            begun: AtomicBool::new(false),
            whole: AtomicBool::new(false),
            answers: Mutex::default(),
        }
    }

    fn stream(&self, data: &[u8]) {
        if !self.begun.swap(true, Ordering::SeqCst) {
            self.connection.begin(&self.headers);
        }
        self.connection.event("message", data);
    }

    /// Writes what is left, and ends the answer. Without one the caller waits until it has enough of it.
    fn done(&self, server: &Server, era: Era) {
        let answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        let begun = self.begun.load(Ordering::SeqCst);
        match answers.as_slice() {
            [] if !self.whole.load(Ordering::SeqCst) => self.wait(server),
            [one] if !begun && !self.streams => {
                let unknown = one.pointer("/error/code") == Some(&json!(-32_601)) && era == Era::Modern;
                let status = if unknown { "404 Not Found" } else { "200 OK" };
                self.connection.json(status, &self.headers, one);
            }
            more => {
                for answer in more {
                    self.stream(answer.to_string().as_bytes());
                }
                self.connection.end();
            }
        }
    }

    fn wait(&self, server: &Server) {
        while !self.connection.is_gone() {
            std::thread::sleep(Duration::from_millis(10));
        }
        server.record.event("hung up", &Value::Null);
    }
}

impl Mouth for Reply {
    fn say(&self, message: &Value) {
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        if is_answer && message.get("method").is_none() {
            self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
        } else {
            self.stream(message.to_string().as_bytes());
        }
    }

    fn raw(&self, bytes: &[u8]) {
        self.whole.store(true, Ordering::SeqCst);
        self.stream(bytes);
    }

    fn is_gone(&self) -> bool {
        self.connection.is_gone()
    }
}
