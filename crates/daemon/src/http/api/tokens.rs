//! The tokens of developers: made, listed and ended by whoever may act for them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_model::api::{NewToken, Removed};
use covenant_model::id::TokenId;
use http::{StatusCode, Uri};
use serde::Deserialize;

use super::super::auth::ForTeam;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::{Part, most};
use crate::daemon::Daemon;

/// Which tokens are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    developer: Option<String>,
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
}

/// The tokens that caller may know of, oldest first, revoked ones included.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    uri: Uri,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Failure> {
    let tokens = daemon.gate.developer_tokens(&steward, wanted.developer.as_deref()).await?;
    let part = Part { limit: wanted.limit, after: wanted.after };
    let cut = part.of(tokens, |token| format!("{}~{}", token.created_at, token.id))?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// Makes a token; it is shown this once.
pub(crate) async fn create(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    Document(new): Document<NewToken>,
) -> Result<Response, Failure> {
    let made = daemon.gate.create_token(&steward, new).await?;
    reply::json_with_token(StatusCode::CREATED, &made)
}

/// Ends a token. Whose sessions nobody can use any more are closed.
pub(crate) async fn revoke(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    Segment(id): Segment,
) -> Result<Response, Failure> {
    let id = TokenId::try_from(id).map_err(|error| Failure::malformed(error.to_string()))?;
    let Some(ended) = daemon.gate.revoke_token(&steward, &id).await? else {
        let message = format!("there is no valid token {id}");
        return Err(Failure::not_found(message, "see which there are: covenant tokens list"));
    };
    if !ended.others {
        daemon.sessions.close_all_of(&ended.principal).await?;
    }
    reply::json(&daemon.gate.redactor(), &Removed { removed: id.to_string(), also: Vec::new() })
}
