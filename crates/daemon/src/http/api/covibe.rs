//! `/api/mcp`: one call of a team's tool as one JSON document, and its envelope as the answer, whatever comes of it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use covenant_gate::{CallError, CallRequest, Caller, Context, Credential, Redacted, Refusal};
use covenant_model::envelope::{Envelope, Status};
use covenant_model::json;
use covenant_team::event::Unserved;
use covenant_tools::covibe::{self, PREFIX};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::auth;
use super::super::reply::{self, Failure};
use super::super::seats::Engaged;
use super::super::serve::HungUp;
use super::super::via::Via;
use crate::daemon::Daemon;

/// What such a document should look like.
const SHAPE: &str =
    "Send a JSON object: {\"tool\": \"covibe_task\", \"arguments\": {…}, \"token\": \"cv_…\"}.";

/// A call, as far as it could be read.
struct Wanted {
    tool: String,
    arguments: Map<String, Value>,
    token: Option<String>,
}

/// What of a result is the envelope.
#[derive(Deserialize)]
struct Told {
    #[serde(rename = "structuredContent")]
    envelope: Envelope,
}

/// Performs the call.
pub(crate) async fn call(
    State(daemon): State<Arc<Daemon>>,
    Extension(HungUp(cancel)): Extension<HungUp>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let credential = auth::credential(&parts);
    let door = parts.extensions.get::<Via>().map_or("port", Via::door);
    let engaged = parts.extensions.get::<Arc<Engaged>>().cloned();
    let limit = daemon.config().limits.request_bytes;
    let wanted = match daemon.bodies.read(body, limit, engaged.as_deref()).await {
        Ok(bytes) => read(&bytes).map_err(Failure::malformed),
        Err(failure) => Err(failure),
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(failure) => {
            let caller = daemon.gate.authenticate(&credential).ok();
            // Whoever writes nonsense as often as they like would fill the database with it.
            if let Some(Err(refusal)) = caller.as_ref().map(|caller| daemon.gate.admit(caller)) {
                note(&daemon, caller.as_ref(), door, "/api/mcp", refusal.code()).await;
                return refused(&daemon, refusal);
            }
            note(&daemon, caller.as_ref(), door, "/api/mcp", "malformed").await;
            return told(&daemon, &failure, SHAPE);
        }
    };
    let credential = wanted.token.as_deref().map_or(credential, Credential::bearer);
    let Wanted { tool, arguments, .. } = wanted;
    let caller = match daemon.gate.authenticate(&credential) {
        Ok(caller) => caller,
        Err(refusal) => {
            note(&daemon, None, door, &tool, refusal.code()).await;
            return refused(&daemon, refusal);
        }
    };
    let admitted = match daemon.gate.admit(&caller) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            daemon.gate.missed(Some(&caller), &tool, refusal.clone());
            return refused(&daemon, refusal);
        }
    };
    if !tool.starts_with(PREFIX) {
        let refusal = Refusal::UnknownTool { name: daemon.gate.redactor().shown(&tool, 64) };
        note(&daemon, Some(&caller), door, &tool, refusal.code()).await;
        return refused(&daemon, refusal);
    }
    match daemon.gate.call(admitted, CallRequest { name: tool, arguments }, Context::new(cancel)).await {
        Ok(result) => {
            let status = result.refused().map_or(StatusCode::OK, status);
            let text =
                envelope(&result).map_or_else(|| result.json().get().to_owned(), |told| told.to_text());
            let mut response = reply::raw_json_with(status, text);
            if let Some(refusal) = result.refused() {
                response.headers_mut().extend(Failure::from(refusal.clone()).headers());
            }
            response
        }
        Err(CallError::Refused(refusal)) => refused(&daemon, refusal),
        Err(CallError::Fault(fault)) => {
            told(&daemon, &fault.into(), "Call again; the daemon's log has the reason.")
        }
    }
}

/// The envelope that a tool of a team answered.
pub(super) fn envelope(result: &Redacted) -> Option<Envelope> {
    serde_json::from_str::<Told>(result.json().get()).ok().map(|told| told.envelope)
}

/// What is left of a refusal's status where its answer is a tool's own: arguments that do not fit, and what a person has to
/// decide, are outcomes like others.
fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unauthenticated => StatusCode::UNAUTHORIZED,
        Refusal::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::UnknownTool { .. } => StatusCode::NOT_FOUND,
        Refusal::NotGranted { .. } | Refusal::NotInManifest { .. } => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    }
}

fn read(bytes: &[u8]) -> Result<Wanted, String> {
    json::check(bytes).map_err(|refused| format!("the body is refused: {refused}"))?;
    let document: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON: {error}"))?;
    let Value::Object(mut members) = document else { return Err("the body is not a JSON object".to_owned()) };
    let tool = match members.remove("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => tool,
        _ => return Err("the body has no `tool` that is a text".to_owned()),
    };
    let arguments = match members.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err("`arguments` is not an object".to_owned()),
    };
    let token = match members.remove("token") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token),
        Some(_) => return Err("`token` is not a text".to_owned()),
    };
    Ok(Wanted { tool, arguments, token })
}

async fn note(daemon: &Daemon, caller: Option<&Caller>, door: &'static str, call: &str, code: &'static str) {
    let Some(caller) = caller else { return daemon.account.stranger(door, code).await };
    let call = daemon.gate.redactor().shown(call, 64);
    let call = Unserved { call, status: Status::Error, code, session: None, details: Map::new() };
    daemon.account.note(Some(caller.issuer().clone()), call).await;
}

/// The same words as where a tool was reached.
fn refused(daemon: &Daemon, refusal: Refusal) -> Response {
    let envelope = covibe::refused(&refusal);
    enveloped(daemon, &Failure::from(refusal), &envelope)
}

fn told(daemon: &Daemon, failure: &Failure, action: &str) -> Response {
    let envelope = Envelope::error(failure.message(), action).with("code", failure.code());
    enveloped(daemon, failure, &envelope)
}

/// An envelope about a failure, with its status and headers.
fn enveloped(daemon: &Daemon, failure: &Failure, envelope: &Envelope) -> Response {
    let text = daemon.gate.redactor().redact_json(&envelope.to_text()).into_owned();
    let mut response = reply::raw_json_with(failure.status(), text);
    response.headers_mut().extend(failure.headers());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_with_a_tool_is_a_call() {
        for bad in [
            "",
            "nonsense",
            "[]",
            "7",
            "{}",
            r#"{"tool":7}"#,
            r#"{"tool":""}"#,
            r#"{"tool":"a","arguments":[]}"#,
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        let wanted = read(br#"{"tool":"covibe_task","arguments":{"a":1},"token":"cv_x","more":1}"#).unwrap();
        assert_eq!((wanted.tool.as_str(), wanted.token.as_deref()), ("covibe_task", Some("cv_x")));
        assert!(read(br#"{"tool":"covibe_team"}"#).unwrap().arguments.is_empty());
    }
}
