//! Who asks: the token in `Authorization`, or on the socket the user at its other end. Administration is the operator's.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use covenant_gate::{Caller, Credential, Operator, Refusal};
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::reply::Failure;
use super::via::Via;
use crate::daemon::Daemon;
use crate::peer;

/// Someone whose credential was recognised.
pub(crate) struct Who(pub(crate) Caller);

/// The operator.
pub(crate) struct Admin(pub(crate) Operator);

/// What the request shows. A token wins over the socket's peer: a client that has one wants to be that client.
pub(crate) fn credential(parts: &Parts) -> Credential {
    match (parts.headers.get(AUTHORIZATION), parts.extensions.get::<Via>()) {
        (Some(value), _) => {
            value.to_str().ok().and_then(token).map_or_else(Credential::none, Credential::bearer)
        }
        (None, Some(Via::Socket(peer))) => peer.credential.clone(),
        (None, _) => Credential::none(),
    }
}

fn token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_ascii())
}

fn operator(daemon: &Daemon, parts: &Parts) -> Result<Operator, Refusal> {
    let caller = daemon.gate.authenticate(&credential(parts))?;
    let pid = match parts.extensions.get::<Via>() {
        Some(Via::Socket(peer)) => peer.pid,
        _ => None,
    };
    daemon.gate.operator(&caller, peer::of(pid))
}

impl FromRequestParts<Arc<Daemon>> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(daemon.gate.authenticate(&credential(parts))?))
    }
}

impl FromRequestParts<Arc<Daemon>> for Admin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(operator(daemon, parts)?))
    }
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn only_bearer_tokens_are_tokens() {
        assert_eq!(token("Bearer cv_x"), Some("cv_x"));
        assert_eq!(token("bearer  cv_x "), Some("cv_x"));
        assert_eq!(token("Basic cv_x"), None);
        assert_eq!(token("cv_x"), None);
    }
}
