//! How a team stands, what is done twice in it and how its week was, for people who are signed in or show a token. Each is the
//! call that an agent makes, by the same gate and written down like any other; no token is made for it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use covenant_gate::{CallRequest, Caller, Context};
use covenant_model::envelope::{Envelope, Status};
use covenant_team::input::Tool;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::super::auth::Who;
use super::super::document::Asked;
use super::super::reply::{self, Failure};
use super::super::serve::HungUp;
use super::covibe;
use crate::daemon::Daemon;

/// How much is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    limit: Option<u64>,
}

/// How the team stands: its lists beside each other, named as pages write them.
pub(crate) async fn state(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Extension(HungUp(cancel)): Extension<HungUp>,
    Asked(Wanted { limit }): Asked<Wanted>,
) -> Result<Response, Failure> {
    let mut arguments = Map::new();
    if let Some(limit) = limit {
        arguments.insert("limit".to_owned(), limit.into());
    }
    let told = call(&daemon, &caller, cancel, "state", arguments).await?;
    let mut lists = told.data;
    lists.insert("status".to_owned(), told.status.as_str().into());
    lists.insert("message".to_owned(), told.message.into());
    let feedback =
        json!({ "type": told.feedback.tone.as_str(), "required_action": told.feedback.required_action });
    lists.insert("feedback".to_owned(), feedback);
    Ok(reply::raw_json(camel(Value::Object(lists)).to_string()))
}

/// Looks for work that is done twice.
pub(crate) async fn audit(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Extension(HungUp(cancel)): Extension<HungUp>,
) -> Result<Response, Failure> {
    let told = call(&daemon, &caller, cancel, "audit_parallel_work", Map::new()).await?;
    Ok(reply::raw_json(told.to_text()))
}

/// Tells the last seven days.
pub(crate) async fn weekly_summary(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Extension(HungUp(cancel)): Extension<HungUp>,
) -> Result<Response, Failure> {
    let told = call(&daemon, &caller, cancel, "generate_weekly_summary", Map::new()).await?;
    Ok(reply::raw_json(told.to_text()))
}

/// Calls `covibe_team` for whoever asks.
async fn call(
    daemon: &Daemon,
    caller: &Caller,
    cancel: CancellationToken,
    operation: &str,
    arguments: Map<String, Value>,
) -> Result<Envelope, Failure> {
    let told = call_of(daemon, caller, cancel, (Tool::Team, operation), arguments).await?;
    match told.status {
        Status::Error => Err(unanswered(told.message)),
        _ => Ok(told),
    }
}

fn unanswered(message: String) -> Failure {
    let action = "try again; if it stays so, look at `covenant logs`";
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "fault", message, action)
}

/// Calls a tool of the team for whoever asks.
pub(super) async fn call_of(
    daemon: &Daemon,
    caller: &Caller,
    cancel: CancellationToken,
    (tool, operation): (Tool, &str),
    mut arguments: Map<String, Value>,
) -> Result<Envelope, Failure> {
    let name = tool.name();
    arguments.insert("operation".to_owned(), operation.into());
    let admitted = daemon.gate.admit(caller).map_err(|refusal| {
        daemon.gate.missed(Some(caller), name, refusal.clone());
        Failure::from(refusal)
    })?;
    let request = CallRequest { name: name.to_owned(), arguments };
    let result = daemon.gate.call(admitted, request, Context::new(cancel)).await?;
    // People are told of refusals as everywhere in this API.
    if let Some(refusal) = result.refused() {
        return Err(refusal.clone().into());
    }
    covibe::envelope(&result).ok_or_else(|| unanswered("the call was not answered".to_owned()))
}

/// The same, with names as pages write them: `plannedWork` for `planned_work`. The arguments of a call to make stay as the call
/// takes them.
fn camel(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let renamed = members.into_iter().map(|(name, value)| {
                let value = if name == "arguments" { value } else { camel(value) };
                (camel_name(&name), value)
            });
            Value::Object(renamed.collect())
        }
        Value::Array(items) => items.into_iter().map(camel).collect(),
        other => other,
    }
}

fn camel_name(name: &str) -> String {
    let mut parts = name.split('_');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        written.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        written.push_str(letters.as_str());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_pages_write_them_and_calls_stay_calls() {
        let told = json!({
            "planned_workstreams": [{"updated_at": 1, "title": "a_b"}],
            "next_actions": [{"call": {"tool": "covibe_task", "arguments": {"task_id": "task_a"}}}],
            "left_out": {"active_work": 3},
        });
        let written = json!({
            "plannedWorkstreams": [{"updatedAt": 1, "title": "a_b"}],
            "nextActions": [{"call": {"tool": "covibe_task", "arguments": {"task_id": "task_a"}}}],
            "leftOut": {"activeWork": 3},
        });
        assert_eq!(camel(told), written);
    }
}
