//! Links over real programs in both eras, and over a wire of the test where a program cannot show it.

mod calls;
mod fake;
mod handshakes;
mod lists;

use covenant_gate::context::{Listener, LogMessage, Progress};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::upstream::scrub::known;
use crate::upstream::stdio::StdioWire;
use crate::upstream::tests::{LONG, program};

/// Opens a link to a program.
async fn try_open(script: &str, era: EraChoice, within: Duration) -> Result<Link, NotOpened> {
    let ear = LinkEar::new(known::scrub().clone());
    let wire =
        StdioWire::new(program(script).await, Arc::clone(&ear) as Arc<dyn super::super::wire::Ear>, 1 << 22);
    Link::open(wire, ear, era, within).await
}

async fn open(script: &str) -> Link {
    try_open(script, EraChoice::Auto, LONG).await.unwrap()
}

/// A caller that keeps what it hears.
#[derive(Default)]
struct Caller {
    progress: Mutex<Vec<(f64, Option<String>)>>,
    logged: Mutex<Vec<LogMessage>>,
    cancel: CancellationToken,
}

impl Listener for Caller {
    fn progress(&self, progress: Progress) {
        self.progress.lock().push((progress.progress, progress.message));
    }

    fn log(&self, message: LogMessage) {
        self.logged.lock().push(message);
    }
}

impl Caller {
    fn context(self: &Arc<Self>) -> Context {
        Context::new(self.cancel.clone()).heard_by(Arc::clone(self) as Arc<dyn Listener>)
    }
}

/// Calls a tool with `{"a": 1}`, for someone who listens.
async fn call(
    link: &Link,
    caller: &Arc<Caller>,
    idle: Duration,
    total: Duration,
) -> Result<String, LinkError> {
    call_in(link, &caller.context(), idle, total).await
}

async fn call_in(
    link: &Link,
    context: &Context,
    idle: Duration,
    total: Duration,
) -> Result<String, LinkError> {
    let arguments = serde_json::from_str(r#"{"a":1}"#).unwrap();
    let call = ToolCall { tool: "t", arguments: &arguments, headers: &[], context, idle, total };
    let result = tokio::time::timeout(LONG * 2, link.call(call)).await.expect("every call ends");
    result.map(|raw| raw.get().to_owned())
}

/// What a tool said, where it said one text of JSON.
fn said(result: &str) -> Value {
    let result: Value = serde_json::from_str(result).unwrap();
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn errors_are_clauses_that_follow_a_name() {
    assert_eq!(LinkError::Idle(Duration::from_mins(1)).to_string(), "said nothing for 60 s");
    assert_eq!(LinkError::Total(Duration::from_millis(1500)).to_string(), "did not finish within 1500 ms");
    let failure = RpcFailure { code: -7, message: "no".to_owned(), data: None };
    assert_eq!(LinkError::Rpc(failure).to_string(), "answered with error -7: no");
}

#[test]
fn json_on_several_lines_becomes_one() {
    let raw = RawValue::from_string("{\n\t\"a\": \"x\\ny\",\r\n \"b\": 1}".to_owned()).unwrap();
    let line = in_one_line(raw.clone());
    assert!(!line.get().contains(['\n', '\r']));
    let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap();
    assert_eq!(read(&line), read(&raw));
}
