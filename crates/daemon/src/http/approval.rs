//! The page a person is sent to who is to approve something: it says how, and nothing that a stranger should not read.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use covenant_model::id::ApprovalId;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use sha2::{Digest as _, Sha256};

use super::document::Segment;
use super::reply::Failure;

/// Where these pages lie; an id follows.
pub(crate) const PLACE: &str = "/approvals/";

/// The page's own style; its policy knows it by its hash.
const STYLE: &str = "\
:root { color-scheme: light dark; }
body { margin: 3rem auto; padding: 0 1rem; max-width: 42rem; font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
pre { padding: .75rem 1rem; overflow-x: auto; border: 1px solid; border-radius: .4rem; font: .95rem/1.5 ui-monospace, monospace; }
";

/// What the page may load: its own style, and nothing else from anywhere.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
});

/// The page. It is the same whether there is such an entry or not, and whoever asks: only the operator is told more, by
/// the commands it names.
pub(crate) async fn page(Segment(id): Segment) -> Result<Response, Failure> {
    let id = ApprovalId::try_from(id).map_err(|error| Failure::malformed(error.to_string()))?;
    let mut response = Response::new(Body::from(render(&id)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// An id is letters, digits and `_`: it needs no escaping.
fn render(id: &ApprovalId) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Approval {id} · Covenant</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Waiting for you</h1>\n\
         <p>An agent wants to do something that a person must approve: <code>{id}</code>.</p>\n\
         <p>Look at all of it, where Covenant runs and as the user it runs for:</p>\n\
         <pre>covenant approvals show {id}</pre>\n\
         <p>Then decide, if it waits still:</p>\n\
         <pre>covenant approvals approve {id}\ncovenant approvals reject {id} --reason \"…\"</pre>\n\
         <p>Who asked hears of it, or asks again.</p>\n</body>\n</html>\n"
    )
}
