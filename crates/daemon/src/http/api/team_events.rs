//! What happened in teams, that calls were made, and what agents were told: newest first, of the caller's own team.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_model::api::TeamEvent;
use covenant_model::id::EventId;
use covenant_model::time::Timestamp;
use covenant_store::EventsWanted;
use covenant_team::event::Log;
use covenant_team::rules::privacy::PRIVATE;
use http::Uri;
use serde::Deserialize;
use serde_json::Map;

use super::super::auth::ForTeam;
use super::super::document::Asked;
use super::super::reply::Failure;
use super::list::{Cut, bounded, most};
use crate::daemon::Daemon;

/// Which events are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
}

/// Those events. The operator sees those of every team, and of nobody we know; others those of their own.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    uri: Uri,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Failure> {
    let limit = bounded(wanted.limit)?;
    let kind = wanted.kind.as_deref().unwrap_or("work");
    let log = Log::ALL.into_iter().find(|log| log.as_str() == kind);
    let log = log.ok_or_else(|| Failure::invalid("`kind` is none of work, usage and feedback"))?;
    let after = wanted.after.as_deref().map(place).transpose()?;
    let workspace = steward.own().map(|own| own.workspace.clone());
    let asked = EventsWanted { log, workspace, developer: None, after, limit: limit.saturating_add(1) };
    let mut events = daemon.store.team_events(asked).await?;
    let more = events.len() > limit;
    events.truncate(limit);
    let next = events.last().filter(|_| more).map(|event| format!("{}~{}", event.at.millis(), event.id));
    let own = steward.own().map(|own| own.handle.as_str());
    let items: Vec<TeamEvent> = events
        .into_iter()
        .map(|event| {
            let hidden = event.private && own.is_some() && own != event.developer.as_deref();
            // What they call their agents, machines and tokens tells who they are; what they work on is the team's.
            let personal = hidden && is_personal(&event.event);
            // What they were told was written for them alone, and calls them by their handle.
            let silent = personal || (hidden && log == Log::Feedback);
            TeamEvent {
                id: event.id,
                event: event.event,
                developer: if hidden { Some(PRIVATE.to_owned()) } else { event.developer },
                session_id: event.session_id.filter(|_| !hidden),
                subject_id: event.subject_id.filter(|_| !personal),
                status: event.status,
                payload_json: if silent { Map::new() } else { event.payload },
                at: event.at,
            }
        })
        .collect();
    let cut = Cut { items, next };
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// Whether an event is about a session or a token, and not about work.
fn is_personal(event: &str) -> bool {
    let published = event.starts_with("session.context_") || event.ends_with("_context");
    !published && ["session.", "token.", "covibe_session"].iter().any(|about| event.starts_with(about))
}

/// The place that a list goes on behind.
fn place(text: &str) -> Result<(Timestamp, EventId), Failure> {
    let read = text.split_once('~').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    let (at, id) = read.ok_or_else(|| {
        Failure::invalid("`after` is no place in this list: take it from the `Link` of an answer")
    })?;
    Ok((Timestamp::from_millis(at), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_tokens_are_personal_and_work_is_not() {
        for personal in ["session.started", "session.snapshot", "token.created", "covibe_session.start"] {
            assert!(is_personal(personal), "{personal}");
        }
        for work in ["task.started", "session.context_published", "covibe_session.get_context", "covibe_task"]
        {
            assert!(!is_personal(work), "{work}");
        }
    }
}
