//! How each thing in the state of a team is shown: what it is, whose, and how it stands; long texts in their beginning.

use covenant_model::id::{AgentSessionId, WorkstreamId};
use covenant_model::time::Timestamp;
use serde_json::{Value, json};

use super::super::faces::Faces;
use super::super::{audit as audits, moment};
use crate::audit::{Audit, Conflict};
use crate::port::Note;
use crate::port::survey::{Listed, Warned};
use crate::rules::next::Action;
use crate::rules::stale as silence;
use crate::session::{Session, SharedContext};
use crate::title::short;
use crate::work::{Priority, TaskType, WorkId};

/// How much of a longer text is shown, in characters.
const TEXT: usize = 300;

/// A task or a workstream.
pub(super) fn work(work: &Listed, faces: &Faces) -> Value {
    let session = work.session.as_ref().filter(|_| !faces.is_hidden(&work.developer));
    let text = |text: &Option<String>| text.as_deref().map(|text| short(text, TEXT));
    json!({
        "id": work.id.as_str(),
        "kind": work.id.kind().as_str(),
        "title": work.title,
        "owner": faces.owner(&work.developer),
        "same_developer": faces.is_viewer(&work.developer),
        "status": work.status.as_str(),
        "task_type": work.task_type.map(TaskType::as_str),
        "priority": work.priority.map(Priority::as_str),
        "workstream_id": work.workstream.as_ref().map(WorkstreamId::as_str),
        "session_id": session.map(AgentSessionId::as_str),
        "result_summary": text(&work.result_summary),
        "reason": text(&work.reason),
        "started_at": work.started_at.map(moment),
        "updated_at": moment(work.updated_at),
    })
}

/// A blocker, which is a risk, or a decision.
pub(super) fn note(note: &Note, faces: &Faces) -> Value {
    json!({
        "note_id": note.id.as_str(),
        "kind": note.kind,
        "text": short(&note.text, TEXT),
        "owner": faces.owner(&note.developer),
        "subject_id": note.work.as_ref().map(WorkId::as_str),
        "at": moment(note.at),
    })
}

/// A session. What somebody private calls their agent, and its session, tell who they are.
pub(super) fn session(session: &Session, faces: &Faces, now: Timestamp) -> Value {
    let hidden = faces.is_hidden(&session.developer);
    json!({
        "session_id": Some(session.id.as_str()).filter(|_| !hidden),
        "owner": faces.owner(&session.developer),
        "same_developer": faces.is_viewer(&session.developer),
        "agent_name": session.agent_name.as_ref().filter(|_| !hidden),
        "agent_type": session.agent_type,
        "model": session.model,
        "repo": session.repo.as_ref().filter(|_| !hidden),
        "branch": session.branch.as_ref().filter(|_| !hidden),
        "status": silence::standing(session, now),
        "started_at": moment(session.started_at),
        "last_seen_at": moment(session.last_seen_at),
        "ended_at": session.ended_at.map(moment),
    })
}

/// A session that was silent for too long, and the active work that was begun in it.
pub(super) fn stale(silent: &Session, active: &[Listed], faces: &Faces, now: Timestamp) -> Value {
    let mut shown = session(silent, faces, now);
    let begun = active.iter().filter(|work| work.session.as_ref() == Some(&silent.id));
    let begun: Vec<&str> = begun.map(|work| work.id.as_str()).collect();
    let minutes = now.since(silent.last_seen_at).as_secs() / 60;
    if let Value::Object(members) = &mut shown {
        members.insert("idle_minutes".to_owned(), minutes.into());
        members.insert("active_work".to_owned(), begun.into());
    }
    shown
}

/// A warning.
pub(super) fn warned(warned: &Warned, faces: &Faces) -> Value {
    json!({
        "warning_id": warned.id.as_str(),
        "owner": faces.owner(&warned.developer),
        "same_developer": faces.is_viewer(&warned.developer),
        "kind": warned.kind.as_str(),
        "title": warned.title,
        "status": warned.settled.as_str(),
        "escalated": warned.escalated,
        "at": moment(warned.at),
    })
}

/// A published context, in its beginning: `get_context` has the rest.
pub(super) fn context(context: &SharedContext, faces: &Faces) -> Value {
    let hidden = faces.is_hidden(&context.developer);
    let session = context.session.as_ref().filter(|_| !hidden);
    json!({
        "context_id": context.id.as_str(),
        "developer": faces.owner(&context.developer),
        "session_id": session.map(AgentSessionId::as_str),
        "title": context.body.title,
        "summary": short(&context.body.summary, TEXT),
        "repo": Some(&context.body.repo).filter(|_| !hidden),
        "branch": Some(&context.body.branch).filter(|_| !hidden),
        "created_at": moment(context.created_at),
        "expires_at": moment(context.expires_at),
    })
}

/// Something to do next.
pub(super) fn action(action: &Action) -> Value {
    json!({
        "kind": action.kind,
        "message": action.sentence,
        "call": { "tool": action.tool, "arguments": action.arguments },
    })
}

/// An audit, without what it found.
pub(super) fn audit(audit: &Audit, faces: &Faces) -> Value {
    let found = u64::try_from(audit.conflicts.len()).unwrap_or(u64::MAX);
    json!({
        "audit_id": audit.id.as_str(),
        "owner": faces.owner(&audit.developer),
        "status": audits::status(audit),
        "conflicts": found.saturating_add(audit.more),
        "looked_at": audit.looked_at,
        "left_out": audit.left_out,
        "at": moment(audit.at),
    })
}

/// A pair that an audit found, as it stands now; `active` if it still has to be heeded.
pub(super) fn conflict(found: &Conflict, pressing: bool, faces: &Faces) -> Value {
    let mut shown = audits::conflict(found, faces);
    if let Value::Object(members) = &mut shown {
        members.insert("active".to_owned(), pressing.into());
    }
    shown
}
