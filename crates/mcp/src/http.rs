//! What one POST to `/mcp` is: of which era, in which session, and whether its headers say what its body says.
//!
//! [`way`] is asked once for every message, however its answer will travel: as one JSON document or as a stream.

use crate::era::{self, Era, MODERN, SUPPORTED};
use crate::headers::{Headers, agree};
use crate::message::{self, Id, Incoming, Malformed};
use crate::params::{Ask, Meta, Params};
use crate::reply::{
    Answer, Body, HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, RpcError, UNAUTHENTICATED,
    UNSUPPORTED_VERSION,
};

/// The header that names a session.
pub const SESSION: &str = "mcp-session-id";
/// The header that names the revision spoken.
pub const VERSION: &str = "mcp-protocol-version";
/// The header that repeats the method.
pub const METHOD: &str = "mcp-method";
/// The header that repeats the name of a tool or prompt, or the URI of a resource.
pub const NAME: &str = "mcp-name";

/// One message of a client.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives for one request, and most are the large one")]
pub enum Said<'a> {
    /// It wants an answer.
    Request(Ask<'a>),
    /// It wants none.
    Other(Incoming<'a>),
}

impl<'a> Said<'a> {
    /// Reads one message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        Ok(match message::read(bytes)? {
            Incoming::Request(request) => Self::Request(Ask::read(request)),
            other => Self::Other(other),
        })
    }

    /// Its id, if it wants an answer.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request(ask) => Some(&ask.request.id),
            Self::Other(_) => None,
        }
    }

    fn method(&self) -> &str {
        match self {
            Self::Request(ask) => &ask.request.method,
            Self::Other(Incoming::Notification(notification)) => &notification.method,
            Self::Other(_) => "",
        }
    }

    /// What it says of itself; a notification's `_meta` may be anything.
    fn meta(&self) -> Result<Meta<'a>, RpcError> {
        match self {
            Self::Request(ask) => ask.found.as_ref().map(|found| found.meta).map_err(Clone::clone),
            Self::Other(Incoming::Notification(notification)) => {
                Ok(Params::read(notification.params).and_then(|params| params.meta()).unwrap_or_default())
            }
            Self::Other(_) => Ok(Meta::default()),
        }
    }
}

/// How a message is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way<'h> {
    /// On its own, as since 2026-07-28.
    Stateless,
    /// On its own, as JSON: it says nothing of itself, as the commands a person types.
    Plain,
    /// It opens a session.
    Opening,
    /// In the session of that id.
    Session(&'h str),
}

/// Decides how a message is served. An error is answered with 400.
pub fn way<'h>(headers: &'h dyn Headers, said: &Said<'_>) -> Result<Way<'h>, RpcError> {
    let (version, meta) = (headers.get(VERSION), said.meta()?);
    let known = |version: &str| SUPPORTED.contains(&version) && version != MODERN;
    let stated = meta.version.map(message::text);
    let handshake = match (&stated, version) {
        (Some(Some(stated)), _) => known(stated) && version.is_none_or(known),
        (Some(None), _) => false,
        (None, header) => {
            header.is_none_or(known) && !matches!(said.method(), "server/discover" | "subscriptions/listen")
        }
    };
    if !handshake {
        return stateless(headers, said, &meta).map(|()| Way::Stateless);
    }
    match (said.method(), headers.get(SESSION), said) {
        ("initialize", _, Said::Request(_)) => Ok(Way::Opening),
        (_, Some(session), _) => Ok(Way::Session(session)),
        (_, None, Said::Other(Incoming::Response(_))) => {
            Err(RpcError::invalid_request("an answer belongs to a session: send its `Mcp-Session-Id`"))
        }
        (_, None, _) if version.is_some() => Err(RpcError::invalid_request(
            "the header `Mcp-Session-Id` is missing: send `initialize` first, and then what it answered",
        )),
        (_, None, _) => Ok(Way::Plain),
    }
}

/// The rules of a self-contained message: it says what it speaks and what its client can, and its headers agree.
fn stateless(headers: &dyn Headers, said: &Said<'_>, meta: &Meta<'_>) -> Result<(), RpcError> {
    let header = headers.get(VERSION);
    let Said::Request(ask) = said else {
        return match header {
            Some(MODERN) | None => agree(METHOD, headers.get(METHOD), said.method()),
            Some(unknown) => Err(era::unsupported(unknown)),
        };
    };
    let stated = match meta.version {
        Some(raw) => message::text(raw).ok_or_else(|| era::missing("protocolVersion"))?,
        None => {
            return Err(match header {
                Some(unknown) if !SUPPORTED.contains(&unknown) => era::unsupported(unknown),
                _ => era::missing("protocolVersion"),
            });
        }
    };
    agree(VERSION, header, &stated)?;
    era::of(&ask.request.method, meta)?;
    agree(METHOD, headers.get(METHOD), &ask.request.method)?;
    ask.subject().map_or(Ok(()), |subject| agree(NAME, headers.get(NAME), &subject))
}

/// The status an answer travels under.
pub fn status(answer: &Answer) -> u16 {
    let Body::Error(error) = &answer.body else { return 200 };
    match (answer.era, error.code) {
        (_, UNAUTHENTICATED) => 401,
        (Era::Modern, METHOD_NOT_FOUND) => 404,
        (Era::Modern, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => 400,
        _ => 200,
    }
}

#[cfg(test)]
mod tests;
