//! What the benchmarks share: medians, a table, a gate in process. Ratios within one run; machines are noisy.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops when it cannot run"
)]

pub mod http;
pub mod one_core;
pub mod process;
pub mod texts;
pub mod upstream;
pub mod yardstick;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::audit::{AuditLog, Durability, Options};
use covenant_gate::config::Config;
use covenant_gate::{CallRequest, Clock, Context, Credential, Gate, Parts, Peer, SystemClock, ToolRegistry};
use covenant_model::redact::Redactor;
use covenant_model::token;
use ed25519_dalek::SigningKey;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The middle of many measurements.
///
/// # Panics
/// If there are none.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().expect("at least one measurement")
}

/// The middle of many figures.
///
/// # Panics
/// If there are none.
pub fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().expect("at least one figure")
}

/// A line of the table: what, how much, and what it should be.
pub fn line(what: &str, figure: &str, goal: &str) {
    println!("{what:<58} {figure:>16}   {goal}");
}

/// Microseconds, readable.
pub fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

/// Mebibytes, readable.
pub fn mebibytes(figure: f64) -> String {
    format!("{figure:.1} MiB")
}

/// A gate in that directory with the native tools and a grant for all of them; the limit is on, but high.
///
/// # Panics
/// If it cannot be opened.
pub async fn gate(directory: &Path, durability: Durability) -> Arc<Gate> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let key = SigningKey::from_bytes(&[7; 32]);
    let options = Options {
        dir: directory.join("audit"),
        key: key.clone(),
        digest_key: [9; 32],
        durability,
        segment_bytes: 64 * 1024 * 1024,
        clock: clock.clone(),
    };
    let (audit, _) = AuditLog::open(options).expect("the log opens");
    let mut tools = ToolRegistry::default();
    for tool in covenant_tools::plain(&clock) {
        tools.register(tool).expect("native tools register");
    }
    let parts = Parts {
        tools,
        store: covenant_store::Store::open("sqlite:covenant.db", directory).await.expect("the store opens"),
        audit,
        redactor: Redactor::new([("API_KEY", "a-secret-that-never-appears")]),
        key,
        trusted: Vec::new(),
        operator: token::hash(token::from_random([1; 32]).reveal()).expect("a token"),
        operator_uid: 0,
        clock,
        config: Config { rate: 1e6, burst: 1_000_000, ..Config::default() },
        resources: Vec::new(),
        prompts: Vec::new(),
        completions: None,
    };
    let gate = Gate::open(parts).await.expect("the gate opens");
    let caller = gate.authenticate(&Credential::peer(0)).expect("the operator");
    let operator = gate.operator(&caller, Peer::default()).expect("the operator");
    let grant = json!({"subject": "any", "action": "tool.call.*"});
    gate.grant(&operator, serde_json::from_value(grant).expect("a grant")).await.expect("granted");
    gate
}

/// One call of `echo`, all the way.
///
/// # Panics
/// If it is refused.
pub async fn echo(gate: &Gate, credential: &Credential) {
    let caller = gate.authenticate(credential).expect("known");
    let admitted = gate.admit(&caller).expect("within the limit");
    let arguments = json!({"text": "hello, gate"}).as_object().cloned().unwrap_or_default();
    let request = CallRequest { name: "echo".to_owned(), arguments };
    let result = gate.call(admitted, request, Context::new(CancellationToken::new())).await;
    assert!(!result.expect("granted").is_error());
}
