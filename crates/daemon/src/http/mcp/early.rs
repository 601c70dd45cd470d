//! Answers that end the matter before a session has seen it: a status, and an error the protocol's way.

use axum::response::Response;
use covenant_gate::{Fault, Refusal};
use covenant_mcp::message::Id;
use covenant_mcp::reply::{INTERNAL_ERROR, RpcError, encode_error};
use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue};

use crate::http::reply::Failure;

/// An answer that ends the matter early.
pub(super) struct Early {
    status: StatusCode,
    id: Option<Id>,
    error: RpcError,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Early {
    /// That status, and that error for the request of that id.
    pub(super) fn new(status: StatusCode, id: Option<&Id>, error: RpcError) -> Self {
        Self { status, id: id.cloned(), error, headers: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Nobody we know, or someone who asks too often.
    pub(super) fn refused(id: Option<&Id>, refusal: Refusal) -> Self {
        let failure = Failure::from(refusal.clone());
        let headers = failure.headers().collect();
        Self { status: failure.status(), id: id.cloned(), error: refusal.into(), headers }
    }

    /// Something broke.
    pub(super) fn broken(id: Option<&Id>, fault: &Fault) -> Self {
        tracing::error!(target: "mcp", cause = fault.cause(), "a session could not be kept: {fault}");
        let error = RpcError::new(INTERNAL_ERROR, fault.to_string());
        Self::new(StatusCode::SERVICE_UNAVAILABLE, id, error)
    }

    /// In none of the forms we could answer in.
    pub(super) fn not_acceptable(id: Option<&Id>) -> Self {
        let error = RpcError::invalid_request("send `Accept: application/json, text/event-stream`");
        Self::new(StatusCode::NOT_ACCEPTABLE, id, error)
    }

    /// A method that is for nobody.
    pub(super) fn no_method() -> Self {
        let error = RpcError::invalid_request("send messages by POST; GET and DELETE are for sessions");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, None, error).with(ALLOW, "GET, POST, DELETE")
    }

    /// A method that is for sessions, without one.
    pub(super) fn sessions_only() -> Self {
        let error = RpcError::invalid_request("this is for sessions only: send `Mcp-Session-Id`, or POST");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, None, error).with(ALLOW, "POST")
    }

    /// No session of this caller.
    pub(super) fn no_session(id: Option<&Id>) -> Self {
        let error = RpcError::invalid_request("there is no such session: send `initialize` to begin one");
        Self::new(StatusCode::NOT_FOUND, id, error)
    }

    /// What is said of it.
    pub(super) fn error(&self) -> &RpcError {
        &self.error
    }

    /// The answer.
    pub(super) fn response(self) -> Response {
        let mut body = Vec::new();
        encode_error(self.id.as_ref(), &self.error, &mut body);
        let mut response = json(self.status, body);
        response.headers_mut().extend(self.headers);
        response
    }
}

/// A body that could not be read.
impl From<Failure> for Early {
    fn from(failure: Failure) -> Self {
        let error = RpcError::invalid_request(format_args!("{}; {}", failure.message(), failure.action()));
        let headers = failure.headers().collect();
        Self { status: failure.status(), id: None, error, headers }
    }
}

/// A JSON document.
pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
