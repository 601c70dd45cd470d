//! The fleet with servers that are scripted: what each does when it is reached, listed and called is told beforehand.

mod apply;
mod calls;
mod isolation;
mod lists;
mod names;
mod processes;
mod puppets;
mod secrets;
mod supervision;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use covenant_gate::clock::SystemClock;
use covenant_gate::config::Config;
use covenant_gate::{Context, Credential, Gate, Operator, ToolRegistry};
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;
use covenant_model::server::{
    EraChoice, Isolation, Plan, Prefix, Program, Reach, ServerState, ServerStatus, Start,
};
use covenant_model::token::TokenHash;
use covenant_store::Store;
use ed25519_dalek::SigningKey;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use self::puppets::Stage;
use super::{Fleet, Wanted};
use crate::upstream::ports::Notes;

/// The uid of the operator in these tests.
const OPERATOR: u32 = 4242;

pub(super) fn plan(name: &str) -> Plan {
    Plan {
        name: name.to_owned(),
        prefix: Prefix::Named(name.to_owned()),
        reach: Reach::Program(Program {
            command: "server".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            sandbox: None,
        }),
        era: EraChoice::Auto,
        include: Vec::new(),
        exclude: Vec::new(),
        start: Start::Eager,
        isolation: Isolation::Shared,
        idle_stop: None,
        start_timeout: Duration::from_secs(30),
        list_timeout: Duration::from_secs(10),
        call_timeout: Duration::from_mins(1),
        call_total: Duration::from_mins(10),
        max_in_flight: 64,
    }
}

fn wanted(plan: Plan) -> Wanted {
    Wanted { name: plan.name.clone(), source: "runtime".to_owned(), enabled: true, plan: Ok(plan) }
}

/// Notes that last as long as a test.
#[derive(Default)]
struct Pad {
    notes: Mutex<HashMap<String, Vec<u8>>>,
    /// How often one was kept.
    kept: AtomicUsize,
    /// Whoever recalls one waits for this.
    slow: Mutex<()>,
}

impl Notes for Pad {
    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        drop(self.slow.lock());
        self.notes.lock().get(key).cloned()
    }
    fn keep(&self, key: &str, bytes: &[u8]) {
        self.kept.fetch_add(1, Ordering::SeqCst);
        self.notes.lock().insert(key.to_owned(), bytes.to_vec());
    }
    fn forget(&self, key: &str) {
        self.notes.lock().remove(key);
    }
}

/// A fleet on a real gate, whose servers are puppets, in a time of its own.
struct World {
    gate: Arc<Gate>,
    fleet: Arc<Fleet>,
    stage: Arc<Stage>,
    notes: Arc<Pad>,
    _home: tempfile::TempDir,
}

/// A gate on a real store and log, with the tools of our own.
async fn gate(home: &std::path::Path) -> Arc<Gate> {
    let key = SigningKey::from_bytes(&[7; 32]);
    let audit = covenant_gate::audit::AuditLog::open(covenant_gate::audit::Options {
        dir: home.join("audit"),
        key: key.clone(),
        digest_key: [1; 32],
        durability: covenant_gate::audit::Durability::Group,
        segment_bytes: 64 * 1024 * 1024,
        clock: Arc::new(SystemClock),
    });
    let mut tools = ToolRegistry::default();
    for tool in covenant_tools::plain(&(Arc::new(SystemClock) as _)) {
        tools.register(tool).unwrap();
    }
    let gate = Gate::open(covenant_gate::Parts {
        tools,
        store: Store::open("sqlite:covenant.db", home).await.unwrap(),
        audit: audit.unwrap().0,
        redactor: Redactor::new([("API_KEY", "hunter2-hunter2")]),
        key,
        trusted: Vec::new(),
        operator: TokenHash([9; 32]),
        operator_uid: OPERATOR,
        clock: Arc::new(SystemClock),
        config: Config { rate: 0.0, ..Config::default() },
        resources: Vec::new(),
        prompts: Vec::new(),
        completions: None,
    });
    gate.await.unwrap()
}

fn operator(gate: &Gate) -> Operator {
    let caller = gate.authenticate(&Credential::peer(OPERATOR)).unwrap();
    gate.operator(&caller, covenant_gate::Peer::default()).unwrap()
}

impl World {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let gate = gate(home.path()).await;
        tokio::time::pause();
        let (stage, notes) = (Arc::new(Stage::default()), Arc::new(Pad::default()));
        let fleet = Fleet::with(Arc::clone(&gate), stage.clone(), notes.clone());
        Self { gate, fleet, stage, notes, _home: home }
    }

    /// Another fleet over the same notes: as after a restart of the daemon.
    fn again(&mut self) {
        self.gate.set_tools(ToolRegistry::default());
        self.fleet = Fleet::with(Arc::clone(&self.gate), self.stage.clone(), self.notes.clone());
    }

    async fn apply(&self, plans: impl IntoIterator<Item = Plan>) {
        self.fleet.apply(plans.into_iter().map(wanted).collect()).await;
    }

    /// One server that is ready.
    async fn ready(plan: Plan) -> Self {
        let world = Self::new().await;
        let name = plan.name.clone();
        world.apply([plan]).await;
        assert_eq!(world.fleet.settled(&name).await.unwrap().state, ServerState::Ready);
        world
    }

    fn status(&self, name: &str) -> ServerStatus {
        self.fleet.server(name).unwrap()
    }

    /// Waits until a server is in that state.
    async fn until(&self, name: &str, state: ServerState) -> ServerStatus {
        let server = self.fleet.find(name).unwrap().unwrap();
        server.moment.subscribe().wait_for(|moment| moment.state == state).await.unwrap();
        self.status(name)
    }

    /// What the gate lists, for its operator.
    fn listed(&self) -> Vec<String> {
        let all = self.gate.catalogue(&operator(&self.gate));
        all.iter().map(|tool| tool.get().to_owned()).filter(|tool| tool.contains("__")).collect()
    }

    /// Calls a tool of a server, beside the gate: the gate's log lives in real time.
    async fn call(&self, server: &str, tool: &str) -> Value {
        self.call_in(server, tool, &Context::new(CancellationToken::new())).await
    }

    async fn call_in(&self, server: &str, tool: &str, context: &Context) -> Value {
        self.call_by("client:one", server, tool, context).await
    }

    async fn call_by(&self, principal: &str, server: &str, tool: &str, context: &Context) -> Value {
        let server = self.fleet.find(server).unwrap().unwrap();
        let taken = server.shared.catalogue.taken(&server);
        let taken = taken.iter().find(|taken| taken.tool.own == tool).expect("the tool is there");
        let tool = Arc::clone(&taken.tool);
        let (principal, arguments): (Principal, _) = (principal.parse().unwrap(), Map::new());
        match tool.server.answer(&tool, &principal, &arguments, context).await {
            Ok(result) => serde_json::from_str(result.get()).unwrap(),
            Err(reason) => Value::String(reason),
        }
    }
}
