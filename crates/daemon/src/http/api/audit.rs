//! The log as the operator reads it: the newest rows, new ones as they come, all of it for an auditor. Rows leave as
//! they were written, byte for byte: they were redacted before, and their hashes cover every byte.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use covenant_gate::Fault;
use covenant_gate::audit::read::Filter;
use covenant_gate::audit::reading::Rows;
use covenant_model::api::PruneBody;
use covenant_model::audit::Kind;
use covenant_model::time::Timestamp;
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::super::auth::Admin;
use super::super::document::{Asked, Document};
use super::super::reply::{self, Failure};
use crate::daemon::Daemon;
use crate::follower;

/// The most rows one answer holds.
const MOST: usize = 100_000;

/// How many rows the pieces of a stream have at most.
const PIECE: u32 = 256;

/// Which rows are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recent {
    #[serde(default = "few")]
    limit: usize,
    since: Option<Timestamp>,
    agent_id: Option<String>,
}

fn few() -> usize {
    50
}

/// The newest rows, newest last.
pub(crate) async fn recent(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Asked(Recent { limit, since, agent_id }): Asked<Recent>,
) -> Result<Response, Failure> {
    if limit > MOST {
        return Err(Failure::invalid(format!(
            "`limit` is at most {MOST}; `covenant audit export` gives everything"
        )));
    }
    let rows = daemon.gate.audit().recent(Filter { limit, since, agent_id }).await?;
    let mut text = rows.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(lines(Body::from(text)))
}

/// Where to begin.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    from: Option<u64>,
}

/// Rows as they are written, until the reader goes or the daemon stops.
pub(crate) async fn watch(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Asked(Watch { from }): Asked<Watch>,
) -> Response {
    let news = daemon.gate.audit().subscribe();
    let from = from.unwrap_or_else(|| news.borrow().saturating_add(1));
    let rows = daemon.gate.audit().rows(from);
    let watching = Watching { rows, news, stop: daemon.stop.closing.clone() };
    lines(Body::from_stream(stream::unfold(Some(watching), async |watching| watching?.next().await)))
}

struct Watching {
    rows: Rows,
    news: watch::Receiver<u64>,
    stop: CancellationToken,
}

impl Watching {
    /// The rows there are, or those that come next. After an error there are none.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        loop {
            // Marked before the look: what comes during it is looked for again.
            self.news.mark_unchanged();
            let rows = match self.rows.next(PIECE).await {
                Ok((rest, rows)) => {
                    self.rows = rest;
                    rows
                }
                Err(fault) => return Some((Err(io::Error::other(fault)), None)),
            };
            if !rows.is_empty() {
                return Some((Ok(Bytes::from(rows.join("\n") + "\n")), Some(self)));
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                changed = self.news.changed() => changed.ok()?,
            }
        }
    }
}

/// Everything up to a checkpoint taken now, which is its last line. An export that fails half-way breaks the connection:
/// a reader must not take a part for the whole.
pub(crate) async fn export(State(daemon): State<Arc<Daemon>>, _admin: Admin) -> Result<Response, Failure> {
    let pieces = daemon.gate.audit().export().await?;
    let pieces = stream::unfold(pieces, async |mut pieces| Some((pieces.recv().await?, pieces)));
    Ok(lines(Body::from_stream(pieces)))
}

/// A checkpoint taken now, to be kept elsewhere.
pub(crate) async fn head(State(daemon): State<Arc<Daemon>>, _admin: Admin) -> Result<Response, Failure> {
    let checkpoint = daemon.gate.audit().checkpoint().await?;
    Ok(reply::raw_json(serde_json::to_string(&checkpoint).map_err(|error| unread(&error))?))
}

/// Removes old rows: from files in whole segments.
pub(crate) async fn prune(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Document(PruneBody { before }): Document<PruneBody>,
) -> Result<Response, Failure> {
    if before > daemon.clock.now() {
        return Err(Failure::invalid(
            "rows that are not written yet cannot be removed: name a moment that has passed",
        ));
    }
    // The row comes after the cut, or the segment it stands in could never be cut. The cut itself leaves a row too.
    let pruned = follower::prune(&daemon, before).await?;
    let reason = format!("{} rows before {before} were removed", pruned.rows);
    daemon.gate.record(&operator, Kind::LogPruned, "audit", Some(&reason)).await?;
    reply::json(&daemon.gate.redactor(), &pruned)
}

fn lines(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

fn unread(error: &dyn std::fmt::Display) -> Failure {
    Fault::new("the audit log could not be read", error).into()
}
