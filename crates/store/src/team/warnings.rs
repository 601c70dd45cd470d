//! Warnings, which are settled once, and verdicts, which are only ever added.

use covenant_model::id::{CheckId, DeveloperId, WarningId};
use covenant_model::time::Timestamp;
use covenant_team::port::survey::{Warned, Whose};
use covenant_team::warning::{Found, Judgement, Settled, Warning};
use covenant_team::work::{Kind, WorkId};

use super::{json, one};
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, check_id, kind, title, title_key, found, status, reason, work_id, at, settled_at"
    };
}

const ADD: &str = concat!(
    "INSERT INTO overlap_warnings (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
);

/// Whoever looks again for the same title has the older answers behind them.
const SUPERSEDE: &str = "UPDATE overlap_warnings SET status = 'superseded', settled_at = $4 \
                         WHERE developer_id = $1 AND kind = $2 AND title_key = $3 AND status = 'open'";

const ONE: &str = concat!("SELECT ", columns!(), " FROM overlap_warnings WHERE id = $1");

const ABOUT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM overlap_warnings WHERE developer_id = $1 AND work_id = $2 AND status = 'open' ORDER BY at, id"
);

const SETTLE: &str =
    "UPDATE overlap_warnings SET status = $2, reason = $3, work_id = $4, settled_at = $5 WHERE id = $1";

/// What a team was warned of since a moment, but for what a later look took the place of.
const NEWEST: &str = "SELECT id, developer_id, kind, title, status, check_id, found, at FROM overlap_warnings \
                      WHERE workspace_id = $1 AND status <> 'superseded' AND at >= $2 ORDER BY at DESC, id DESC LIMIT $3";

/// What a developer was warned of since a moment and has made nothing of.
const OWN: &str = "SELECT id, developer_id, kind, title, status, check_id, found, at FROM overlap_warnings \
                   WHERE developer_id = $1 AND status = 'open' AND check_id IS NOT NULL AND at >= $2 ORDER BY at DESC, id DESC LIMIT $3";

const JUDGE: &str = "INSERT INTO scope_verdicts (check_id, work_id, candidate_id, workspace_id, developer_id, same_scope, \
                     reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// The newest verdict on one piece of work as another began.
const VERDICT: &str = "SELECT same_scope, at FROM scope_verdicts \
                       WHERE work_id = $1 AND candidate_id = $2 ORDER BY at DESC LIMIT 1";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SUPERSEDE, ONE, ABOUT, SETTLE, NEWEST, OWN, VERDICT];

/// Keeps a warning in place of the open ones for the same title.
pub(super) async fn add(tx: &mut Tx, warning: &Warning) -> Result<(), DbError> {
    let (developer, kind) = (warning.developer.as_str(), warning.kind.as_str());
    let key = warning.title_key.as_str();
    tx.execute(SUPERSEDE, vec![developer.into(), kind.into(), key.into(), warning.at.into()]).await?;
    let values = vec![
        warning.id.as_str().into(),
        warning.workspace.as_str().into(),
        developer.into(),
        warning.check.as_ref().map(CheckId::as_str).into(),
        kind.into(),
        warning.title.as_str().into(),
        key.into(),
        json(serde_json::to_string(&warning.found))?,
        warning.settled.as_str().into(),
        warning.reason.as_deref().into(),
        warning.work.as_ref().map(WorkId::as_str).into(),
        warning.at.into(),
        warning.settled_at.into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

/// The one with that id.
pub(super) async fn find(tx: &mut Tx, id: &WarningId) -> Result<Option<Warning>, DbError> {
    let rows = tx.query(ONE, vec![id.as_str().into()]).await?;
    rows.first().map(warning).transpose()
}

/// The open ones of that developer that are about that work.
pub(super) async fn about(
    tx: &mut Tx,
    developer: &DeveloperId,
    work: &WorkId,
) -> Result<Vec<Warning>, DbError> {
    let rows = tx.query(ABOUT, vec![developer.as_str().into(), work.as_str().into()]).await?;
    rows.iter().map(warning).collect()
}

/// Keeps what became of one.
pub(super) async fn settle(tx: &mut Tx, warning: &Warning) -> Result<(), DbError> {
    let values = vec![
        warning.id.as_str().into(),
        warning.settled.as_str().into(),
        warning.reason.as_deref().into(),
        warning.work.as_ref().map(WorkId::as_str).into(),
        warning.settled_at.into(),
    ];
    one(tx.execute(SETTLE, values).await?, || warning.id.to_string())
}

/// Keeps what was made of each candidate.
pub(super) async fn judge(tx: &mut Tx, judgement: &Judgement) -> Result<(), DbError> {
    for verdict in &judgement.verdicts {
        let values = vec![
            judgement.check.as_str().into(),
            judgement.work.as_str().into(),
            verdict.candidate_id.as_str().into(),
            judgement.workspace.as_str().into(),
            judgement.developer.as_str().into(),
            i64::from(verdict.same_scope).into(),
            verdict.reason.as_str().into(),
            judgement.at.into(),
        ];
        tx.execute(JUDGE, values).await?;
    }
    Ok(())
}

/// Whether whoever began one of the two judged that the other is other work; of both the newer verdict counts.
pub(super) async fn is_judged_distinct(tx: &mut Tx, one: &WorkId, other: &WorkId) -> Result<bool, DbError> {
    let mut newest = None;
    for (work, candidate) in [(one, other), (other, one)] {
        let rows = tx.query(VERDICT, vec![work.as_str().into(), candidate.as_str().into()]).await?;
        if let Some(row) = rows.first() {
            let record = Record::of("scope_verdicts", row);
            newest = newest.max(Some((record.moment("at")?, record.count("same_scope")?)));
        }
    }
    Ok(newest.is_some_and(|(_, same_scope)| same_scope == 0))
}

/// What a team, or one developer, was warned of since then, newest first.
pub(super) async fn newest(
    tx: &mut Tx,
    whose: Whose<'_>,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Warned>, DbError> {
    let (sql, id) = match whose {
        Whose::Team(id) => (NEWEST, id.as_str()),
        Whose::Own(id) => (OWN, id.as_str()),
    };
    let values = vec![id.into(), since.into(), u64::from(most).into()];
    tx.query(sql, values).await?.iter().map(warned).collect()
}

fn warned(row: &Row) -> Result<Warned, DbError> {
    let record = Record::of("overlap_warnings", row);
    Ok(Warned {
        id: record.parse("id")?,
        developer: record.parse("developer_id")?,
        kind: record.parse("kind")?,
        title: record.text("title")?.to_owned(),
        settled: record.parse("status")?,
        check: record.parse_or_none("check_id")?,
        escalated: found(&record)?.iter().any(|found| found.escalated),
        at: record.moment("at")?,
    })
}

fn found(record: &Record<'_>) -> Result<Vec<Found>, DbError> {
    serde_json::from_str(record.text("found")?).map_err(|error| record.bad("found", error))
}

fn warning(row: &Row) -> Result<Warning, DbError> {
    let record = Record::of("overlap_warnings", row);
    let kind: Kind = record.parse("kind")?;
    let settled: Settled = record.parse("status")?;
    let work = record.text_or_none("work_id")?.map(|id| WorkId::parse(kind, &id)).transpose();
    Ok(Warning {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        check: record.parse_or_none("check_id")?,
        kind,
        title: record.text("title")?.to_owned(),
        title_key: record.text("title_key")?.to_owned(),
        found: found(&record)?,
        settled,
        reason: record.text_or_none("reason")?,
        work: work.map_err(|error| record.bad("work_id", error))?,
        at: record.moment("at")?,
        settled_at: record.moment_or_none("settled_at")?,
    })
}
