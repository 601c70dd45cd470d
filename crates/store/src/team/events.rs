//! What is written down of teams: what changed, that calls were made, and what agents were told. Rows are only ever added.

use covenant_model::envelope::Tone;
use covenant_model::id::{AgentSessionId, DeveloperId, WorkspaceId};
use covenant_team::event::{Event, GivenFeedback};

use super::{details, json};
use crate::db::{DbError, Record, Row, Tx, Value};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, session_id, event, subject_id, status, payload_json, at"
    };
}

const ADD_CHANGE: &str =
    concat!("INSERT INTO work_events (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");

const ADD_USAGE: &str =
    concat!("INSERT INTO usage_events (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");

const ADD_FEEDBACK: &str = concat!(
    "INSERT INTO agent_feedback_events (",
    columns!(),
    ", feedback_type, message, required_action) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);

const FEEDBACK: &str = concat!(
    "SELECT ",
    columns!(),
    ", feedback_type, message, required_action FROM agent_feedback_events WHERE developer_id = $1 \
     ORDER BY at DESC, id DESC LIMIT $2"
);

const FEEDBACK_OF: &str = concat!(
    "SELECT ",
    columns!(),
    ", feedback_type, message, required_action FROM agent_feedback_events \
     WHERE developer_id = $1 AND feedback_type = $3 ORDER BY at DESC, id DESC LIMIT $2"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[FEEDBACK, FEEDBACK_OF];

/// An event, in the order of the columns.
fn values(event: &Event) -> Result<Vec<Value>, DbError> {
    Ok(vec![
        event.id.as_str().into(),
        event.workspace.as_ref().map(WorkspaceId::as_str).into(),
        event.developer.as_ref().map(DeveloperId::as_str).into(),
        event.session.as_ref().map(AgentSessionId::as_str).into(),
        // Of a call that could not be read this is what the caller wrote: neither database keeps a NUL in a text.
        event.event.replace('\0', "\u{fffd}").into(),
        event.subject.as_deref().into(),
        event.status.as_str().into(),
        json(serde_json::to_string(&event.payload))?,
        event.at.into(),
    ])
}

/// Writes down what changed.
pub(crate) async fn add_changes(tx: &mut Tx, events: &[Event]) -> Result<(), DbError> {
    for event in events {
        tx.execute(ADD_CHANGE, values(event)?).await?;
    }
    Ok(())
}

/// Writes down that a call was made.
pub(super) async fn add_usage(tx: &mut Tx, event: &Event) -> Result<(), DbError> {
    tx.execute(ADD_USAGE, values(event)?).await.map(drop)
}

/// Writes down what an agent was told.
pub(super) async fn add_feedback(tx: &mut Tx, feedback: &GivenFeedback) -> Result<(), DbError> {
    let mut values = values(&feedback.event)?;
    values.extend([
        feedback.tone.as_str().into(),
        feedback.message.as_str().into(),
        feedback.required_action.as_deref().into(),
    ]);
    tx.execute(ADD_FEEDBACK, values).await.map(drop)
}

/// What a developer was told, newest first.
pub(super) async fn feedback(
    tx: &mut Tx,
    developer: &DeveloperId,
    tone: Option<&str>,
    most: u32,
) -> Result<Vec<GivenFeedback>, DbError> {
    let mut values = vec![developer.as_str().into(), u64::from(most).into()];
    let sql = match tone {
        None => FEEDBACK,
        Some(tone) => {
            values.push(tone.into());
            FEEDBACK_OF
        }
    };
    tx.query(sql, values).await?.iter().map(given).collect()
}

fn given(row: &Row) -> Result<GivenFeedback, DbError> {
    let record = Record::of("agent_feedback_events", row);
    let event = Event {
        id: record.parse("id")?,
        workspace: record.parse_or_none("workspace_id")?,
        developer: record.parse_or_none("developer_id")?,
        session: record.parse_or_none("session_id")?,
        event: record.text("event")?.to_owned(),
        subject: record.text_or_none("subject_id")?,
        status: record.text("status")?.to_owned(),
        payload: details(&record, "payload_json")?,
        at: record.moment("at")?,
    };
    Ok(GivenFeedback {
        event,
        tone: tone(&record)?,
        message: record.text("message")?.to_owned(),
        required_action: record.text_or_none("required_action")?,
    })
}

fn tone(record: &Record<'_>) -> Result<Tone, DbError> {
    let text = record.text("feedback_type")?;
    let known = [Tone::Info, Tone::Warning, Tone::Block, Tone::Error].into_iter();
    known
        .clone()
        .find(|tone| tone.as_str() == text)
        .ok_or_else(|| record.bad("feedback_type", "is no type of feedback"))
}
