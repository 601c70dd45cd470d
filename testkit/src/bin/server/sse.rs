//! The older HTTP: a stream of events that begins with where to post, and answers that come on the stream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::http::may_enter;
use crate::request::{self, Connection, Request};
use crate::server::{Mouth, Server};

/// The open streams, by the path that is posted to.
static STREAMS: Mutex<BTreeMap<String, Connection>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Serves a port.
pub(crate) fn serve(server: &Arc<Server>) {
    request::serve(server, handle);
}

fn handle(server: &Arc<Server>, request: &Request, connection: &Connection) {
    if !may_enter(server, request, connection) {
        return;
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/sse") => stream(server, connection),
        ("POST", path) if path.starts_with("/message?") => post(server, request, connection),
        ("POST", "/sse") => connection.answer("405 Method Not Allowed", "Allow: GET\r\n", b""),
        _ => connection.answer("404 Not Found", "", b"nothing is here"),
    }
}

fn stream(server: &Arc<Server>, connection: &Connection) {
    let path = format!("/message?sessionId={}", NEXT.fetch_add(1, Ordering::Relaxed));
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), connection.clone());
    let elsewhere = server.manner.value("to").filter(|_| server.manner.fault("endpoint").is_some());
    connection.begin("");
    connection.event("endpoint", elsewhere.unwrap_or(&path).as_bytes());
    let events = Events(connection.clone());
    server.listen(Box::new(move |message| {
        events.say(message);
        !events.is_gone()
    }));
    while !connection.is_gone() {
        std::thread::sleep(Duration::from_millis(20));
    }
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
    server.record.event("hung up", &Value::Null);
}

fn post(server: &Arc<Server>, request: &Request, connection: &Connection) {
    let stream = STREAMS.lock().unwrap_or_else(PoisonError::into_inner).get(&request.path).cloned();
    let (Some(stream), Some(message)) = (stream, request.message()) else {
        return connection.answer("404 Not Found", "", b"no such session");
    };
    connection.answer("202 Accepted", "", b"Accepted");
    if server.manner.fault(message.get("method").and_then(Value::as_str).unwrap_or_default()) == Some("cut") {
        return stream.hang_up();
    }
    let (server, mouth): (_, Arc<dyn Mouth>) = (Arc::clone(server), Arc::new(Events(stream)));
    std::thread::spawn(move || server.hear(&message, &mouth));
}

/// The stream of one client.
struct Events(Connection);

impl Mouth for Events {
    fn say(&self, message: &Value) {
        self.raw(message.to_string().as_bytes());
    }

    fn raw(&self, bytes: &[u8]) {
        self.0.event("message", bytes);
    }

    fn is_gone(&self) -> bool {
        self.0.is_gone()
    }
}
