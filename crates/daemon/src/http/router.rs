//! Which path leads where. The same on the socket and on the port.

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post, put};
use http::StatusCode;

use super::api::{audit, capabilities, clients, secrets, status, tools};
use super::reply::Failure;
use super::upgrade;
use crate::daemon::Daemon;

/// Every route there is.
pub(crate) fn router(daemon: Arc<Daemon>) -> Router {
    Router::new()
        .route("/healthz", get(status::healthz))
        .route("/readyz", get(status::readyz))
        .route("/metrics", get(status::metrics))
        .route("/mcp", get(upgrade::mcp))
        .nest("/api/v1", api())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(daemon)
}

fn api() -> Router<Arc<Daemon>> {
    Router::new()
        .route("/status", get(status::status))
        .route("/stop", post(status::stop))
        .route("/reload", post(status::reload))
        .route("/config", get(status::config))
        .route("/tools", get(tools::list))
        .route("/tools/{name}", get(tools::show))
        .route("/tools/{name}/call", post(tools::call))
        .route("/capabilities", get(capabilities::list).post(capabilities::grant))
        .route("/capabilities/explain", post(capabilities::explain))
        .route("/capabilities/{id}", delete(capabilities::revoke))
        .route("/clients", get(clients::list).post(clients::add))
        .route("/clients/{name}", delete(clients::revoke))
        .route("/secrets", get(secrets::list))
        .route("/secrets/{name}", put(secrets::set).delete(secrets::remove))
        .route("/audit", get(audit::recent))
        .route("/audit/watch", get(audit::watch))
        .route("/audit/export", get(audit::export))
        .route("/audit/head", post(audit::head))
        .route("/audit/prune", post(audit::prune))
}

async fn no_route() -> Failure {
    Failure::not_found("there is nothing at this path", "see the endpoints in the documentation")
}

async fn no_method() -> Failure {
    let message = "this path does not take that method";
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
        "see the endpoints in the documentation",
    )
}
