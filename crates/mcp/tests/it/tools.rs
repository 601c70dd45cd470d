//! Tools that take their time, for tests of what happens meanwhile.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::context::{Level, LogMessage, Progress};
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::curious::Curious;
use crate::unmade::Hears;

type Play =
    for<'a> fn(&'a Arguments, &'a Context) -> std::pin::Pin<Box<dyn Future<Output = String> + Send + 'a>>;

struct Played(&'static str, Play);

impl Tool for Played {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0.parse().unwrap(), "For tests.", json!({"type": "object"}))
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move { RawOutput::from(ToolCallResult::text((self.1)(&arguments, context).await)) })
    }
}

/// Every tool of these tests.
pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Played("steps", |arguments, context| Box::pin(steps(arguments, context)))),
        Arc::new(Played("gate", |arguments, context| Box::pin(gated(arguments, context)))),
        Arc::new(Played("yield", |_, _| {
            Box::pin(async {
                tokio::task::yield_now().await;
                "yielded".to_owned()
            })
        })),
        Arc::new(Played("big", |arguments, _| Box::pin(std::future::ready(big(arguments))))),
        Arc::new(Curious { name: "curious", limit: Duration::from_mins(10) }),
        Arc::new(Curious { name: "hasty", limit: Duration::from_millis(50) }),
        Arc::new(Hears),
    ]
}

/// Reports three steps and says something at every level, yielding in between.
async fn steps(arguments: &Arguments, context: &Context) -> String {
    for (step, level) in [(1.0, Level::Debug), (2.0, Level::Info), (3.0, Level::Error)] {
        context.progress(Progress {
            progress: step,
            total: Some(3.0),
            message: Some(format!("step {step}")),
        });
        let said = arguments.get("say").cloned().unwrap_or(Value::from(step));
        context.log(LogMessage { level, logger: Some("steps".to_owned()), data: said });
        tokio::task::yield_now().await;
    }
    "done".to_owned()
}

static GATES: Mutex<Vec<(String, Arc<Notify>)>> = Mutex::new(Vec::new());

/// The notification that opens the gate of that name, and the one that says the call waits at it or was cancelled.
pub(crate) fn gate(name: &str) -> Arc<Notify> {
    let mut gates = GATES.lock();
    if let Some((_, gate)) = gates.iter().find(|(known, _)| known == name) {
        return gate.clone();
    }
    let gate = Arc::new(Notify::new());
    gates.push((name.to_owned(), gate.clone()));
    gate
}

/// Waits at a gate until the test opens it; tells the test when it arrives, and when it is cancelled instead.
async fn gated(arguments: &Arguments, context: &Context) -> String {
    let name = arguments.text("name").unwrap_or_default();
    gate(&format!("{name} waits")).notify_one();
    let open = gate(name);
    tokio::select! {
        () = open.notified() => "opened".to_owned(),
        () = context.cancelled().cancelled() => {
            gate(&format!("{name} cancelled")).notify_one();
            "cancelled".to_owned()
        }
    }
}

fn big(arguments: &Arguments) -> String {
    let bytes = arguments.get("bytes").and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
    "x".repeat(bytes.unwrap_or_default())
}
