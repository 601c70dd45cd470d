//! Capabilities: what is granted to whom, and why something is or is not.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::operator::GrantError;
use covenant_model::api::{ExplainBody, NewGrant, Removed};
use covenant_model::id::GrantId;
use http::{StatusCode, Uri};

use super::super::auth::Admin;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::Part;
use crate::daemon::Daemon;

/// The grants in force, oldest first.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    let grants = daemon.gate.grants(&operator);
    let cut = part.of(grants, |grant| format!("{}~{}", grant.granted_at, grant.id))?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// Gives a grant.
pub(crate) async fn grant(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Document(new): Document<NewGrant>,
) -> Result<Response, Failure> {
    let granted = daemon.gate.grant(&operator, new).await.map_err(|error| match error {
        GrantError::Fault(fault) => Failure::from(fault),
        GrantError::Limits(_) | GrantError::Expired => Failure::invalid(error.to_string()),
    })?;
    let mut response = reply::json(&daemon.gate.redactor(), &granted)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Takes a grant back.
pub(crate) async fn revoke(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(id): Segment,
) -> Result<Response, Failure> {
    let id = GrantId::try_from(id).map_err(|error| Failure::malformed(error.to_string()))?;
    if !daemon.gate.revoke_grant(&operator, &id).await? {
        let message = format!("there is no grant {id} in force");
        return Err(Failure::not_found(message, "see what is granted with `covenant capabilities list`"));
    }
    reply::json(&daemon.gate.redactor(), &Removed { removed: id.to_string(), also: Vec::new() })
}

/// Says what would decide a call.
pub(crate) async fn explain(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Document(asked): Document<ExplainBody>,
) -> Result<Response, Failure> {
    reply::json(&daemon.gate.redactor(), &daemon.gate.explain(&operator, &asked))
}
