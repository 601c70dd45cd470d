//! Memory: what agents and clients remember, for the operator to look through.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::Fault;
use covenant_model::redact::Redactor;
use covenant_tools::recall::Recall;
use http::Uri;
use serde::Deserialize;

use super::super::auth::Admin;
use super::super::document::Asked;
use super::super::reply::Failure;
use super::list::{self, Cut, Part};
use crate::daemon::Daemon;

/// The most characters of a search.
const LONGEST: usize = 1000;

/// What is looked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default = "list::most")]
    limit: usize,
    after: Option<String>,
}

/// The notes that fit, best first; those that were written last, where no words are given.
pub(crate) async fn search(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(Wanted { q, limit, after }): Asked<Wanted>,
) -> Result<Response, Failure> {
    if q.chars().count() > LONGEST {
        return Err(Failure::invalid(format!("`q` is at most {LONGEST} characters")));
    }
    answer(&daemon, &uri, Part { limit, after }, q).await
}

/// The notes that were written last, newest first.
pub(crate) async fn recent(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    answer(&daemon, &uri, part, String::new()).await
}

async fn answer(daemon: &Daemon, uri: &Uri, part: Part, words: String) -> Result<Response, Failure> {
    let recall = Arc::clone(&daemon.recall);
    let stopped = |error| Failure::from(Fault::new("the daemon is stopping", error));
    let redactor = daemon.gate.redactor();
    let clean = Arc::clone(&redactor);
    let found = tokio::task::spawn_blocking(move || found(&recall, &part, &words, &clean));
    let (cut, said) = found.await.map_err(stopped)??;
    cut.answer(&redactor, uri, &said)
}

/// A part of what is found. Only the notes of that part are read.
fn found(
    recall: &Recall,
    part: &Part,
    words: &str,
    redactor: &Redactor,
) -> Result<(Cut<()>, Vec<covenant_model::api::MemoryEntry>), Failure> {
    let unread = |error: String| Failure::from(Fault::new("the memory could not be searched", error));
    let hits = recall.search(words, list::most()).map_err(unread)?;
    let placed = (0_u32..).zip(hits).collect();
    let Cut { items, next } = part.of(placed, |(place, _)| format!("{place:04}"))?;
    let hits = items.into_iter().map(|(_, hit)| hit).collect();
    let said = recall.said(hits, redactor).map_err(unread)?;
    Ok((Cut { items: Vec::new(), next }, said))
}
