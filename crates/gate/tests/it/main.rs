//! The gate as a whole: on a real store and a real log, with tools that do what tools may do.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answering;
mod approvals;
mod arrivals;
mod bench_of_tools;
mod calls;
mod capabilities;
mod inquiries;
mod limits;
mod mandates;
mod observing;
mod people;
mod persons;

use std::path::PathBuf;
use std::sync::Arc;

use covenant_gate::audit::{AuditLog, Durability, Options};
use covenant_gate::clock::HandClock;
use covenant_gate::config::Config;
use covenant_gate::{
    Admitted, CallError, CallRequest, Context, Credential, Gate, Operator, Parts, Peer, Redacted, Refusal,
};
use covenant_model::api::NewGrant;
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use covenant_model::token;
use covenant_store::Store;
use ed25519_dalek::SigningKey;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A gate of its own per test, in a directory of its own.
struct Fixture {
    gate: Arc<Gate>,
    clock: Arc<HandClock>,
    directory: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(Config { rate: 0.0, ..Config::default() }, Redactor::none()).await
    }

    async fn with(config: Config, redactor: Redactor) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::at(Timestamp::from_millis(1_700_000_000_000)));
        let gate = open(directory.path().to_owned(), clock.clone(), config, redactor).await;
        Self { gate, clock, directory }
    }

    fn admitted(&self) -> Admitted {
        let caller = self.gate.authenticate(&Credential::peer(1000)).unwrap();
        self.gate.admit(&caller).unwrap()
    }

    fn operator(&self) -> Operator {
        let caller = self.gate.authenticate(&Credential::peer(1000)).unwrap();
        self.gate.operator(&caller, Peer::default()).unwrap()
    }

    async fn grant(&self, text: Value) {
        let new: NewGrant = serde_json::from_value(text).unwrap();
        self.gate.grant(&self.operator(), new).await.unwrap();
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Redacted, CallError> {
        self.call_in(name, arguments, Context::new(CancellationToken::new())).await
    }

    async fn call_in(&self, name: &str, arguments: Value, context: Context) -> Result<Redacted, CallError> {
        let arguments = arguments.as_object().unwrap().clone();
        self.gate.call(self.admitted(), CallRequest { name: name.to_owned(), arguments }, context).await
    }

    /// Every row of the log so far.
    fn rows(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.directory.path().join("audit/000001.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn kinds(&self) -> Vec<(String, String)> {
        let word = |row: &Value, member: &str| row[member].as_str().unwrap().to_owned();
        self.rows().iter().map(|row| (word(row, "kind"), word(row, "decision"))).collect()
    }
}

async fn open(directory: PathBuf, clock: Arc<HandClock>, config: Config, redactor: Redactor) -> Arc<Gate> {
    let key = SigningKey::from_bytes(&[7; 32]);
    let options = Options {
        dir: directory.join("audit"),
        key: key.clone(),
        digest_key: [9; 32],
        durability: Durability::Group,
        segment_bytes: 64 * 1024 * 1024,
        clock: clock.clone(),
    };
    let (audit, _) = AuditLog::open(options).unwrap();
    let store = Store::open("sqlite:covenant.db", &directory).await.unwrap();
    let operator = token::hash(token::from_random([1; 32]).reveal()).unwrap();
    let parts = Parts {
        tools: bench_of_tools::registry(),
        store,
        audit,
        redactor,
        key,
        trusted: Vec::new(),
        operator,
        operator_uid: 1000,
        clock,
        config,
        resources: vec![Arc::new(bench_of_tools::Shelf)],
        prompts: Vec::new(),
        completions: None,
    };
    Gate::open(parts).await.unwrap()
}

/// The refusal a call ended with.
#[track_caller]
fn refusal(result: Result<Redacted, CallError>) -> Refusal {
    match result {
        Err(CallError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}
