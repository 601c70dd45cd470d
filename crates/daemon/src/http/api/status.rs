//! The daemon itself: whether it lives, whether it is ready, what it runs with, reload and stop.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use covenant_model::api::Ready;
use covenant_model::audit::Kind;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::super::auth::{self, Admin, Onlooker, Who};
use super::super::reply::{self, Failure};
use crate::daemon::Daemon;
use crate::metrics;
use crate::reload::{By, ReloadError};

/// Whether the process answers.
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// Whether calls are served. Why not is for those who may know.
pub(crate) async fn readyz(State(daemon): State<Arc<Daemon>>, parts: Parts) -> Result<Response, Failure> {
    let mut ready = ready(&daemon).await;
    if !ready.ready && !auth::is_trusted(&daemon, &parts) {
        ready.reasons.clear();
    }
    let mut response = reply::json(&daemon.gate.redactor(), &ready)?;
    if !ready.ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

async fn ready(daemon: &Daemon) -> Ready {
    let mut reasons = daemon.gate.health();
    if let Err(fault) = daemon.store.health().await {
        reasons.push(format!("store: {fault}"));
    }
    if daemon.stop.closing.is_cancelled() {
        reasons.push("daemon: it is stopping".to_owned());
    }
    Ready { ready: reasons.is_empty(), reasons }
}

/// What is counted and measured.
pub(crate) async fn metrics(State(daemon): State<Arc<Daemon>>, _onlooker: Onlooker) -> Response {
    let mut response = metrics::page(&daemon).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
    response
}

/// What it runs with.
pub(crate) async fn status(State(daemon): State<Arc<Daemon>>, _who: Who) -> Result<Response, Failure> {
    reply::json(&daemon.gate.redactor(), &daemon.status(ready(&daemon).await))
}

/// The effective configuration, secrets hidden.
pub(crate) async fn config(State(daemon): State<Arc<Daemon>>, _admin: Admin) -> Result<Response, Failure> {
    reply::json(&daemon.gate.redactor(), &daemon.config().effective())
}

/// Ends the daemon, after this answer.
pub(crate) async fn stop(State(daemon): State<Arc<Daemon>>, Admin(operator): Admin) -> Response {
    tracing::info!(target: "covenant", "stopping on request");
    // A log that cannot be written is a reason to stop, not one to go on.
    if let Err(fault) = daemon.gate.record(&operator, Kind::DaemonStopped, "daemon", Some("requested")).await
    {
        tracing::warn!(target: "covenant", cause = fault.cause(), "the request to stop could not be recorded");
    }
    daemon.stop.closing.cancel();
    StatusCode::ACCEPTED.into_response()
}

/// Reads configuration and secrets again.
pub(crate) async fn reload(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
) -> Result<Response, Failure> {
    let reloaded = daemon.reload(By::Operator(&operator)).await.map_err(|error| match error {
        ReloadError::Fault(fault) => Failure::from(fault),
        error => {
            let action = "correct the file and reload again; what was in effect stays in effect";
            Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_configuration", error.to_string(), action)
        }
    })?;
    reply::json(&daemon.gate.redactor(), &reloaded)
}
