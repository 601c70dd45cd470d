//! Audits of parallel work, of which the newest are read again, and weeks that were told. Rows are only ever added.

use covenant_model::id::{AgentSessionId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::audit::Audit;
use covenant_team::port::survey::Summary;

use super::json;
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, session_id, looked_at, left_out, conflicts, more, at"
    };
}

const ADD: &str =
    concat!("INSERT INTO parallel_audits (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");

const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM parallel_audits WHERE workspace_id = $1 AND at >= $2 ORDER BY at DESC, id DESC LIMIT $3"
);

const ADD_SUMMARY: &str = "INSERT INTO weekly_summaries \
                           (id, workspace_id, developer_id, session_id, since, markdown, counts, at) \
                           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[NEWEST];

/// Keeps an audit.
pub(super) async fn add(tx: &mut Tx, audit: &Audit) -> Result<(), DbError> {
    let values = vec![
        audit.id.as_str().into(),
        audit.workspace.as_str().into(),
        audit.developer.as_str().into(),
        audit.session.as_ref().map(AgentSessionId::as_str).into(),
        audit.looked_at.into(),
        audit.left_out.into(),
        json(serde_json::to_string(&audit.conflicts))?,
        audit.more.into(),
        audit.at.into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

/// Those since then, newest first.
pub(super) async fn newest(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Audit>, DbError> {
    let values = vec![workspace.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(NEWEST, values).await?.iter().map(audit).collect()
}

fn audit(row: &Row) -> Result<Audit, DbError> {
    let record = Record::of("parallel_audits", row);
    let conflicts = serde_json::from_str(record.text("conflicts")?);
    Ok(Audit {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        looked_at: record.count("looked_at")?,
        left_out: record.count("left_out")?,
        conflicts: conflicts.map_err(|error| record.bad("conflicts", error))?,
        more: record.count("more")?,
        at: record.moment("at")?,
    })
}

/// Keeps a week that was told.
pub(super) async fn add_summary(tx: &mut Tx, summary: &Summary) -> Result<(), DbError> {
    let values = vec![
        summary.id.as_str().into(),
        summary.workspace.as_str().into(),
        summary.developer.as_str().into(),
        summary.session.as_ref().map(AgentSessionId::as_str).into(),
        summary.since.into(),
        summary.markdown.as_str().into(),
        json(serde_json::to_string(&summary.counts))?,
        summary.at.into(),
    ];
    tx.execute(ADD_SUMMARY, values).await.map(drop)
}
