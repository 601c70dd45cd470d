//! Work that people plan on a page: the call an agent makes, for whoever is signed in or shows a token. Where it may be duplicate
//! work nothing is planned until they say so.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use covenant_gate::Caller;
use covenant_model::envelope::Status;
use covenant_team::input::Tool;
use http::StatusCode;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::super::auth::Who;
use super::super::document::Document;
use super::super::reply::{self, Failure};
use super::super::serve::HungUp;
use super::team_state::call_of;
use crate::daemon::Daemon;

/// Plans a task.
pub(crate) async fn task(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Extension(HungUp(cancel)): Extension<HungUp>,
    Document(wanted): Document<Map<String, Value>>,
) -> Result<Response, Failure> {
    plan(&daemon, &caller, cancel, Tool::Task, wanted).await
}

/// Plans a workstream.
pub(crate) async fn workstream(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Extension(HungUp(cancel)): Extension<HungUp>,
    Document(wanted): Document<Map<String, Value>>,
) -> Result<Response, Failure> {
    plan(&daemon, &caller, cancel, Tool::Workstream, wanted).await
}

async fn plan(
    daemon: &Daemon,
    caller: &Caller,
    cancel: CancellationToken,
    tool: Tool,
    mut wanted: Map<String, Value>,
) -> Result<Response, Failure> {
    // Whoever the request is of plans: nobody else is named in it.
    for foreign in ["operation", "token"] {
        if wanted.contains_key(foreign) {
            return Err(Failure::malformed(format!(
                "`{foreign}` does not belong here: this plans, as who you are"
            )));
        }
    }
    wanted.entry("confirm").or_insert(Value::Bool(false));
    let told = call_of(daemon, caller, cancel, (tool, "plan"), wanted).await?;
    let (status, text) = match told.status {
        Status::Error => {
            let action = told.feedback.required_action.unwrap_or_default();
            return Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", told.message, action));
        }
        Status::Blocked => {
            let part = |name: &str| told.data.get(name).cloned().unwrap_or(Value::Null);
            let error = json!({
                "code": "requires_confirm",
                "message": told.message,
                "action": told.feedback.required_action,
            });
            let asked = json!({
                "error": error,
                "requires_confirm": true,
                "candidates": part("candidates"),
                "warning_id": part("warning_id"),
            });
            (StatusCode::CONFLICT, asked.to_string())
        }
        _ => (StatusCode::CREATED, told.to_text()),
    };
    Ok(reply::raw_json_with(status, text))
}
