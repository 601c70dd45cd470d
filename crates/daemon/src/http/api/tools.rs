//! Tools: the catalogue as the caller may see it, and calls, which take the same path as those of MCP.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use covenant_gate::context::Trace;
use covenant_gate::{CallRequest, Caller, Context, Refusal};
use covenant_model::api::CallBody;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::auth::Who;
use super::super::document::{Document, Segment};
use super::super::reply::{self, Failure};
use super::super::serve::HungUp;
use crate::daemon::Daemon;
use covenant_gate::operator::Peer;

#[derive(Serialize)]
struct List {
    tools: Vec<Arc<RawValue>>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
}

/// A `tools/list` result: everything for the operator, what they may call for anyone else.
pub(crate) async fn list(State(daemon): State<Arc<Daemon>>, Who(caller): Who) -> Result<Response, Failure> {
    let tools = visible(&daemon, &caller)?;
    reply::json(&daemon.gate.redactor(), &List { tools })
}

/// One tool of that list.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let is_it = |spec: &Arc<RawValue>| {
        serde_json::from_str::<Named<'_>>(spec.get()).is_ok_and(|named| named.name == name)
    };
    match visible(&daemon, &caller)?.into_iter().find(is_it) {
        Some(spec) => reply::json(&daemon.gate.redactor(), &spec),
        None => Err(Refusal::UnknownTool { name: daemon.gate.redactor().shown(&name, 64) }.into()),
    }
}

fn visible(daemon: &Daemon, caller: &Caller) -> Result<Vec<Arc<RawValue>>, Failure> {
    // Looking is not an act: nothing is recorded, so nobody needs to know from where.
    if let Ok(operator) = daemon.gate.operator(caller, Peer::default()) {
        return Ok(daemon.gate.catalogue(&operator));
    }
    let admitted = daemon.gate.admit(caller)?;
    Ok(daemon.gate.tools(&admitted))
}

/// Calls a tool and answers its result.
pub(crate) async fn call(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(name): Segment,
    // A caller who hangs up takes the call back.
    Extension(HungUp(cancel)): Extension<HungUp>,
    headers: HeaderMap,
    Document(CallBody { arguments }): Document<CallBody>,
) -> Result<Response, Failure> {
    let admitted = daemon.gate.admit(&caller)?;
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let context = Context::new(cancel).traced(traceparent.and_then(Trace::from_traceparent));
    let result = daemon.gate.call(admitted, CallRequest { name, arguments }, context).await?;
    Ok(reply::raw_json(result.json().get().to_owned()))
}
