//! Scripts: which there are, whether each may run, and its whole text. They are approved like everything that waits.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::{Content, Fault, Standing};
use covenant_model::api::{ScriptEntry, ScriptShown};
use covenant_tools::script::allowance::status;
use covenant_tools::script::shelf::{NoScript, Script, Shelf};
use http::{StatusCode, Uri};

use super::super::auth::Admin;
use super::super::document::{Asked, Segment};
use super::super::reply::{self, Failure};
use super::list::Part;
use crate::daemon::Daemon;

/// All of them, by name.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    let all = on_shelf(&daemon, Shelf::all).await?;
    let all = all.map_err(|reason| unreadable(&reason))?;
    let mut entries = Vec::with_capacity(all.len());
    for script in all {
        entries.push(match script {
            Ok(script) => entry(&daemon, &script).await?,
            Err(reason) => unusable(&reason),
        });
    }
    let cut = part.of(entries, |entry| entry.name.clone())?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// One whole.
pub(crate) async fn show(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let shown = match on_shelf(&daemon, move |shelf| shelf.read(&name)).await? {
        Ok(script) => ScriptShown { script: entry(&daemon, &script).await?, text: Some(script.text) },
        Err(missing @ NoScript::Missing(_)) => {
            return Err(Failure::not_found(missing.to_string(), "see what there is: covenant scripts list"));
        }
        Err(reason) => ScriptShown { script: unusable(&reason), text: None },
    };
    reply::json(&daemon.gate.redactor(), &shown)
}

/// The operator hears why: they alone can mend it.
fn unreadable(reason: &str) -> Failure {
    let (what, remedy) = reason.split_once("; ").unwrap_or((reason, "see the log: covenant logs"));
    let message = format!("the scripts cannot be read: {what}");
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "fault", message, remedy)
}

async fn on_shelf<T: Send + 'static>(
    daemon: &Daemon,
    look: impl FnOnce(&Shelf) -> T + Send + 'static,
) -> Result<T, Failure> {
    let shelf = Shelf::new(&daemon.config().scripts.place(&daemon.home, &*daemon.environment));
    let stopped = |error| Failure::from(Fault::new("the daemon is stopping", error));
    tokio::task::spawn_blocking(move || look(&shelf)).await.map_err(stopped)
}

async fn entry(daemon: &Daemon, script: &Script) -> Result<ScriptEntry, Failure> {
    let header = script.header();
    let written = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut entry = ScriptEntry {
        name: script.name.clone(),
        description: header.description,
        author: written(header.author),
        version: written(header.version),
        secrets: header.secrets,
        sha256: Some(script.sha256()),
        ..ScriptEntry::default()
    };
    let allowance = daemon.toolbox.allowance(script);
    if allowance.is_given() {
        entry.allowlist = allowance.as_str().map(str::to_owned);
        "approved".clone_into(&mut entry.status);
        return Ok(entry);
    }
    let known = daemon.gate.known_standing(Content { name: &script.file(), text: &script.text }).await?;
    status(known.as_ref()).clone_into(&mut entry.status);
    match known {
        Some(Standing::Pending(id) | Standing::Modified(id)) => entry.approval_id = Some(id),
        Some(Standing::Rejected { id, reason }) => (entry.approval_id, entry.reason) = (Some(id), reason),
        Some(Standing::Approved | Standing::Full { .. }) | None => {}
    }
    Ok(entry)
}

fn unusable(reason: &NoScript) -> ScriptEntry {
    let (NoScript::Missing(name) | NoScript::Unfit { name, .. }) = reason;
    ScriptEntry {
        name: name.clone(),
        status: "unusable".to_owned(),
        reason: Some(reason.to_string()),
        ..ScriptEntry::default()
    }
}
