//! An MCP client over HTTP: in a session, stateless, or as a person with `curl`.

use serde_json::{Value, json};

use crate::wire::{Answer, Pending, Request, Stream, Wire};

/// The revision with a handshake that this client speaks.
pub const LEGACY: &str = "2025-11-25";

/// The stateless revision that this client speaks.
pub const MODERN: &str = "2026-07-28";

/// A client of one principal, in a session or without one.
pub struct HttpClient {
    port: u16,
    token: Option<String>,
    session: Option<String>,
    wire: Option<Wire>,
    next: u64,
}

impl HttpClient {
    /// A client that shows that token.
    pub fn new(port: u16, token: &str) -> Self {
        Self { token: Some(token.trim().to_owned()), ..Self::stranger(port) }
    }

    /// A client that shows none.
    pub fn stranger(port: u16) -> Self {
        Self { port, token: None, session: None, wire: None, next: 0 }
    }

    /// The id of its session.
    ///
    /// # Panics
    /// If it has none.
    pub fn session(&self) -> &str {
        self.session.as_deref().expect("a session")
    }

    /// Goes on in that session.
    pub fn resume(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }

    /// Speaks to a daemon on another port from now on.
    pub fn moved(&mut self, port: u16) {
        (self.port, self.wire) = (port, None);
    }

    /// A request that says who asks, and nothing else.
    pub fn bare(&self, method: &str) -> Request {
        let request = Request::new(method, "");
        match &self.token {
            Some(token) => request.with("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// A message as the documents' `curl` commands send it.
    pub fn plain(&self, message: &Value) -> Request {
        self.bare("POST").with("Content-Type", "application/json").saying(message.to_string())
    }

    /// A message of the handshake's era, in the session if there is one.
    pub fn legacy(&self, message: &Value) -> Request {
        self.in_session(self.plain(message)).with("Accept", "application/json, text/event-stream")
    }

    /// A stateless message: what it says of itself is put into its body and its headers.
    pub fn modern(&self, method: &str, params: &Value, id: &Value) -> Request {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        merge(&mut meta, params.get("_meta"));
        let mut whole = params.clone();
        merge(&mut whole, Some(&json!({ "_meta": meta })));
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": whole});
        let request = self
            .plain(&message)
            .with("Accept", "application/json, text/event-stream")
            .with("MCP-Protocol-Version", MODERN)
            .with("Mcp-Method", method);
        let subject = message.pointer("/params/name").or_else(|| message.pointer("/params/uri"));
        match subject.and_then(Value::as_str).filter(|_| method != "subscriptions/listen") {
            Some(subject) => request.with("Mcp-Name", subject),
            None => request,
        }
    }

    /// With the headers of the session.
    pub fn in_session(&self, request: Request) -> Request {
        match &self.session {
            Some(session) => {
                request.with("Mcp-Session-Id", session.clone()).with("MCP-Protocol-Version", LEGACY)
            }
            None => request,
        }
    }

    /// Sends a request on the connection that is kept, and reads the whole answer.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn send(&mut self, request: &Request) -> Answer {
        let wire = self.wire.get_or_insert_with(|| Wire::open(self.port));
        wire.send(request);
        let answer = wire.answer().unwrap_or_else(|| panic!("no answer to {:.300}", format!("{request:?}")));
        if answer.header("connection") == Some("close") {
            self.wire = None;
        }
        answer
    }

    /// Sends a request on a connection of its own, whose answer is read event by event.
    #[track_caller]
    pub fn stream(&self, request: &Request) -> Stream {
        Stream::of(self.port, request)
    }

    /// Sends a request on a connection of its own, and does not wait.
    #[track_caller]
    pub fn begin(&self, request: &Request) -> Pending {
        Pending::of(self.port, request)
    }

    /// The stream on which the session hears of changes.
    #[track_caller]
    pub fn listen(&self) -> Stream {
        self.stream(&self.in_session(self.bare("GET")).with("Accept", "text/event-stream"))
    }

    /// Ends the session.
    #[track_caller]
    pub fn end(&mut self) -> Answer {
        let request = self.in_session(self.bare("DELETE"));
        self.send(&request)
    }

    /// Opens a session, saying that it can be asked for those.
    ///
    /// # Panics
    /// If it is refused.
    #[track_caller]
    pub fn initialize_with(&mut self, capabilities: &Value) -> Value {
        self.session = None;
        let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}});
        let message = self.message("initialize", &params);
        let answer = self.send(&self.legacy(&message));
        assert_eq!(answer.status, 200, "{answer:?}");
        self.session = Some(answer.header("mcp-session-id").expect("a session").to_owned());
        assert_eq!(self.notify("notifications/initialized", &json!({})).status, 202);
        answer.json()
    }

    /// Opens a session.
    #[track_caller]
    pub fn initialize(&mut self) -> Value {
        self.initialize_with(&json!({}))
    }

    /// A request under an id that was not used before.
    pub fn message(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
    }

    /// Sends a notification in the session.
    #[track_caller]
    pub fn notify(&mut self, method: &str, params: &Value) -> Answer {
        let request = self.legacy(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        self.send(&request)
    }

    /// Sends a request in the session, and gives the last message of its answer.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let message = self.message(method, &params);
        let answer = self.send(&self.legacy(&message));
        let last = answer.messages().pop().unwrap_or_else(|| panic!("{answer:?}"));
        assert_eq!(last.get("id"), message.get("id"), "{answer:?}");
        last
    }

    /// Calls a tool in the session.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
    }
}

/// Takes every member of the other object.
fn merge(object: &mut Value, other: Option<&Value>) {
    if let (Some(object), Some(other)) = (object.as_object_mut(), other.and_then(Value::as_object)) {
        object.extend(other.clone());
    }
}
