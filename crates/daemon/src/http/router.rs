//! Which path leads where. The same on the socket and on the port.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use http::StatusCode;

use super::api::{
    agents, approvals, audit, capabilities, clients, covibe, intents, memory, plans, scripts, secrets,
    servers, session, status, team, team_events, team_state, tokens, tools,
};
use super::reply::Failure;
use super::{approval, openapi, signin, upgrade};
use crate::daemon::Daemon;

/// Every path there is. `openapi.json` describes each of them and no other: the tests hold the two together.
fn routes() -> Vec<(&'static str, MethodRouter<Arc<Daemon>>)> {
    vec![
        ("/healthz", get(status::healthz)),
        ("/readyz", get(status::readyz)),
        ("/metrics", get(status::metrics)),
        // What is no upgrade is answered before anything is routed: see `mcp::answer`.
        ("/mcp", get(upgrade::mcp).post(upgrade::mcp).delete(upgrade::mcp)),
        ("/api/mcp", post(covibe::call)),
        ("/api/state", get(team_state::state)),
        ("/api/audit", post(team_state::audit)),
        ("/api/weekly-summary", post(team_state::weekly_summary)),
        ("/api/tasks", post(plans::task)),
        ("/api/workstreams", post(plans::workstream)),
        ("/approvals/{id}", get(approval::page)),
        ("/signin", get(signin::page).post(signin::sign_in)),
        ("/signout", post(signin::sign_out)),
        ("/auth/link", post(signin::by_link)),
        ("/auth/oidc", get(signin::oidc::begin).post(signin::oidc::bind)),
        ("/auth/oidc/callback", get(signin::oidc::callback)),
        ("/auth/passkey", post(signin::passkey::sign_in)),
        ("/auth/passkey/challenge", post(signin::passkey::challenge)),
        ("/auth/passkey/new", post(signin::passkey::make)),
        ("/auth/passkey/remove", post(signin::passkey::remove)),
        ("/auth/passkey/script.js", get(signin::passkey::script)),
        ("/invite/{code}", get(signin::invite).post(signin::accept)),
        ("/api/v1/session", get(session::show)),
        ("/api/v1/session/link", post(session::link)),
        ("/api/v1/session/all", delete(session::end)),
        ("/api/v1/openapi.json", get(openapi::document)),
        ("/api/v1/docs", get(openapi::docs)),
        ("/api/v1/status", get(status::status)),
        ("/api/v1/stop", post(status::stop)),
        ("/api/v1/reload", post(status::reload)),
        ("/api/v1/config", get(status::config)),
        ("/api/v1/tools", get(tools::list)),
        ("/api/v1/tools/{name}", get(tools::show)),
        ("/api/v1/tools/{name}/call", post(tools::call)),
        ("/api/v1/capabilities", get(capabilities::list).post(capabilities::grant)),
        ("/api/v1/capabilities/explain", post(capabilities::explain)),
        ("/api/v1/capabilities/{id}", delete(capabilities::revoke)),
        ("/api/v1/approvals", get(approvals::list)),
        ("/api/v1/approvals/watch", get(approvals::watch)),
        ("/api/v1/approvals/{id}", get(approvals::show)),
        ("/api/v1/approvals/{id}/approve", post(approvals::approve)),
        ("/api/v1/approvals/{id}/reject", post(approvals::reject)),
        ("/api/v1/clients", get(clients::list).post(clients::add)),
        ("/api/v1/clients/{name}", delete(clients::revoke)),
        ("/api/v1/team/workspaces", post(team::name_workspace)),
        ("/api/v1/team/events", get(team_events::list)),
        ("/api/v1/team/members", get(team::members).post(team::invite)),
        ("/api/v1/team/members/{handle}", delete(team::remove)),
        ("/api/v1/team/members/{handle}/invite", post(team::invite_again)),
        ("/api/v1/tokens", get(tokens::list).post(tokens::create)),
        ("/api/v1/tokens/{id}", delete(tokens::revoke)),
        ("/api/v1/scripts", get(scripts::list)),
        ("/api/v1/scripts/{name}", get(scripts::show)),
        ("/api/v1/agents", get(agents::list)),
        ("/api/v1/agents/reload", post(agents::reload)),
        ("/api/v1/agents/usage", get(agents::usage)),
        ("/api/v1/agents/{id}", get(agents::show)),
        ("/api/v1/intents", get(intents::list).post(intents::send)),
        ("/api/v1/intents/{id}", get(intents::show)),
        ("/api/v1/intents/{id}/cancel", post(intents::cancel)),
        ("/api/v1/intents/{id}/events", get(intents::events)),
        ("/api/v1/secrets", get(secrets::list)),
        ("/api/v1/secrets/{name}", put(secrets::set).delete(secrets::remove)),
        ("/api/v1/memory/search", get(memory::search)),
        ("/api/v1/memory/recent", get(memory::recent)),
        ("/api/v1/mcp/servers", get(servers::list).post(servers::add)),
        ("/api/v1/mcp/servers/{name}", get(servers::show).delete(servers::remove)),
        ("/api/v1/mcp/servers/{name}/tools", get(servers::list_tools)),
        ("/api/v1/mcp/servers/{name}/connect", post(servers::connect)),
        ("/api/v1/mcp/servers/{name}/disconnect", post(servers::disconnect)),
        ("/api/v1/mcp/servers/{name}/restart", post(servers::restart)),
        ("/api/v1/mcp/servers/{name}/test", post(servers::test)),
        ("/api/v1/mcp/servers/{name}/logs", get(servers::logs)),
        ("/api/v1/audit", get(audit::recent)),
        ("/api/v1/audit/watch", get(audit::watch)),
        ("/api/v1/audit/export", get(audit::export)),
        ("/api/v1/audit/head", post(audit::head)),
        ("/api/v1/audit/prune", post(audit::prune)),
    ]
}

/// The router of both doors.
pub(crate) fn router(daemon: Arc<Daemon>) -> Router {
    let routed = routes().into_iter().fold(Router::new(), |router, (path, methods)| {
        let described = path.starts_with("/api/") && path != "/api/mcp";
        router.route(path, if described { asking(path, methods) } else { methods })
    });
    routed.fallback(no_route).method_not_allowed_fallback(no_method).with_state(daemon)
}

/// The same, for questions that are described.
fn asking(path: &'static str, methods: MethodRouter<Arc<Daemon>>) -> MethodRouter<Arc<Daemon>> {
    methods.route_layer(from_fn(async move |request: Request, next: Next| -> Response {
        match openapi::check_query(path, &request) {
            Ok(()) => next.run(request).await,
            Err(failure) => failure.into_response(),
        }
    }))
}

async fn no_route() -> Failure {
    Failure::not_found("there is nothing at this path", "see what there is: GET /api/v1/docs")
}

async fn no_method() -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not take that method",
        "use one that `Allow` names; GET /api/v1/docs describes them",
    )
}

#[cfg(test)]
mod tests;
