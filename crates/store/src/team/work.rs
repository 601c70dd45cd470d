//! Tasks and workstreams as rows: two tables that share most of their columns.

use covenant_model::id::{AgentSessionId, DeveloperId, TaskId, WorkspaceId, WorkstreamId};
use covenant_model::time::Timestamp;
use covenant_team::port::survey::COUNTED;
use covenant_team::work::{Action, Brief, Form, Kind, Status, Work, WorkId};

use super::{list, one, texts};
use crate::db::{DbError, Record, Row, Tx, Value};

/// What both have and what never changes, then what both have and what may change.
macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, idempotency_key, created_at, session_id, title, description, scope, action, \
         component, target_files, status, result_summary, reason, started_at, updated_at, ended_at"
    };
}

/// How they are changed, by the same numbers.
macro_rules! changes {
    () => {
        "turn = $2, session_id = $3, title = $4, description = $5, scope = $6, action = $7, component = $8, \
         target_files = $9, status = $10, result_summary = $11, reason = $12, started_at = $13, updated_at = $14, \
         ended_at = $15"
    };
}

macro_rules! task_columns {
    () => {
        concat!(columns!(), ", workstream_id, task_type, priority")
    };
}

macro_rules! workstream_columns {
    () => {
        concat!(columns!(), ", auto_created")
    };
}
pub(super) use {columns, task_columns, workstream_columns};

const ADD_TASK: &str = concat!(
    "INSERT INTO tasks (turn, ",
    task_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"
);

const ADD_WORKSTREAM: &str = concat!(
    "INSERT INTO workstreams (turn, ",
    workstream_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
);

const SAVE_TASK: &str = concat!(
    "UPDATE tasks SET ",
    changes!(),
    ", workstream_id = $16, task_type = $17, priority = $18 WHERE id = $1"
);

const SAVE_WORKSTREAM: &str =
    concat!("UPDATE workstreams SET ", changes!(), ", auto_created = $16 WHERE id = $1");

const TASK: &str = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = $1");

const WORKSTREAM: &str = concat!("SELECT ", workstream_columns!(), " FROM workstreams WHERE id = $1");

const TASK_BY_KEY: &str =
    concat!("SELECT ", task_columns!(), " FROM tasks WHERE developer_id = $1 AND idempotency_key = $2");

const WORKSTREAM_BY_KEY: &str = concat!(
    "SELECT ",
    workstream_columns!(),
    " FROM workstreams WHERE developer_id = $1 AND idempotency_key = $2"
);

const OPEN_TASKS: &str = "SELECT id, created_at FROM tasks \
                          WHERE workstream_id = $1 AND status IN ('planned', 'active', 'blocked') \
                          ORDER BY created_at, id LIMIT $2";

const OPEN_TASK_COUNT: &str = "SELECT count(*) AS number FROM (SELECT id FROM tasks \
                               WHERE workstream_id = $1 AND status IN ('planned', 'active', 'blocked') LIMIT $2) AS counted";

const TASKS_STANDING: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE workspace_id = $1 AND status = $2 AND updated_at >= $3 \
     ORDER BY updated_at DESC, id DESC LIMIT $4"
);

const WORKSTREAMS_STANDING: &str = concat!(
    "SELECT ",
    workstream_columns!(),
    " FROM workstreams WHERE auto_created = 0 AND workspace_id = $1 AND status = $2 AND updated_at >= $3 \
     ORDER BY updated_at DESC, id DESC LIMIT $4"
);

/// Tasks from before there were workstreams: so many, of any team.
const ORPHANS: &str =
    concat!("SELECT ", task_columns!(), " FROM tasks WHERE workstream_id IS NULL ORDER BY id LIMIT $1");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[
    SAVE_TASK,
    SAVE_WORKSTREAM,
    TASK,
    WORKSTREAM,
    TASK_BY_KEY,
    WORKSTREAM_BY_KEY,
    OPEN_TASKS,
    OPEN_TASK_COUNT,
    TASKS_STANDING,
    WORKSTREAMS_STANDING,
    ORPHANS,
];

/// The one with that id.
pub(super) async fn find(tx: &mut Tx, id: &WorkId) -> Result<Option<Work>, DbError> {
    let sql = match id.kind() {
        Kind::Task => TASK,
        Kind::Workstream => WORKSTREAM,
    };
    let rows = tx.query(sql, vec![id.as_str().into()]).await?;
    rows.first().map(|row| work(id.kind(), row)).transpose()
}

/// What that developer made by a call with that key.
pub(super) async fn by_key(
    tx: &mut Tx,
    kind: Kind,
    developer: &DeveloperId,
    key: &str,
) -> Result<Option<Work>, DbError> {
    let sql = match kind {
        Kind::Task => TASK_BY_KEY,
        Kind::Workstream => WORKSTREAM_BY_KEY,
    };
    let rows = tx.query(sql, vec![developer.as_str().into(), key.into()]).await?;
    rows.first().map(|row| work(kind, row)).transpose()
}

/// The open tasks of a workstream, oldest first.
pub(super) async fn open_tasks(
    tx: &mut Tx,
    workstream: &WorkstreamId,
    most: u32,
) -> Result<Vec<TaskId>, DbError> {
    let rows = tx.query(OPEN_TASKS, vec![workstream.as_str().into(), u64::from(most).into()]).await?;
    rows.iter().map(|row| Record::of("tasks", row).parse("id")).collect()
}

/// How many those are, up to a bound.
pub(super) async fn open_task_count(tx: &mut Tx, workstream: &WorkstreamId) -> Result<u64, DbError> {
    let rows = tx.query(OPEN_TASK_COUNT, vec![workstream.as_str().into(), COUNTED.into()]).await?;
    rows.first().map_or(Ok(0), |row| Record::of("what is counted", row).count("number"))
}

/// Work of that kind that stands so and changed no earlier than that, newest first. Containers are not among it.
pub(super) async fn standing(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    kind: Kind,
    status: Status,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Work>, DbError> {
    let sql = match kind {
        Kind::Task => TASKS_STANDING,
        Kind::Workstream => WORKSTREAMS_STANDING,
    };
    let values =
        vec![workspace.as_str().into(), status.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(sql, values).await?.iter().map(|row| work(kind, row)).collect()
}

/// Tasks that belong to no workstream, at most so many.
pub(super) async fn orphans(tx: &mut Tx, most: u64) -> Result<Vec<Work>, DbError> {
    let rows = tx.query(ORPHANS, vec![most.into()]).await?;
    rows.iter().map(|row| work(Kind::Task, row)).collect()
}

/// Keeps a new one.
pub(super) async fn add(tx: &mut Tx, work: &Work, turn: u64) -> Result<(), DbError> {
    let mut values = vec![
        turn.into(),
        work.id.as_str().into(),
        work.workspace.as_str().into(),
        work.developer.as_str().into(),
        work.idempotency_key.as_deref().into(),
        work.created_at.into(),
    ];
    values.extend(changing(work)?);
    let sql = match work.kind() {
        Kind::Task => ADD_TASK,
        Kind::Workstream => ADD_WORKSTREAM,
    };
    tx.execute(sql, values).await.map(drop)
}

/// Keeps what changed of one. Whose it is, of which team, by which call it was made and when stays.
pub(super) async fn save(tx: &mut Tx, work: &Work, turn: u64) -> Result<(), DbError> {
    let mut values = vec![work.id.as_str().into(), turn.into()];
    values.extend(changing(work)?);
    let sql = match work.kind() {
        Kind::Task => SAVE_TASK,
        Kind::Workstream => SAVE_WORKSTREAM,
    };
    one(tx.execute(sql, values).await?, || work.id.to_string())
}

/// What may change, in the order of the columns.
fn changing(work: &Work) -> Result<Vec<Value>, DbError> {
    let brief = &work.brief;
    let mut values = vec![
        work.session.as_ref().map(AgentSessionId::as_str).into(),
        brief.title.as_str().into(),
        brief.description.as_str().into(),
        brief.scope.as_str().into(),
        brief.action.map(Action::as_str).into(),
        brief.component.as_deref().into(),
        list(&brief.target_files)?,
        work.status.as_str().into(),
        work.result_summary.as_deref().into(),
        work.reason.as_deref().into(),
        work.started_at.into(),
        work.updated_at.into(),
        work.ended_at.into(),
    ];
    match (&work.form, work.kind()) {
        (Form::Task { task_type, priority, workstream }, Kind::Task) => values.extend([
            workstream.as_ref().map(WorkstreamId::as_str).into(),
            task_type.as_str().into(),
            priority.as_str().into(),
        ]),
        (Form::Workstream { auto_created }, Kind::Workstream) => {
            values.push(i64::from(*auto_created).into());
        }
        _ => return Err(DbError::Failed(format!("{} has the form of the other kind", work.id))),
    }
    Ok(values)
}

/// One as its row has it.
pub(super) fn work(kind: Kind, row: &Row) -> Result<Work, DbError> {
    let record = Record::of(table(kind), row);
    let id = WorkId::parse(kind, record.text("id")?).map_err(|error| record.bad("id", error))?;
    let form = match kind {
        Kind::Task => Form::Task {
            task_type: record.parse("task_type")?,
            priority: record.parse("priority")?,
            workstream: record.parse_or_none("workstream_id")?,
        },
        Kind::Workstream => Form::Workstream { auto_created: record.count("auto_created")? > 0 },
    };
    Ok(Work {
        id,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        brief: Brief {
            title: record.text("title")?.to_owned(),
            description: record.text("description")?.to_owned(),
            scope: record.text("scope")?.to_owned(),
            action: record.parse_or_none("action")?,
            component: record.text_or_none("component")?,
            target_files: texts(&record, "target_files")?,
        },
        form,
        status: record.parse("status")?,
        result_summary: record.text_or_none("result_summary")?,
        reason: record.text_or_none("reason")?,
        idempotency_key: record.text_or_none("idempotency_key")?,
        created_at: record.moment("created_at")?,
        started_at: record.moment_or_none("started_at")?,
        updated_at: record.moment("updated_at")?,
        ended_at: record.moment_or_none("ended_at")?,
    })
}

/// Where that kind is kept.
pub(super) fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "tasks",
        Kind::Workstream => "workstreams",
    }
}
