//! One server, however it is reached: hears messages and says what follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::era::{self, Era};
use crate::manner::Manner;
use crate::record::Record;
use crate::{call, faults, tools};

/// Where the answers to one message go.
pub(crate) trait Mouth: Send + Sync {
    /// Says a message.
    fn say(&self, message: &Value);
    /// Says bytes that may be none.
    fn raw(&self, bytes: &[u8]);
    /// Whether nobody listens any more.
    fn is_gone(&self) -> bool;
}

/// Somebody who wants to hear of changes; `false` once it is gone.
pub(crate) type Listener = Box<dyn Fn(&Value) -> bool + Send>;

/// What goes into an answer: a result or an error; none where there is no answer.
pub(crate) type Body = Option<Result<Value, Value>>;

/// A server.
pub(crate) struct Server {
    pub(crate) manner: Manner,
    pub(crate) record: Record,
    state: Mutex<State>,
    heard: Condvar,
}

#[derive(Default)]
struct State {
    greeted: bool,
    cancelled: BTreeSet<String>,
    replies: BTreeMap<String, Value>,
    listeners: Vec<Listener>,
    lists: u64,
    more: BTreeSet<String>,
}

/// A request, and where its answer goes.
pub(crate) struct Request<'a> {
    pub(crate) era: Era,
    pub(crate) id: &'a Value,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Value,
    pub(crate) mouth: &'a dyn Mouth,
}

impl Server {
    pub(crate) fn new(manner: Manner) -> Arc<Self> {
        let (state, heard) = (Mutex::default(), Condvar::new());
        Arc::new(Self { manner, record: Record::open(), state, heard })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one message and says all that follows from it.
    pub(crate) fn hear(self: &Arc<Self>, message: &Value, mouth: &Arc<dyn Mouth>) {
        let (method, id) = (message.get("method").and_then(Value::as_str), message.get("id"));
        let none = Value::Null;
        let params = message.get("params").unwrap_or(&none);
        match (method, id) {
            (None, _) => self.replied(message),
            (Some(method), None) => self.notified(method, params),
            (Some(method), Some(id)) => {
                let request = Request { era: era::of(message), id, method, params, mouth: &**mouth };
                if method == "subscriptions/listen" && self.manner.speaks(Era::Modern) {
                    self.subscribe(id, mouth);
                } else if let Some(body) = self.answer(&request) {
                    self.say(&request, body);
                }
            }
        }
    }

    fn say(&self, request: &Request<'_>, body: Result<Value, Value>) {
        let (key, value) = match body {
            Ok(result) => ("result", era::dressed(request.era, &self.manner, request.method, result)),
            Err(error) => ("error", error),
        };
        let answer = json!({"jsonrpc": "2.0", "id": request.id, key: value});
        faults::say(request.mouth, self.manner.fault(request.method), &answer);
    }

    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Body {
        if self.manner.fault(request.method) == Some("die") {
            faults::die(request.method);
        }
        let legacy = request.era == Era::Legacy || !self.manner.speaks(Era::Modern);
        match request.method {
            "initialize" if self.manner.speaks(Era::Legacy) => {
                self.state().greeted = true;
                let wanted = request.params.get("protocolVersion").and_then(Value::as_str);
                Some(Ok(era::hello(&self.manner, wanted)))
            }
            "server/discover" if self.manner.speaks(Era::Modern) => Some(Ok(era::discovery())),
            "ping" if legacy => Some(Ok(json!({}))),
            "tools/list" | "tools/call" if legacy && !self.state().greeted => {
                Some(Err(error(-32_600, "nobody has shaken hands")))
            }
            "tools/list" => Some(Ok(self.list(request.params))),
            "tools/call" => call::call(self, request),
            method => Some(Err(error(-32_601, &format!("there is no method {method}")))),
        }
    }

    fn list(&self, params: &Value) -> Value {
        let tools = self.tools();
        let page = self.manner.number("page").and_then(|page| usize::try_from(page).ok()).unwrap_or(7);
        let from = params.get("cursor").and_then(Value::as_str).and_then(|cursor| cursor.parse().ok());
        let from: usize = from.unwrap_or_default();
        let shown: Vec<&Value> = tools.iter().skip(from).take(page).collect();
        let mut result = json!({ "tools": shown });
        if let Some(members) = result.as_object_mut().filter(|_| from + page < tools.len()) {
            members.insert("nextCursor".to_owned(), json!((from + page).to_string()));
        } else if self.manner.is("changing") {
            self.state().lists += 1;
            self.announce();
        }
        result
    }

    fn tools(&self) -> Vec<Value> {
        let state = self.state();
        let changing = self.manner.is("changing").then(|| format!("only_in_list_{}", state.lists));
        let more: Vec<String> = state.more.iter().cloned().chain(changing).collect();
        drop(state);
        tools::all(&self.manner, &more)
    }

    /// Adds a tool, or takes it away again, and says so.
    pub(crate) fn change(&self, name: &str) {
        let mut state = self.state();
        if !state.more.remove(name) {
            state.more.insert(name.to_owned());
        }
        drop(state);
        self.announce();
    }

    fn announce(&self) {
        let message = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        self.state().listeners.retain(|listener| listener(&message));
    }

    /// Tells this one of changes from now on.
    pub(crate) fn listen(&self, listener: Listener) {
        self.state().listeners.push(listener);
    }

    /// The modern way to hear of changes: each message says which request asked for it.
    fn subscribe(&self, id: &Value, mouth: &Arc<dyn Mouth>) {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        mouth.say(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": meta, "notifications": {"toolsListChanged": true}},
        }));
        let mouth = Arc::clone(mouth);
        self.listen(Box::new(move |message| {
            let mut message = message.clone();
            if let Some(members) = message.as_object_mut() {
                members.insert("params".to_owned(), json!({ "_meta": meta }));
            }
            mouth.say(&message);
            !mouth.is_gone()
        }));
    }

    fn notified(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            let id = params.get("requestId").map(Value::to_string);
            self.state().cancelled.extend(id);
        }
    }

    fn replied(&self, message: &Value) {
        let Some(id) = message.get("id").map(Value::to_string) else { return };
        self.state().replies.insert(id, message.clone());
        self.heard.notify_all();
    }

    /// Asks the client something, and waits for its reply.
    pub(crate) fn ask(&self, request: &Request<'_>, id: &str, method: &str) -> Value {
        request.mouth.say(&json!({"jsonrpc": "2.0", "id": id, "method": method}));
        let (key, end) = (json!(id).to_string(), Instant::now() + Duration::from_secs(30));
        let mut state = self.state();
        while Instant::now() < end {
            if let Some(reply) = state.replies.remove(&key) {
                return reply;
            }
            let waited = self.heard.wait_timeout(state, Duration::from_millis(100));
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
        Value::Null
    }

    /// Waits that long; `false` as soon as nobody wants the answer any more.
    pub(crate) fn wait(&self, request: &Request<'_>, long: Duration) -> bool {
        let (id, end) = (request.id.to_string(), Instant::now() + long);
        while Instant::now() < end {
            if self.state().cancelled.contains(&id) || request.mouth.is_gone() {
                self.record.event("cancelled", request.id);
                return false;
            }
            std::thread::sleep(Duration::from_millis(5).min(long));
        }
        true
    }
}

/// An error of the protocol.
pub(crate) fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}
