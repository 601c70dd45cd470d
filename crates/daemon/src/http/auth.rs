//! Who asks: the token in `Authorization`, or on the socket the user at its other end. Administration is the operator's.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use covenant_gate::{Caller, Credential, Operator, Refusal};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::reply::Failure;
use super::via::Via;
use crate::daemon::Daemon;
use crate::peer;

/// Someone whose credential was recognised.
pub(crate) struct Who(pub(crate) Caller);

/// Someone on this machine, or with a valid token: who may see how the daemon does.
pub(crate) struct Onlooker;

/// The operator.
pub(crate) struct Admin(pub(crate) Operator);

/// What the request shows. A token wins over the socket's peer: a client that has one wants to be that client.
pub(crate) fn credential(parts: &Parts) -> Credential {
    shown(&parts.headers, parts.extensions.get::<Via>())
}

/// The same, by headers that came by that door.
pub(crate) fn shown(headers: &HeaderMap, via: Option<&Via>) -> Credential {
    match (headers.get(AUTHORIZATION), via) {
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

fn is_local(parts: &Parts) -> bool {
    parts.extensions.get::<Via>().is_some_and(Via::is_local)
}

/// Whether whoever asks may know more than that something is wrong. Who shows no token is no stranger to be recorded.
pub(crate) fn is_trusted(daemon: &Daemon, parts: &Parts) -> bool {
    is_local(parts)
        || parts.headers.contains_key(AUTHORIZATION) && daemon.gate.authenticate(&credential(parts)).is_ok()
}

fn operator(daemon: &Daemon, parts: &Parts) -> Result<Operator, Refusal> {
    let caller = daemon.gate.authenticate(&credential(parts))?;
    let pid = match parts.extensions.get::<Via>() {
        Some(Via::Socket(peer)) => peer.pid,
        _ => None,
    };
    let operator = daemon.gate.operator(&caller, peer::of(pid));
    operator.inspect_err(|refusal| daemon.gate.record_refused(&caller, refusal))
}

impl FromRequestParts<Arc<Daemon>> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(daemon.gate.authenticate(&credential(parts))?))
    }
}

impl FromRequestParts<Arc<Daemon>> for Onlooker {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        if !is_local(parts) {
            daemon.gate.authenticate(&credential(parts))?;
        }
        Ok(Self)
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
    use super::*;

    #[test]
    fn only_bearer_tokens_are_tokens() {
        assert_eq!(token("Bearer cv_x"), Some("cv_x"));
        assert_eq!(token("bearer  cv_x "), Some("cv_x"));
        assert_eq!(token("Basic cv_x"), None);
        assert_eq!(token("cv_x"), None);
    }
}
