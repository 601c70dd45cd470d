//! What waits for a person: listed, shown whole, decided, and told as it comes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use covenant_gate::Operator;
use covenant_gate::approval::{DecideError, NewVerdict};
use covenant_model::approval::{Approval, ApprovalKind, ApprovalStatus, ApproveBody, RejectBody};
use covenant_model::id::ApprovalId;
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::watch;

use super::super::auth::Admin;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::{Part, most};
use crate::daemon::Daemon;

/// How often somebody who watches hears of what another daemon on the same database was asked.
const LOOK: Duration = Duration::from_secs(1);

/// The most characters of a reason.
const LONGEST: usize = 1000;

/// Which entries are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
    #[serde(default)]
    decided: bool,
}

/// What waits, oldest first; with `decided` also what does not wait any more.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    uri: Uri,
    Asked(Wanted { limit, after, decided }): Asked<Wanted>,
) -> Result<Response, Failure> {
    let entries = daemon.gate.approvals(&operator, decided).await?;
    let cut = Part { limit, after }.of(entries, |entry| format!("{}~{}", entry.requested_at, entry.id))?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// One entry whole.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(id): Segment,
) -> Result<Response, Failure> {
    let id = read(id)?;
    let shown = daemon.gate.approval(&operator, &id).await?.ok_or_else(|| missing(&id))?;
    reply::json(&daemon.gate.redactor(), &shown)
}

/// Lets it be.
pub(crate) async fn approve(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(id): Segment,
    Document(ApproveBody { sha256, revise }): Document<ApproveBody>,
) -> Result<Response, Failure> {
    decide(&daemon, &operator, id, NewVerdict { approve: true, sha256, reason: None, revise }).await
}

/// Does not.
pub(crate) async fn reject(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(id): Segment,
    Document(RejectBody { reason, revise }): Document<RejectBody>,
) -> Result<Response, Failure> {
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST) {
        return Err(Failure::invalid(format!("`reason` is longer than {LONGEST} characters")));
    }
    if reason.as_ref().is_some_and(|reason| reason.contains(char::is_control)) {
        return Err(Failure::invalid("`reason` has a control character; write it in one line"));
    }
    decide(&daemon, &operator, id, NewVerdict { approve: false, sha256: None, reason, revise }).await
}

async fn decide(
    daemon: &Daemon,
    operator: &Operator,
    id: String,
    verdict: NewVerdict,
) -> Result<Response, Failure> {
    let id = read(id)?;
    let approve = verdict.approve;
    let decided = daemon.gate.give_verdict(operator, &id, verdict).await.map_err(|error| match error {
        DecideError::Missing { .. } => missing(&id),
        DecideError::Already(ref entry) => {
            let action = after_decision(entry, approve);
            Failure::new(StatusCode::CONFLICT, "decided", error.to_string(), action)
        }
        DecideError::NoHash { .. } => Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
            error.to_string(),
            format!("covenant approvals show {id}"),
        ),
        DecideError::Other { .. } => {
            let action = format!("covenant approvals show {id}");
            Failure::new(StatusCode::CONFLICT, "other_content", error.to_string(), action)
        }
        DecideError::Fault(fault) => fault.into(),
    })?;
    reply::json(&daemon.gate.redactor(), &decided)
}

/// What can still be done about an entry that was decided. A word about a text can be changed into the other one; a word
/// about a call cannot.
fn after_decision(entry: &Approval, approve: bool) -> String {
    let Approval { id, kind, status, expires_at, .. } = entry;
    match (kind, status) {
        (ApprovalKind::Call, ApprovalStatus::Approved) => {
            format!("the same call passes once, until {expires_at}; to stop it, revoke its grant")
        }
        (ApprovalKind::Call, ApprovalStatus::Rejected) => {
            format!("the same call is refused until {expires_at}, and can be asked again after that")
        }
        (_, ApprovalStatus::Approved) if !approve => {
            format!("to change that: covenant approvals reject {id} --revise")
        }
        (_, ApprovalStatus::Rejected) if approve => {
            format!("to change that: covenant approvals approve {id} --revise")
        }
        (_, ApprovalStatus::Approved | ApprovalStatus::Rejected) => "nothing is left to do".to_owned(),
        _ => "it can only be asked again: make the call, or run the script, once more".to_owned(),
    }
}

/// What waits now and whatever comes or is decided, one per line, until the reader goes or the daemon stops.
pub(crate) async fn watch(State(daemon): State<Arc<Daemon>>, Admin(operator): Admin) -> Response {
    let news = daemon.gate.approvals_changed();
    let watching = Watching { daemon, operator, news, told: BTreeMap::new() };
    let body = stream::unfold(Some(watching), async |watching| watching?.next().await);
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

struct Watching {
    daemon: Arc<Daemon>,
    operator: Operator,
    news: watch::Receiver<u64>,
    told: BTreeMap<ApprovalId, ApprovalStatus>,
}

impl Watching {
    /// The entries that are other than was told. After an error there are none.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        loop {
            // Marked before the look: what comes during it is looked for again.
            self.news.mark_unchanged();
            match self.changed().await {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Some((Ok(Bytes::from(lines)), Some(self))),
                Err(reason) => return Some((Err(io::Error::other(reason)), None)),
            }
            tokio::select! {
                () = self.daemon.stop.closing.cancelled() => return None,
                changed = self.news.changed() => changed.ok()?,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn changed(&mut self) -> Result<String, String> {
        let gate = &self.daemon.gate;
        let entries = gate.approvals(&self.operator, !self.told.is_empty()).await;
        let entries = entries.map_err(|fault| fault.to_string())?;
        let mut lines = String::new();
        let mut seen = BTreeMap::new();
        for entry in entries {
            let before = self.told.get(&entry.id);
            if before.is_none() && !entry.status.waits() {
                continue;
            }
            if before != Some(&entry.status) {
                let line = serde_json::to_string(&entry).map_err(|error| error.to_string())?;
                lines.push_str(&gate.redactor().redact_json(&line));
                lines.push('\n');
            }
            seen.insert(entry.id, entry.status);
        }
        self.told = seen;
        Ok(lines)
    }
}

fn read(id: String) -> Result<ApprovalId, Failure> {
    ApprovalId::try_from(id).map_err(|error| Failure::malformed(error.to_string()))
}

fn missing(id: &ApprovalId) -> Failure {
    let message = format!("there is no approval {id}");
    Failure::not_found(message, "see what waits with `covenant approvals list`")
}
