//! Clients: named callers with tokens of their own.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::operator::AddClientError;
use covenant_model::api::NewClient;
use covenant_model::principal::Principal;
use http::{StatusCode, Uri};

use super::super::auth::Admin;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::Part;
use crate::daemon::Daemon;

/// The clients, oldest first, revoked ones included.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    let clients = daemon.gate.clients(&operator).await?;
    let cut = part.of(clients, |client| format!("{}~{}", client.created_at, client.name))?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// Adds a client; its token is shown this once.
pub(crate) async fn add(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Document(new): Document<NewClient>,
) -> Result<Response, Failure> {
    let added = daemon.gate.add_client(&operator, new).await.map_err(|error| match error {
        AddClientError::Taken { ref name } => {
            let message = format!("there is already a client `{name}`");
            let action = format!("choose another name, or revoke it first: covenant clients revoke {name}");
            Failure::new(StatusCode::CONFLICT, "taken", message, action)
        }
        AddClientError::Name(_) => Failure::invalid(error.to_string()),
        AddClientError::Fault(fault) => fault.into(),
    })?;
    reply::json_with_token(StatusCode::CREATED, &added)
}

/// Ends a client, with its token and its grants.
pub(crate) async fn revoke(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let Some(removed) = daemon.gate.revoke_client(&operator, &name).await? else {
        let message = format!("there is no client `{name}` with a valid token");
        return Err(Failure::not_found(message, "see who there is with `covenant clients list`"));
    };
    if let Ok(principal) = Principal::client(&name) {
        daemon.sessions.close_all_of(&principal).await?;
    }
    reply::json(&daemon.gate.redactor(), &removed)
}
