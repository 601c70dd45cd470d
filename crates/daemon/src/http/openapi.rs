//! What the API says of itself: the OpenAPI document, and a page for people made from it. Both are open to anyone who
//! may ask at all: they hold nothing that the program's source does not.

mod page;

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::reply::{self, Failure};
use crate::daemon::Daemon;

const TEXT: &str = include_str!("openapi.json");

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());

/// What the page may load: its own style, known by its hash, and nothing else from anywhere.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(page::STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
});

/// The document.
pub(crate) async fn document() -> Response {
    reply::raw_json(TEXT.to_owned())
}

/// The page.
pub(crate) async fn docs(State(daemon): State<Arc<Daemon>>) -> Response {
    let origin = daemon.config().http.origin(daemon.listen.first());
    let mut response = Response::new(Body::from(page::render(&DOCUMENT, &origin)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Refuses a query parameter that the document does not describe: a misspelt one would be no limit at all.
pub(crate) fn check_query(path: &str, request: &Request) -> Result<(), Failure> {
    if request.uri().query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Ok(Query(asked)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) else {
        return Err(Failure::malformed("the query cannot be read"));
    };
    let method =
        if request.method() == Method::HEAD { "get" } else { &request.method().as_str().to_lowercase() };
    let operation = DOCUMENT.get("paths").and_then(|paths| paths.get(path)?.get(method));
    let known: Vec<&str> = operation.into_iter().flat_map(|it| parameters(&DOCUMENT, it, "query")).collect();
    match asked.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, _)) => {
            let name: String = name.chars().take(64).collect();
            let takes =
                if known.is_empty() { "none".to_owned() } else { format!("`{}`", known.join("`, `")) };
            Err(Failure::malformed(format!("there is no query parameter `{name}` here; it takes {takes}")))
        }
    }
}

/// The names of an operation's parameters of one kind.
fn parameters<'d>(document: &'d Value, operation: &'d Value, kind: &str) -> Vec<&'d str> {
    let all = list(operation, "parameters").map(|parameter| resolve(document, parameter));
    all.filter(|parameter| text(parameter, "in") == kind).map(|parameter| text(parameter, "name")).collect()
}

/// What a `$ref` within the document leads to; anything else is itself.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let place = value.get("$ref").and_then(|place| place.as_str()?.strip_prefix('#'));
    place.and_then(|place| document.pointer(place)).unwrap_or(value)
}

fn text<'d>(value: &'d Value, name: &str) -> &'d str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'d>(value: &'d Value, name: &str) -> impl Iterator<Item = &'d Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn members<'d>(value: &'d Value, name: &str) -> impl Iterator<Item = (&'d str, &'d Value)> {
    let found = value.get(name).and_then(Value::as_object).into_iter().flatten();
    found.map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
pub(crate) use tests::described;

#[cfg(test)]
mod tests;
