//! Decisions and blockers, written down; and what an agent was told before, told again.

use covenant_model::id::{AgentSessionId, NoteId};
use serde_json::{Value, json};

use super::{Done, details, moment, own};
use crate::event::GivenFeedback;
use crate::input::{FeedbackType, Invalid, NoteInput, NoteKind, TeamInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::Outcome;
use crate::port::{Note, TeamTx};
use crate::work::WorkId;

/// How many rows of feedback are told unless a call says otherwise.
const FEW: u32 = 20;

/// Writes a decision or a blocker down.
pub(super) async fn note(tx: &mut impl TeamTx, seat: &Seat, input: &NoteInput) -> Done {
    let text = texts::required("text", Some(&input.text), bounds::TEXT)?;
    let work = match (&input.task_id, &input.workstream_id) {
        (Some(_), Some(_)) => {
            return Err(Invalid::new("workstream_id", "and `task_id` cannot both be given").into());
        }
        (Some(task), None) => Some(WorkId::Task(task.clone())),
        (None, Some(workstream)) => Some(WorkId::Workstream(workstream.clone())),
        (None, None) => None,
    };
    if let Some(id) = &work {
        own(tx, seat, id).await?;
    }
    let note = Note {
        id: NoteId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        kind: input.kind.as_str(),
        text,
        work,
        at: seat.now,
    };
    tx.add_note(&note).await?;
    let event = match input.kind {
        NoteKind::Decision => "decision.recorded",
        NoteKind::Blocker => "blocker.recorded",
    };
    let work = note.work.as_ref().map(WorkId::as_str);
    let payload = details(json!({ "note_id": note.id.as_str(), "text": note.text, "subject_id": work }));
    let subject = work.unwrap_or(note.id.as_str()).to_owned();
    Ok(Outcome::ok(format!("The {} is recorded.", note.kind))
        .with("note_id", note.id.as_str())
        .changed(event, &subject, note.kind, payload)
        .about(&subject))
}

/// What the caller was told lately.
pub(super) async fn feedback(tx: &mut impl TeamTx, seat: &Seat, input: &TeamInput) -> Done {
    let most = input.most(FEW)?;
    let tone = input.feedback_type.map(FeedbackType::as_str);
    let told = tx.feedback(&seat.member.id, tone, most).await?;
    let told: Vec<Value> = told.iter().map(shown).collect();
    Ok(Outcome::ok(format!("Feedback events: {}.", told.len())).with("feedback", told))
}

fn shown(told: &GivenFeedback) -> Value {
    json!({
        "id": told.event.id.as_str(),
        "type": told.tone.as_str(),
        "event": told.event.event,
        "status": told.event.status,
        "message": told.message,
        "required_action": told.required_action,
        "session_id": told.event.session.as_ref().map(AgentSessionId::as_str),
        "subject_id": told.event.subject,
        "data": told.event.payload,
        "at": moment(told.event.at),
    })
}
