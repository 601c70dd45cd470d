//! Checks, of which the newest counts, and notes, which are only ever added and listed.

use covenant_model::id::{AgentSessionId, CheckId, DeveloperId, WarningId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::input::NoteKind;
use covenant_team::port::{Check, Note};
use covenant_team::work::{Kind, WorkId};

use super::json;
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, kind, title_key, planned_id, inputs, warning_id, at"
    };
}

const ADD: &str =
    concat!("INSERT INTO preflight_checks (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");

const ONE: &str = concat!("SELECT ", columns!(), " FROM preflight_checks WHERE id = $1");

/// All of the newest moment: which of them is the newest is said below.
const LATEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM preflight_checks WHERE developer_id = $1 AND kind = $2 AND title_key = $3 AND at = \
     (SELECT max(at) FROM preflight_checks WHERE developer_id = $1 AND kind = $2 AND title_key = $3 AND at <= $4)"
);

const LATEST_PLANNED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM preflight_checks WHERE developer_id = $1 AND kind = $2 AND title_key = $3 AND planned_id = $5 AND at = \
     (SELECT max(at) FROM preflight_checks \
      WHERE developer_id = $1 AND kind = $2 AND title_key = $3 AND at <= $4 AND planned_id = $5)"
);

const ADD_NOTE: &str = "INSERT INTO notes (id, workspace_id, developer_id, session_id, kind, text, subject_id, at) \
                        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const NOTES: &str = "SELECT id, workspace_id, developer_id, session_id, kind, text, subject_id, at FROM notes \
                     WHERE workspace_id = $1 AND kind = $2 AND at >= $3 ORDER BY at DESC, id DESC LIMIT $4";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ONE, LATEST, LATEST_PLANNED, NOTES];

/// Keeps a check.
pub(super) async fn add(tx: &mut Tx, check: &Check) -> Result<(), DbError> {
    let values = vec![
        check.id.as_str().into(),
        check.workspace.as_str().into(),
        check.developer.as_str().into(),
        check.kind.as_str().into(),
        check.title_key.as_str().into(),
        check.planned.as_ref().map(WorkId::as_str).into(),
        json(serde_json::to_string(&check.brief))?,
        check.warning.as_ref().map(WarningId::as_str).into(),
        check.at.into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

/// The one with that id.
pub(super) async fn find(tx: &mut Tx, id: &CheckId) -> Result<Option<Check>, DbError> {
    let rows = tx.query(ONE, vec![id.as_str().into()]).await?;
    rows.first().map(check).transpose()
}

/// The newest one of that developer for that kind of work with that title, none later than `until`, about that planned work
/// if that is given.
pub(super) async fn latest(
    tx: &mut Tx,
    developer: &DeveloperId,
    kind: Kind,
    title_key: &str,
    planned: Option<&WorkId>,
    until: Timestamp,
) -> Result<Option<Check>, DbError> {
    let mut values = vec![developer.as_str().into(), kind.as_str().into(), title_key.into(), until.into()];
    let sql = match planned {
        None => LATEST,
        Some(planned) => {
            values.push(planned.as_str().into());
            LATEST_PLANNED
        }
    };
    let rows = tx.query(sql, values).await?;
    let checks = rows.iter().map(check).collect::<Result<Vec<_>, _>>()?;
    // Of one moment the one with the greatest id, here and not in SQL: the two databases may order texts differently.
    Ok(checks.into_iter().max_by(|a, b| a.id.cmp(&b.id)))
}

fn check(row: &Row) -> Result<Check, DbError> {
    let record = Record::of("preflight_checks", row);
    let kind = record.parse("kind")?;
    let planned = record.text_or_none("planned_id")?.map(|id| WorkId::parse(kind, &id)).transpose();
    let brief = serde_json::from_str(record.text("inputs")?);
    Ok(Check {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        kind,
        brief: brief.map_err(|error| record.bad("inputs", error))?,
        title_key: record.text("title_key")?.to_owned(),
        planned: planned.map_err(|error| record.bad("planned_id", error))?,
        warning: record.parse_or_none("warning_id")?,
        at: record.moment("at")?,
    })
}

/// Keeps a note.
pub(super) async fn add_note(tx: &mut Tx, note: &Note) -> Result<(), DbError> {
    let values = vec![
        note.id.as_str().into(),
        note.workspace.as_str().into(),
        note.developer.as_str().into(),
        note.session.as_ref().map(AgentSessionId::as_str).into(),
        note.kind.into(),
        note.text.as_str().into(),
        note.work.as_ref().map(WorkId::as_str).into(),
        note.at.into(),
    ];
    tx.execute(ADD_NOTE, values).await.map(drop)
}

/// Notes of that kind since then, newest first.
pub(super) async fn notes(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    kind: NoteKind,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Note>, DbError> {
    let values = vec![workspace.as_str().into(), kind.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(NOTES, values).await?.iter().map(|row| note(kind, row)).collect()
}

fn note(kind: NoteKind, row: &Row) -> Result<Note, DbError> {
    let record = Record::of("notes", row);
    let work = record.text_or_none("subject_id")?.map(WorkId::try_from).transpose();
    Ok(Note {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        kind: kind.as_str(),
        text: record.text("text")?.to_owned(),
        work: work.map_err(|error| record.bad("subject_id", error))?,
        at: record.moment("at")?,
    })
}
