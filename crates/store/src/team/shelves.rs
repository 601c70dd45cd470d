//! Work as lists show it, newest first, and how many there are of anything that is listed. No statement here reads more rows
//! than it is asked for.

use std::time::Duration;

use covenant_model::id::WorkspaceId;
use covenant_model::time::Timestamp;
use covenant_team::input::bounds::TTL_HOURS;
use covenant_team::port::survey::{COUNTED, Listed, Shelf, Whose};
use covenant_team::work::{Kind, Status, WorkId};

use super::sheaf;
use crate::db::{DbError, Record, Row, Tx, Value};

macro_rules! columns {
    () => {
        "id, developer_id, session_id, title, status, result_summary, reason, started_at, updated_at"
    };
}

macro_rules! tasks {
    () => {
        concat!("SELECT ", columns!(), ", task_type, priority, workstream_id FROM tasks WHERE ")
    };
}

macro_rules! workstreams {
    () => {
        concat!("SELECT ", columns!(), " FROM workstreams WHERE ")
    };
}

macro_rules! newest {
    () => {
        " AND status = $2 AND updated_at >= $3 ORDER BY updated_at DESC, id DESC LIMIT $4"
    };
}

const TASKS: &str = concat!(tasks!(), "workspace_id = $1", newest!());
const OWN_TASKS: &str = concat!(tasks!(), "developer_id = $1", newest!());
const WORKSTREAMS: &str = concat!(workstreams!(), "auto_created = 0 AND workspace_id = $1", newest!());
const OWN_WORKSTREAMS: &str = concat!(workstreams!(), "auto_created = 0 AND developer_id = $1", newest!());
const THESE_TASKS: &str = concat!(tasks!(), "id IN ");
const THESE_WORKSTREAMS: &str = concat!(workstreams!(), "id IN ");

/// Counts rows, and stops at some number of them.
macro_rules! count {
    ($table:literal, $condition:literal, $limit:literal) => {
        concat!(
            "SELECT count(*) AS number FROM (SELECT id FROM ",
            $table,
            " WHERE workspace_id = $1 AND ",
            $condition,
            " LIMIT ",
            $limit,
            ") AS counted"
        )
    };
}

const COUNT_TASKS: &str = count!("tasks", "status = $2 AND updated_at >= $3", "$4");
const COUNT_WORKSTREAMS: &str =
    count!("workstreams", "auto_created = 0 AND status = $2 AND updated_at >= $3", "$4");
const COUNT_NOTES: &str = count!("notes", "kind = $2 AND at >= $3", "$4");
const COUNT_SEEN: &str = count!("agent_sessions", "last_seen_at >= $2", "$3");
const COUNT_SILENT: &str =
    count!("agent_sessions", "ended_at IS NULL AND last_seen_at >= $2 AND last_seen_at < $3", "$4");
const COUNT_WARNED: &str = count!("overlap_warnings", "status <> 'superseded' AND at >= $2", "$3");
const COUNT_CONTEXTS: &str = count!(
    "session_contexts",
    "created_at > $2 AND expires_at > $3 AND superseded_by IS NULL AND revoked_at IS NULL",
    "$4"
);
const COUNT_AUDITS: &str = count!("parallel_audits", "at >= $2", "$3");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    TASKS,
    OWN_TASKS,
    WORKSTREAMS,
    OWN_WORKSTREAMS,
    concat!(tasks!(), "id IN ($1, $2)"),
    concat!(workstreams!(), "id IN ($1, $2)"),
    COUNT_TASKS,
    COUNT_WORKSTREAMS,
    COUNT_NOTES,
    COUNT_SEEN,
    COUNT_SILENT,
    COUNT_WARNED,
    COUNT_CONTEXTS,
    COUNT_AUDITS,
];

/// How many there are of that, up to a bound.
pub(super) async fn number(tx: &mut Tx, workspace: &WorkspaceId, of: Shelf) -> Result<u64, DbError> {
    let (sql, mut values): (_, Vec<Value>) = match of {
        Shelf::Work(kind, status, since) => {
            let sql = if kind == Kind::Task { COUNT_TASKS } else { COUNT_WORKSTREAMS };
            (sql, vec![status.as_str().into(), since.into()])
        }
        Shelf::Notes(kind, since) => (COUNT_NOTES, vec![kind.as_str().into(), since.into()]),
        Shelf::Seen(since) => (COUNT_SEEN, vec![since.into()]),
        Shelf::Silent(since, before) => (COUNT_SILENT, vec![since.into(), before.into()]),
        Shelf::Warned(since) => (COUNT_WARNED, vec![since.into()]),
        Shelf::Contexts(now) => {
            let oldest = now.minus(Duration::from_hours(TTL_HOURS));
            (COUNT_CONTEXTS, vec![oldest.into(), now.into()])
        }
        Shelf::Audits(since) => (COUNT_AUDITS, vec![since.into()]),
    };
    values.insert(0, workspace.as_str().into());
    values.push(COUNTED.into());
    let rows = tx.query(sql, values).await?;
    rows.first().map_or(Ok(0), |row| Record::of("what is counted", row).count("number"))
}

/// Work of that kind that stands so and changed no earlier than that, newest first.
pub(super) async fn listed(
    tx: &mut Tx,
    whose: Whose<'_>,
    kind: Kind,
    status: Status,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Listed>, DbError> {
    let (sql, id) = match (whose, kind) {
        (Whose::Team(id), Kind::Task) => (TASKS, id.as_str()),
        (Whose::Team(id), Kind::Workstream) => (WORKSTREAMS, id.as_str()),
        (Whose::Own(id), Kind::Task) => (OWN_TASKS, id.as_str()),
        (Whose::Own(id), Kind::Workstream) => (OWN_WORKSTREAMS, id.as_str()),
    };
    let values = vec![id.into(), status.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(sql, values).await?.iter().map(|row| of(kind, row)).collect()
}

/// How these pieces of work stand, in no order.
pub(super) async fn standing(tx: &mut Tx, ids: &[WorkId]) -> Result<Vec<Listed>, DbError> {
    let mut found = Vec::with_capacity(ids.len());
    for (kind, sql) in [(Kind::Task, THESE_TASKS), (Kind::Workstream, THESE_WORKSTREAMS)] {
        let of_kind: Vec<&str> = ids.iter().filter(|id| id.kind() == kind).map(WorkId::as_str).collect();
        for row in sheaf::query(tx, sql, &of_kind).await? {
            found.push(of(kind, &row)?);
        }
    }
    Ok(found)
}

fn of(kind: Kind, row: &Row) -> Result<Listed, DbError> {
    let record = Record::of(if kind == Kind::Task { "tasks" } else { "workstreams" }, row);
    let id = WorkId::parse(kind, record.text("id")?).map_err(|error| record.bad("id", error))?;
    let (task_type, priority, workstream) = match kind {
        Kind::Task => (
            Some(record.parse("task_type")?),
            Some(record.parse("priority")?),
            record.parse_or_none("workstream_id")?,
        ),
        Kind::Workstream => (None, None, None),
    };
    Ok(Listed {
        id,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        title: record.text("title")?.to_owned(),
        status: record.parse("status")?,
        task_type,
        priority,
        workstream,
        result_summary: record.text_or_none("result_summary")?,
        reason: record.text_or_none("reason")?,
        started_at: record.moment_or_none("started_at")?,
        updated_at: record.moment("updated_at")?,
    })
}
