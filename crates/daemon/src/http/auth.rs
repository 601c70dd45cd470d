//! Who asks: the token in `Authorization`, on the socket the user at its other end, or the browser of somebody who is signed in.
//! Administration is the operator's.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use covenant_gate::signin::Visitor;
use covenant_gate::{CallError, Caller, Credential, Operator, Refusal, Steward};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};

use super::reply::Failure;
use super::via::Via;
use super::{cookie, guard};
use crate::daemon::Daemon;
use crate::peer;

/// What a page says to show that it belongs to the session whose cookie comes with it.
const WORD: HeaderName = HeaderName::from_static("x-covenant-csrf");

/// Someone whose credential was recognised.
pub(crate) struct Who(pub(crate) Caller);

/// The same, with the word of their session, if they are signed in.
pub(crate) struct Signed {
    pub(crate) caller: Caller,
    pub(crate) csrf: Option<String>,
}

/// Someone on this machine, or with a valid token: who may see how the daemon does.
pub(crate) struct Onlooker;

/// The operator.
pub(crate) struct Admin(pub(crate) Operator);

/// The operator by the socket or by a token of theirs, and not by a cookie: those are stolen more easily, and what is asked for
/// here would make one last for ever.
pub(crate) struct InPerson(pub(crate) Operator);

/// Somebody who may act for developers, be it only for the one they are.
pub(crate) struct ForTeam(pub(crate) Steward);

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

/// The browser that asks, if it is one that is signed in. Only the REST API is for browsers, and what shows a token wants to be
/// who that names.
async fn visitor(daemon: &Daemon, parts: &Parts) -> Result<Option<Visitor>, Failure> {
    let Some(Via::Tcp(port)) = parts.extensions.get::<Via>() else { return Ok(None) };
    if parts.headers.contains_key(AUTHORIZATION) || !parts.uri.path().starts_with("/api/") {
        return Ok(None);
    }
    let Some(shown) = cookie::shown(&parts.headers, *port, &daemon.config().http) else { return Ok(None) };
    let ground = cookie::ground(*port, &daemon.config().http);
    let Some(visitor) = daemon.gate.visitor(shown, ground).await? else { return Ok(None) };
    if !parts.method.is_safe() {
        check_meant(daemon, parts, &visitor)?;
    }
    Ok(Some(visitor))
}

/// That a page of ours, of this very session, wants something changed: a browser sends its cookie for every page.
fn check_meant(daemon: &Daemon, parts: &Parts, visitor: &Visitor) -> Result<(), Failure> {
    if !guard::is_same_place(&parts.headers, &parts.uri, &daemon.config().http) {
        let message =
            "this request has a cookie, wants to change something and has no `Origin` of the address it asks";
        return Err(unmeant(message));
    }
    let mut said = parts.headers.get_all(WORD).iter();
    match (said.next().and_then(|word| word.to_str().ok()), said.next()) {
        (Some(word), None) if visitor.is_word(word) => Ok(()),
        _ => {
            Err(unmeant("this request has a cookie, wants to change something and lacks the session's word"))
        }
    }
}

/// A request of a browser that its person may not have meant.
pub(crate) fn unmeant(message: &str) -> Failure {
    let action = "send it from a page of ours, with `X-Covenant-CSRF` as GET /api/v1/session says it";
    Failure::new(StatusCode::FORBIDDEN, "csrf", message, action)
}

/// Whoever asks.
async fn caller(daemon: &Daemon, parts: &Parts) -> Result<Caller, Failure> {
    match visitor(daemon, parts).await? {
        Some(visitor) => Ok(visitor.caller().clone()),
        None => Ok(daemon.gate.authenticate(&credential(parts))?),
    }
}

async fn operator(daemon: &Daemon, parts: &Parts) -> Result<Operator, Failure> {
    let caller = caller(daemon, parts).await?;
    let operator = daemon.gate.operator(&caller, peer::of(pid(parts)));
    Ok(operator.inspect_err(|refusal| daemon.gate.record_refused(&caller, refusal))?)
}

async fn steward(daemon: &Daemon, parts: &Parts) -> Result<Steward, Failure> {
    let caller = caller(daemon, parts).await?;
    let steward = daemon.gate.steward(&caller, peer::of(pid(parts))).await;
    Ok(steward.inspect_err(|error| {
        if let CallError::Refused(refusal @ Refusal::NotOperator { .. }) = error {
            daemon.gate.record_refused(&caller, refusal);
        }
    })?)
}

/// The process at the other end of the socket.
fn pid(parts: &Parts) -> Option<u32> {
    match parts.extensions.get::<Via>() {
        Some(Via::Socket(peer)) => peer.pid,
        _ => None,
    }
}

impl FromRequestParts<Arc<Daemon>> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(caller(daemon, parts).await?))
    }
}

impl FromRequestParts<Arc<Daemon>> for Signed {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        match visitor(daemon, parts).await? {
            Some(visitor) => {
                Ok(Self { caller: visitor.caller().clone(), csrf: Some(visitor.csrf().to_owned()) })
            }
            None => Ok(Self { caller: daemon.gate.authenticate(&credential(parts))?, csrf: None }),
        }
    }
}

impl FromRequestParts<Arc<Daemon>> for Onlooker {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        if !is_local(parts) {
            caller(daemon, parts).await?;
        }
        Ok(Self)
    }
}

impl FromRequestParts<Arc<Daemon>> for Admin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(operator(daemon, parts).await?))
    }
}

impl FromRequestParts<Arc<Daemon>> for InPerson {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        if visitor(daemon, parts).await?.is_some() {
            let message = "this is not for a browser that is signed in";
            let action = "run `covenant dashboard` where the daemon runs, or show a token of the operator";
            return Err(Failure::new(StatusCode::FORBIDDEN, "by_cookie", message, action));
        }
        Ok(Self(operator(daemon, parts).await?))
    }
}

impl FromRequestParts<Arc<Daemon>> for ForTeam {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        Ok(Self(steward(daemon, parts).await?))
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
