//! A gate on a real store and log in a temporary home, and clients that talk to it in lines.

use std::sync::Arc;

use covenant_gate::clock::SystemClock;
use covenant_gate::config::Config;
use covenant_gate::provider::{Completions, Prompts, Resources};
use covenant_gate::{Credential, Gate, Operator, Parts, Peer, ToolRegistry};
use covenant_mcp::{Ended, Options, serve};
use covenant_model::api::{NewClient, NewGrant};
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::id::GrantId;
use covenant_model::redact::Redactor;
use covenant_model::token::TokenHash;
use covenant_store::Store;
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;

use crate::tools;

/// The uid of the operator in these tests.
pub(crate) const OPERATOR: u32 = 4242;

/// What a modern request says of itself.
pub(crate) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// What a world begins with.
pub(crate) struct Beginning {
    pub(crate) config: Config,
    pub(crate) granted: Vec<&'static str>,
    pub(crate) resources: Vec<Arc<dyn Resources>>,
    pub(crate) prompts: Vec<Arc<dyn Prompts>>,
    pub(crate) completions: Option<Arc<dyn Completions>>,
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            config: Config { rate: 0.0, ..Config::default() },
            granted: vec!["tool.call.*"],
            resources: Vec::new(),
            prompts: Vec::new(),
            completions: None,
        }
    }
}

pub(crate) struct World {
    pub(crate) gate: Arc<Gate>,
    _home: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::begin(Beginning::default()).await
    }

    pub(crate) async fn begin(beginning: Beginning) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:covenant.db", home.path()).await.unwrap();
        let key = SigningKey::from_bytes(&[7; 32]);
        let gate = Gate::open(Parts {
            tools: registry(),
            store,
            audit: audit(home.path(), &key),
            redactor: Redactor::new([("API_KEY", "hunter2-hunter2")]),
            key,
            trusted: Vec::new(),
            operator: TokenHash([9; 32]),
            operator_uid: OPERATOR,
            clock: Arc::new(SystemClock),
            config: beginning.config,
            resources: beginning.resources,
            prompts: beginning.prompts,
            completions: beginning.completions,
        })
        .await
        .unwrap();
        let world = Self { gate, _home: home };
        for action in beginning.granted {
            world.grant(action, "any").await;
        }
        world
    }

    pub(crate) fn operator(&self) -> Operator {
        let caller = self.gate.authenticate(&Credential::peer(OPERATOR)).unwrap();
        self.gate.operator(&caller, Peer::default()).unwrap()
    }

    pub(crate) async fn grant(&self, action: &str, subject: &str) -> GrantId {
        self.grant_with(action, subject, Approval::None).await
    }

    pub(crate) async fn grant_with(&self, action: &str, subject: &str, approval: Approval) -> GrantId {
        let new = NewGrant {
            subject: subject.parse().unwrap(),
            action: action.parse().unwrap(),
            constraints: Constraints::default(),
            approval,
            expires_at: None,
        };
        self.gate.grant(&self.operator(), new).await.unwrap().grant.id
    }

    /// A named client and its token.
    pub(crate) async fn add_client(&self, name: &str) -> Credential {
        let new = NewClient { name: name.to_owned(), preset: None, grants: Vec::new() };
        Credential::bearer(&self.gate.add_client(&self.operator(), new).await.unwrap().token)
    }

    /// The operator, connected.
    pub(crate) fn connect(&self) -> Client {
        self.connect_as(Credential::peer(OPERATOR), Options::default())
    }

    pub(crate) fn connect_as(&self, credential: Credential, options: Options) -> Client {
        let (ours, theirs) = duplex(64 * 1024);
        let serving = tokio::spawn(serve(theirs, self.gate.clone(), credential, options));
        let (reader, writer) = split(ours);
        Client { reader: BufReader::new(reader), writer, serving, last: 0 }
    }
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    for tool in covenant_tools::native(Arc::new(SystemClock)).into_iter().chain(tools::all()) {
        registry.register(tool).unwrap();
    }
    registry
}

fn audit(home: &std::path::Path, key: &SigningKey) -> covenant_gate::audit::AuditLog {
    let options = covenant_gate::audit::Options {
        dir: home.join("audit"),
        key: key.clone(),
        digest_key: [1; 32],
        durability: covenant_gate::audit::Durability::Group,
        segment_bytes: 64 * 1024 * 1024,
        clock: Arc::new(SystemClock),
    };
    covenant_gate::audit::AuditLog::open(options).unwrap().0
}

/// A client at the other end of a served stream.
pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<Ended>,
    last: u64,
}

impl Client {
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
        self.reader.read_line(&mut line).await.unwrap();
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

    /// The legacy handshake.
    pub(crate) async fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
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
