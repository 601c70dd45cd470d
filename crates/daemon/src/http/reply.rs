//! How answers leave: the one mapping from refusals to statuses, errors as documents, everything redacted.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use covenant_gate::{CallError, Fault, Refusal};
use covenant_model::api::{ApiError, ErrorBody};
use covenant_model::redact::Redactor;
use http::StatusCode;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE,
};
use serde::Serialize;

/// What to do about a request that cannot be served as it is.
const CORRECT: &str = "correct the request; GET /api/v1/docs describes what it takes";

/// An answer that is not a success. It becomes text where it leaves, and is redacted there.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    action: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { status, code, message: message.into(), action: action.into(), headers: Vec::new() }
    }

    /// The request cannot be understood.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message, CORRECT)
    }

    /// The request can be understood and makes no sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message, CORRECT)
    }

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>, action: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, action)
    }

    /// A handler did not come to its end: it panicked, or we are stopping.
    pub(crate) fn broken(error: &tokio::task::JoinError) -> Self {
        tracing::error!(target: "covenant::http", "a request was not seen to its end: {error}");
        let message = "the daemon could not finish this request; its log has the reason";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "fault", message, "look at `covenant logs`, and try again")
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    fn render(self, redactor: &Redactor) -> Response {
        let hide = |text: &str| redactor.redact(text).into_owned();
        let error =
            ApiError { code: self.code.to_owned(), message: hide(&self.message), action: hide(&self.action) };
        let mut response =
            document(self.status, serde_json::to_vec(&ErrorBody { error }).unwrap_or_default());
        response.headers_mut().extend(self.headers);
        response
    }
}

/// Which status each refusal has. No wildcard: a new refusal is decided here.
fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unauthenticated => StatusCode::UNAUTHORIZED,
        Refusal::RateLimited { .. } | Refusal::OverBudget { .. } | Refusal::QueueFull { .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        Refusal::UnknownTool { .. } | Refusal::NotFound { .. } => StatusCode::NOT_FOUND,
        Refusal::NotGranted { .. }
        | Refusal::NotInManifest { .. }
        | Refusal::NotOperator { .. }
        | Refusal::NotAdmin { .. }
        | Refusal::ApprovalRejected { .. } => StatusCode::FORBIDDEN,
        Refusal::InvalidArguments { .. } | Refusal::ClientCannot { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::PendingApproval { .. } | Refusal::ApprovalsFull { .. } | Refusal::TooDeep { .. } => {
            StatusCode::CONFLICT
        }
        Refusal::TimedOut { .. } | Refusal::Cancelled { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// What to do about each refusal.
fn action(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unauthenticated => {
            "send `Authorization: Bearer TOKEN`; add a client with `covenant clients add NAME`".into()
        }
        Refusal::RateLimited { wait } => format!("try again in {} ms", wait.as_millis().max(1)),
        Refusal::OverBudget { wait, .. } => {
            format!(
                "try again in {} s, or raise `settlement.budget_credits_per_hour` of its manifest",
                wait.as_secs().max(1)
            )
        }
        Refusal::QueueFull { .. } => "see what waits with `covenant intents list`".into(),
        Refusal::UnknownTool { .. } => "see what there is with `covenant tools list`".into(),
        Refusal::NotFound { .. } => "list what there is".into(),
        Refusal::NotGranted { action, principal, .. } => {
            format!("covenant capabilities grant {action} --to {principal}")
        }
        Refusal::NotInManifest { action, .. } => {
            format!("name `{action}` in its manifest, and then: covenant agents reload")
        }
        Refusal::InvalidArguments { tool, .. } => {
            format!("see what it takes with `covenant tools show {tool}`")
        }
        Refusal::PendingApproval { id, .. } => {
            format!("a person decides with `covenant approvals show {id}`; call again after that")
        }
        Refusal::ApprovalRejected { .. } => "do something else, or talk to whoever decided".into(),
        Refusal::TooDeep { .. } => "call the tool itself".into(),
        Refusal::ApprovalsFull { .. } => "wait until some of them are decided".into(),
        Refusal::TimedOut { .. } => "ask for less, or try again".into(),
        Refusal::Cancelled { .. } => "try again".into(),
        Refusal::ClientCannot { .. } => "call it from an MCP client that can be asked".into(),
        Refusal::NotAdmin { .. } => "have an admin of the workspace do it, or the operator".into(),
        Refusal::NotOperator { .. } => "use the CLI as the owner of this home, without COVENANT_TOKEN".into(),
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let failure = Self::new(status(&refusal), refusal.code(), refusal.to_string(), action(&refusal));
        match refusal {
            Refusal::Unauthenticated => failure.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            Refusal::RateLimited { wait } | Refusal::OverBudget { wait, .. } => {
                let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
                failure.with(RETRY_AFTER, HeaderValue::from(seconds))
            }
            _ => failure,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        tracing::error!(target: "covenant", cause = fault.cause(), "{fault}");
        let action = "see the reason in `covenant logs`, and what is not ready in `covenant status`";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "fault", fault.to_string(), action)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => refusal.into(),
            CallError::Fault(fault) => fault.into(),
        }
    }
}

/// What a route without an upgrade is told.
pub(crate) fn upgrade_required() -> Failure {
    Failure::new(
        StatusCode::UPGRADE_REQUIRED,
        "upgrade_required",
        "this endpoint speaks MCP over an upgraded connection",
        "send `Connection: Upgrade` and `Upgrade: mcp`, or use `covenant --mcp`",
    )
    .with(UPGRADE, HeaderValue::from_static("mcp"))
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn action(&self) -> &str {
        &self.action
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.headers.iter().cloned()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The last step of every answer: failures become documents, and nothing is cached or guessed.
pub(crate) fn finish(mut response: Response, redactor: &Redactor) -> Response {
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        // Which methods there are, the router knows, and says it where a failure is none of its own.
        let allow = response.headers_mut().remove(ALLOW);
        response = failure.render(redactor);
        response.headers_mut().extend(allow.map(|methods| (ALLOW, methods)));
    }
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A JSON document without secrets.
pub(crate) fn json(redactor: &Redactor, value: &impl Serialize) -> Result<Response, Failure> {
    let text =
        serde_json::to_string(value).map_err(|error| Fault::new("the answer could not be written", error))?;
    let text = redactor.redact_json(&text).into_owned();
    Ok(document(StatusCode::OK, text.into_bytes()))
}

/// A JSON document that shows a new token, this once.
pub(crate) fn json_with_token(status: StatusCode, value: &impl Serialize) -> Result<Response, Failure> {
    let text =
        serde_json::to_vec(value).map_err(|error| Fault::new("the answer could not be written", error))?;
    Ok(document(status, text))
}

/// JSON that was redacted where it was made.
pub(crate) fn raw_json(text: String) -> Response {
    raw_json_with(StatusCode::OK, text)
}

/// The same, with another status.
pub(crate) fn raw_json_with(status: StatusCode, text: String) -> Response {
    document(status, text.into_bytes())
}

fn document(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;

    use super::*;

    async fn answer(failure: Failure, redactor: &Redactor) -> (Response<()>, ErrorBody) {
        let (parts, body) = finish(failure.into_response(), redactor).into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (Response::from_parts(parts, ()), serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_rate_limited_caller_is_told_when_to_come_back() {
        let refusal = Refusal::RateLimited { wait: Duration::from_millis(1100) };
        let (response, body) = answer(refusal.into(), &Redactor::none()).await;
        assert_eq!(
            (response.status(), &response.headers()[RETRY_AFTER]),
            (StatusCode::TOO_MANY_REQUESTS, &HeaderValue::from(2))
        );
        assert_eq!(
            (body.error.code.as_str(), body.error.action.as_str()),
            ("rate_limited", "try again in 1100 ms")
        );
    }

    #[tokio::test]
    async fn a_stranger_is_told_how_to_sign_in() {
        let (response, body) = answer(Refusal::Unauthenticated.into(), &Redactor::none()).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
        assert_eq!(body.error.code, "unauthenticated");
    }

    #[tokio::test]
    async fn what_a_caller_wrote_is_not_repeated_if_it_is_a_secret() {
        let redactor = Redactor::new([("KEY", "secret-value-1")]);
        let (_, body) = answer(Failure::malformed("what is secret-value-1?"), &redactor).await;
        assert_eq!(body.error.message, "what is [REDACTED:KEY]?");
    }
}
