//! Claims, which count until they have an ending, and who waits for them.

use std::time::Duration;

use covenant_model::id::{AgentSessionId, ClaimId, DeveloperId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::coordination::{Claim, Wait};

use super::{list, one, or_none, texts};
use crate::db::{DbError, Record, Row, Tx, Value};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, session_id, repo, paths, message, renewal, created_at, expires_at, ending, ended_at"
    };
}

const ADD: &str = concat!(
    "INSERT INTO claims (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);

const ONE: &str = concat!("SELECT ", columns!(), " FROM claims WHERE id = $1");

const OPEN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM claims WHERE workspace_id = $1 AND ending IS NULL ORDER BY expires_at, id LIMIT $2"
);

const OWN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM claims WHERE developer_id = $1 AND ending IS NULL ORDER BY expires_at, id"
);

const SAVE: &str = "UPDATE claims SET paths = $2, message = $3, renewal = $4, expires_at = $5, ending = $6, ended_at = $7 \
                    WHERE id = $1";

const RENEW: &str = "UPDATE claims SET expires_at = $2 + renewal \
                     WHERE session_id = $1 AND ending IS NULL AND expires_at < $2 + renewal";

const LAPSED: &str =
    "SELECT id FROM claims WHERE workspace_id = $1 AND ending IS NULL AND expires_at <= $2 LIMIT 1";

const AHEAD: &str =
    "SELECT id FROM claims WHERE workspace_id = $1 AND ending IS NULL AND expires_at > $2 LIMIT 1";

/// One that was renewed in the meantime is not among them: the row is looked at again once it is held.
const LAPSE: &str = concat!(
    "UPDATE claims SET ending = 'expired', ended_at = $2 \
     WHERE workspace_id = $1 AND ending IS NULL AND (expires_at <= $2 OR expires_at > $3) RETURNING ",
    columns!()
);

const UNTOLD: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM claims WHERE developer_id = $1 AND ending = 'expired' AND told_at IS NULL \
     ORDER BY ended_at DESC, id DESC LIMIT $2"
);

const TOLD: &str = "UPDATE claims SET told_at = COALESCE(told_at, $2) WHERE id = $1";

const WAITS: &str = "SELECT claim_id, developer_id, paths, at FROM claim_waits WHERE claim_id = $1";

const WAIT: &str = "INSERT INTO claim_waits (claim_id, developer_id, paths, at) VALUES ($1, $2, $3, $4) \
                    ON CONFLICT (claim_id, developer_id) DO UPDATE SET paths = excluded.paths, at = excluded.at";

const WAIT_NO_MORE: &str = "DELETE FROM claim_waits WHERE claim_id = $1 AND developer_id = $2";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[ONE, OPEN, OWN, SAVE, RENEW, LAPSED, AHEAD, LAPSE, UNTOLD, TOLD, WAITS, WAIT_NO_MORE];

/// The one with that id.
pub(super) async fn find(tx: &mut Tx, id: &ClaimId) -> Result<Option<Claim>, DbError> {
    let rows = tx.query(ONE, vec![id.as_str().into()]).await?;
    rows.first().map(claim).transpose()
}

/// Those of a team that did not end.
pub(super) async fn open(tx: &mut Tx, workspace: &WorkspaceId, most: usize) -> Result<Vec<Claim>, DbError> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    tx.query(OPEN, vec![workspace.as_str().into(), most.into()]).await?.iter().map(claim).collect()
}

/// Those of a developer that did not end.
pub(super) async fn own(tx: &mut Tx, developer: &DeveloperId) -> Result<Vec<Claim>, DbError> {
    tx.query(OWN, vec![developer.as_str().into()]).await?.iter().map(claim).collect()
}

/// Keeps a new one.
pub(super) async fn add(tx: &mut Tx, claim: &Claim) -> Result<(), DbError> {
    let values = vec![
        claim.id.as_str().into(),
        claim.workspace.as_str().into(),
        claim.developer.as_str().into(),
        claim.session.as_ref().map_or("", AgentSessionId::as_str).into(),
        claim.repo.as_str().into(),
        list(&claim.paths)?,
        claim.message.as_deref().into(),
        renewal(claim),
        claim.created_at.into(),
        claim.expires_at.into(),
        claim.ending.map(|(how, _)| how.as_str()).into(),
        claim.ending.map(|(_, at)| at).into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

/// Keeps what changed of it.
pub(super) async fn save(tx: &mut Tx, claim: &Claim) -> Result<(), DbError> {
    let values = vec![
        claim.id.as_str().into(),
        list(&claim.paths)?,
        claim.message.as_deref().into(),
        renewal(claim),
        claim.expires_at.into(),
        claim.ending.map(|(how, _)| how.as_str()).into(),
        claim.ending.map(|(_, at)| at).into(),
    ];
    one(tx.execute(SAVE, values).await?, || claim.id.to_string())
}

/// In milliseconds, so that the database can add it to a moment.
fn renewal(claim: &Claim) -> Value {
    let millis = Duration::from_mins(claim.minutes).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX).into()
}

/// Renews those of a session.
pub(super) async fn renew(tx: &mut Tx, session: &AgentSessionId, now: Timestamp) -> Result<u64, DbError> {
    tx.execute(RENEW, vec![session.as_str().into(), now.into()]).await
}

/// Whether some are over.
pub(super) async fn has_lapsed(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    now: Timestamp,
    latest: Timestamp,
) -> Result<bool, DbError> {
    for (sql, moment) in [(LAPSED, now), (AHEAD, latest)] {
        if !tx.query(sql, vec![workspace.as_str().into(), moment.into()]).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Ends those that are over; which they were, those that were over first first.
pub(super) async fn lapse(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    now: Timestamp,
    latest: Timestamp,
) -> Result<Vec<Claim>, DbError> {
    let rows = tx.query(LAPSE, vec![workspace.as_str().into(), now.into(), latest.into()]).await?;
    let mut claims = rows.iter().map(claim).collect::<Result<Vec<_>, _>>()?;
    claims.sort_by(|one, other| (one.expires_at, &one.id).cmp(&(other.expires_at, &other.id)));
    Ok(claims)
}

/// The expired ones that nobody was told of.
pub(super) async fn untold(tx: &mut Tx, developer: &DeveloperId, most: u32) -> Result<Vec<Claim>, DbError> {
    let values = vec![developer.as_str().into(), u64::from(most).into()];
    tx.query(UNTOLD, values).await?.iter().map(claim).collect()
}

/// Notes that somebody was told.
pub(super) async fn mark_told(tx: &mut Tx, id: &ClaimId, at: Timestamp) -> Result<(), DbError> {
    one(tx.execute(TOLD, vec![id.as_str().into(), at.into()]).await?, || id.to_string())
}

/// Who waits.
pub(super) async fn waits(tx: &mut Tx, claim: &ClaimId) -> Result<Vec<Wait>, DbError> {
    let rows = tx.query(WAITS, vec![claim.as_str().into()]).await?;
    let mut waits = rows.iter().map(wait).collect::<Result<Vec<_>, _>>()?;
    waits.sort_by(|one, other| (one.at, &one.developer).cmp(&(other.at, &other.developer)));
    Ok(waits)
}

/// Notes who waits for what, or that they do not any more.
pub(super) async fn save_wait(tx: &mut Tx, wait: &Wait) -> Result<(), DbError> {
    let mut values = vec![wait.claim.as_str().into(), wait.developer.as_str().into()];
    if wait.paths.is_empty() {
        return tx.execute(WAIT_NO_MORE, values).await.map(drop);
    }
    values.extend([list(&wait.paths)?, wait.at.into()]);
    tx.execute(WAIT, values).await.map(drop)
}

fn wait(row: &Row) -> Result<Wait, DbError> {
    let record = Record::of("claim_waits", row);
    Ok(Wait {
        claim: record.parse("claim_id")?,
        developer: record.parse("developer_id")?,
        paths: texts(&record, "paths")?,
        at: record.moment("at")?,
    })
}

fn claim(row: &Row) -> Result<Claim, DbError> {
    let record = Record::of("claims", row);
    let ending = record.parse_or_none("ending")?.zip(record.moment_or_none("ended_at")?);
    Ok(Claim {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: or_none(&record, "session_id")?,
        repo: record.text("repo")?.to_owned(),
        paths: texts(&record, "paths")?,
        message: record.text_or_none("message")?,
        minutes: record.count("renewal")? / 60_000,
        created_at: record.moment("created_at")?,
        expires_at: record.moment("expires_at")?,
        ending,
    })
}
