//! Tools: the catalogue as the caller may see it, and calls, which take the same path as those of MCP.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use covenant_gate::context::Trace;
use covenant_gate::operator::Peer;
use covenant_gate::{CallError, CallRequest, Caller, Context, Refusal};
use covenant_model::api::CallBody;
use covenant_tools::Absent;
use http::{HeaderMap, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::auth::Who;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::super::serve::HungUp;
use super::list::{self, Part};
use crate::daemon::Daemon;

/// The most characters of a search.
const LONGEST: usize = 256;

/// Which tools are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default = "list::most")]
    limit: usize,
    after: Option<String>,
    #[serde(default)]
    all: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    tools: Vec<&'a Arc<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

/// What the operator is told beside the list, if they want to know.
#[derive(Serialize)]
struct Meta {
    absent: Vec<Absent>,
}

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
}

/// A `tools/list` result: everything for the operator, what they may call for anyone else.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    uri: Uri,
    Asked(Wanted { q, limit, after, all }): Asked<Wanted>,
) -> Result<Response, Failure> {
    if q.chars().count() > LONGEST {
        return Err(Failure::invalid(format!("`q` is at most {LONGEST} characters")));
    }
    let words: Vec<String> = q.split_whitespace().map(str::to_lowercase).collect();
    let found: Vec<(String, Arc<RawValue>)> = visible(&daemon, &caller)?
        .into_iter()
        .filter_map(|spec| Some((place(&words, spec.get())?, spec)))
        .collect();
    let operator = daemon.gate.operator(&caller, Peer::default()).is_ok();
    let meta = (all && operator).then(|| Meta { absent: daemon.toolbox.absent() });
    let cut = Part { limit, after }.of(found, |(place, _)| place.clone())?;
    let tools = cut.items.iter().map(|(_, spec)| spec).collect();
    cut.answer(&daemon.gate.redactor(), &uri, &List { tools, next_cursor: cut.next.as_deref(), meta })
}

/// Where a tool stands among those found: by name, and those that have a word in it first. `None` without all words.
fn place(words: &[String], spec: &str) -> Option<String> {
    let Told { name, description } = serde_json::from_str(spec).ok()?;
    let (low, told) = (name.to_lowercase(), description.unwrap_or_default().to_lowercase());
    if !words.iter().all(|word| low.contains(word) || told.contains(word)) {
        return None;
    }
    let rank = u8::from(!words.is_empty() && !words.iter().any(|word| low.contains(word)));
    Some(format!("{rank}~{name}"))
}

/// The name in a spec.
pub(super) fn name(spec: &str) -> Option<String> {
    serde_json::from_str::<Told<'_>>(spec).ok().map(|told| told.name.into_owned())
}

/// One tool of that list.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let is_it = |spec: &Arc<RawValue>| {
        serde_json::from_str::<Told<'_>>(spec.get()).is_ok_and(|told| told.name == name)
    };
    match visible(&daemon, &caller)?.into_iter().find(is_it) {
        Some(spec) => reply::json(&daemon.gate.redactor(), &spec),
        None => Err(unknown(&daemon, &caller, &name)),
    }
}

/// What is said of a tool that is not there. The operator hears why, where it could be.
fn unknown(daemon: &Daemon, caller: &Caller, name: &str) -> Failure {
    let operator = daemon.gate.operator(caller, Peer::default()).is_ok();
    match daemon.toolbox.why_absent(name).filter(|_| operator) {
        Some(reason) => Failure::new(
            StatusCode::NOT_FOUND,
            "unknown_tool",
            format!("the tool `{name}` is not there: {reason}"),
            "do that, and then: covenant reload",
        ),
        None => Refusal::UnknownTool { name: daemon.gate.redactor().shown(name, 64) }.into(),
    }
}

fn visible(daemon: &Daemon, caller: &Caller) -> Result<Vec<Arc<RawValue>>, Failure> {
    // Looking is not an act: nothing is recorded, so nobody needs to know from where.
    if let Ok(operator) = daemon.gate.operator(caller, Peer::default()) {
        return Ok(daemon.gate.catalogue(&operator));
    }
    let admitted = daemon.gate.admit(caller)?;
    Ok(daemon.gate.tools(&admitted))
}

/// Calls a tool and answers its result.
pub(crate) async fn call(
    State(daemon): State<Arc<Daemon>>,
    Who(caller): Who,
    Segment(name): Segment,
    // A caller who hangs up takes the call back.
    Extension(HungUp(cancel)): Extension<HungUp>,
    headers: HeaderMap,
    Document(CallBody { arguments }): Document<CallBody>,
) -> Result<Response, Failure> {
    let admitted = daemon.gate.admit(&caller)?;
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let context = Context::new(cancel).traced(traceparent.and_then(Trace::from_traceparent));
    let request = CallRequest { name: name.clone(), arguments };
    let result = daemon.gate.call(admitted, request, context).await.map_err(|error| match error {
        CallError::Refused(Refusal::UnknownTool { .. }) => unknown(&daemon, &caller, &name),
        other => other.into(),
    })?;
    Ok(reply::raw_json(result.json().get().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_search_wants_all_words_and_puts_names_first() {
        let spec = r#"{"name":"Echo","description":"Says it verbatim.","inputSchema":{}}"#;
        let found = |words: &[&str]| place(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), spec);
        assert_eq!(found(&[]).as_deref(), Some("0~Echo"));
        assert_eq!(found(&["echo", "verbatim"]).as_deref(), Some("0~Echo"));
        assert_eq!(found(&["verbatim"]).as_deref(), Some("1~Echo"));
        assert_eq!(found(&["echo", "never"]), None);
    }
}
