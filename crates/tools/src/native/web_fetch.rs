//! `web_fetch`: a page of the public Internet, as text that can be read.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool, Veil};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Absent, Parts, named, whole};
use crate::page::{self, Kind, Page, Reading, Shown};
use crate::ports::{Reach, Request, Response, Web};

/// How many characters are shown where the caller does not say, and the most it can say.
const USUAL: usize = 50_000;
const MOST: usize = 1_000_000;

/// The longest address.
const LONGEST: usize = 4096;

/// How long a page may take to arrive, and by how many redirects.
const WITHIN: Duration = Duration::from_secs(30);
const REDIRECTS: u8 = 5;

/// What is asked for: text, and of texts rather those that are easy to read.
const WANTED: &str = "text/html,application/xhtml+xml;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,application/json;q=0.8,*/*;q=0.5";

struct WebFetch {
    web: Arc<dyn Web>,
}

#[expect(clippy::unnecessary_wraps, reason = "every tool is made alike, and some can be absent")]
pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(WebFetch { web: Arc::clone(&parts.web) }))
}

impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST,
                    "description": "The address of the page, which begins with http:// or https://",
                },
                "max_length": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST,
                    "default": USUAL,
                    "description": "The most characters of text to return; the rest is cut",
                },
                "raw": {
                    "type": "boolean",
                    "default": false,
                    "description": "Return the source of the page instead of readable Markdown",
                },
            },
            "required": ["url"],
            "additionalProperties": false,
        });
        let description = "Fetches a web page and returns its content as Markdown.";
        let hints = json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true,
        });
        ToolSpec::new(named("web_fetch"), description, schema).with("annotations", hints)
    }

    fn limit(&self) -> Duration {
        WITHIN * 2
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let ended = context.cancelled().child_token();
            // Also where the call is dropped without being cancelled.
            let _guard = ended.clone().drop_guard();
            let fetched = fetch(&*self.web, arguments.as_map(), context.veil(), ended).await;
            RawOutput::from(fetched.map_or_else(ToolCallResult::error, ToolCallResult::text))
        })
    }
}

/// Fetches what the arguments say; otherwise says in a sentence why not.
async fn fetch(
    web: &dyn Web,
    arguments: &Map<String, Value>,
    veil: Veil,
    ended: CancellationToken,
) -> Result<String, String> {
    let url = address(arguments.get("url").and_then(Value::as_str).unwrap_or_default())?;
    let most = arguments.get("max_length").and_then(whole).and_then(|most| usize::try_from(most).ok());
    let most = most.unwrap_or(USUAL).min(MOST);
    let raw = arguments.get("raw").and_then(Value::as_bool).unwrap_or(false);
    let shown = if raw { Shown::Source } else { Shown::Readable };
    let response = web.send(request(url)).await?;
    // A long page takes a while to read, and nobody else should wait for it.
    let read = tokio::task::spawn_blocking(move || {
        let going = || !ended.is_cancelled();
        // No letter has more than four bytes.
        let bytes = most.saturating_mul(4);
        let reading = Reading { base: &response.url, shown, most: bytes, veil: &veil, going: &going };
        told(&response, &reading, most)
    })
    .await;
    read.map_err(|_| "the page could not be read; ask for it with \"raw\": true".to_owned())?
}

/// The address that is written there.
fn address(written: &str) -> Result<Url, String> {
    let scheme = "`url` must begin with http:// or https://, such as \"https://example.org/\"";
    let url = Url::parse(written).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => scheme.to_owned(),
        error => format!("`url` is no address: {error}"),
    })?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err(scheme.to_owned()) }
}

fn request(url: Url) -> Request {
    let mut request = Request::get(url);
    request.headers.insert(ACCEPT, HeaderValue::from_static(WANTED));
    Request { reach: Reach::Public, redirects: REDIRECTS, most: page::MOST_BYTES, within: WITHIN, ..request }
}

/// What is told of an answer: so many characters of it.
fn told(response: &Response, reading: &Reading<'_>, most: usize) -> Result<String, String> {
    let host = response.url.host_str().unwrap_or("the server");
    if response.status != 200 {
        return Err(format!("{host} answered {}", status(response.status)));
    }
    let written = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = Kind::of(written, &response.body).map_err(|refused| format!("{host} sent {refused}"))?;
    let page = page::read(&response.body, &kind, reading);
    Ok(sheet(&page, response, most))
}

fn status(status: u16) -> String {
    let known = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    known.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// The page below what it is and where it is from. It has lost its secrets before it is cut here.
fn sheet(page: &Page, response: &Response, most: usize) -> String {
    let mut sheet = String::new();
    if let Some(title) = &page.title {
        let _ = writeln!(sheet, "Title: {title}");
    }
    let _ = writeln!(sheet, "URL: {}", response.url);
    if let Some(remark) = &page.remark {
        let _ = writeln!(sheet, "Note: {remark}");
    }
    let end = page.text.char_indices().nth(most).map(|(end, _)| end);
    let text = end.and_then(|end| page.text.get(..end)).unwrap_or(&page.text);
    let _ = write!(sheet, "\n{text}");
    if end.is_some() || page.cut || response.cut {
        sheet.push_str("\n\n[Content truncated]");
    }
    sheet
}

#[cfg(test)]
mod tests;
