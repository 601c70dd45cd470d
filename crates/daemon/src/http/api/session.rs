//! Who asks, as the pages of a browser need to know it; a link for the operator to sign in by, and the end of all they have.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_model::api::{Identity, SignInLink, SignedOut};
use http::StatusCode;

use super::super::auth::{InPerson, Signed};
use super::super::reply::{self, Failure};
use crate::daemon::Daemon;

/// Who asks, and the word with which their pages change something.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Signed { caller, csrf }: Signed,
) -> Result<Response, Failure> {
    daemon.gate.admit(&caller)?;
    let principal = caller.principal().clone();
    let (handle, workspace, role) = match daemon.gate.whereabouts(&principal).await? {
        Some((developer, workspace)) => {
            (Some(developer.handle.to_string()), Some(workspace), Some(developer.role))
        }
        None => (None, None, None),
    };
    reply::json_with_token(StatusCode::OK, &Identity { principal, handle, workspace, role, csrf })
}

/// Makes a link by which the operator signs in, once.
pub(crate) async fn link(
    State(daemon): State<Arc<Daemon>>,
    InPerson(operator): InPerson,
) -> Result<Response, Failure> {
    let made = daemon.gate.link(&operator).await?;
    let link = format!("{}/signin?code={}", daemon.place(), made.code.reveal());
    reply::json_with_token(StatusCode::CREATED, &SignInLink { link, expires_at: made.expires_at })
}

/// Ends every session of the operator's browsers.
pub(crate) async fn end(
    State(daemon): State<Arc<Daemon>>,
    InPerson(operator): InPerson,
) -> Result<Response, Failure> {
    let ended = daemon.gate.sign_out_everywhere(&operator).await?;
    reply::json(&daemon.gate.redactor(), &SignedOut { ended })
}
