//! Published contexts: of each developer one counts for a repository and branch, until it is withdrawn, replaced or old.

use std::time::Duration;

use covenant_model::id::{AgentSessionId, ContextId, DeveloperId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::input::bounds::TTL_HOURS;
use covenant_team::session::SharedContext;

use super::{json, one};
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, session_id, body, created_at, expires_at, superseded_by, revoked_at"
    };
}

const ADD: &str = concat!(
    "INSERT INTO session_contexts (",
    columns!(),
    ", repo, branch) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
);

const ONE: &str = concat!("SELECT ", columns!(), " FROM session_contexts WHERE id = $1");

/// Those that were published so long ago that they are old in any case are not even looked at, here and below.
const CURRENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM session_contexts WHERE workspace_id = $1 AND created_at > $2 AND expires_at > $3 \
     AND superseded_by IS NULL AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $4"
);

const CURRENT_OF: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM session_contexts WHERE workspace_id = $1 AND created_at > $2 AND expires_at > $3 AND developer_id = $5 \
     AND superseded_by IS NULL AND revoked_at IS NULL ORDER BY created_at DESC, id DESC LIMIT $4"
);

const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM session_contexts WHERE developer_id = $1 AND superseded_by IS NULL AND revoked_at IS NULL \
     ORDER BY created_at DESC, id DESC LIMIT 1"
);

/// Who publishes waits for whoever publishes for the same developer: otherwise neither would see the other's.
const ALONE: &str = "UPDATE developers SET private = private WHERE id = $1";

const SUPERSEDE: &str = "UPDATE session_contexts SET superseded_by = $4 \
                         WHERE developer_id = $1 AND repo = $2 AND branch = $3 \
                         AND superseded_by IS NULL AND revoked_at IS NULL RETURNING id, created_at";

const REVOKE: &str = "UPDATE session_contexts SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ONE, CURRENT, CURRENT_OF, NEWEST, ALONE, SUPERSEDE, REVOKE];

/// The one with that id, whether or not it counts.
pub(super) async fn find(tx: &mut Tx, id: &ContextId) -> Result<Option<SharedContext>, DbError> {
    let rows = tx.query(ONE, vec![id.as_str().into()]).await?;
    rows.first().map(context).transpose()
}

/// Those of a team that count at that moment, newest first.
pub(super) async fn current(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    of: Option<&DeveloperId>,
    now: Timestamp,
    most: u32,
) -> Result<Vec<SharedContext>, DbError> {
    let oldest = now.minus(Duration::from_hours(TTL_HOURS));
    let mut values = vec![workspace.as_str().into(), oldest.into(), now.into(), u64::from(most).into()];
    let sql = match of {
        None => CURRENT,
        Some(developer) => {
            values.push(developer.as_str().into());
            CURRENT_OF
        }
    };
    tx.query(sql, values).await?.iter().map(context).collect()
}

/// The newest of a developer that was neither withdrawn nor replaced, however old.
pub(super) async fn newest(tx: &mut Tx, developer: &DeveloperId) -> Result<Option<SharedContext>, DbError> {
    let rows = tx.query(NEWEST, vec![developer.as_str().into()]).await?;
    rows.first().map(context).transpose()
}

/// Keeps a new one in place of those that developer published for the same repository and branch; which those were,
/// the oldest first.
pub(super) async fn publish(tx: &mut Tx, context: &SharedContext) -> Result<Vec<ContextId>, DbError> {
    let (developer, id) = (context.developer.as_str(), context.id.as_str());
    let (repo, branch) = (context.body.repo.as_str(), context.body.branch.as_str());
    one(tx.execute(ALONE, vec![developer.into()]).await?, || context.developer.to_string())?;
    let rows = tx.query(SUPERSEDE, vec![developer.into(), repo.into(), branch.into(), id.into()]).await?;
    let replaced = rows.iter().map(|row| {
        let record = Record::of("session_contexts", row);
        Ok((record.moment("created_at")?, record.parse("id")?))
    });
    let mut replaced = replaced.collect::<Result<Vec<(Timestamp, ContextId)>, DbError>>()?;
    replaced.sort();
    let values = vec![
        id.into(),
        context.workspace.as_str().into(),
        developer.into(),
        context.session.as_ref().map(AgentSessionId::as_str).into(),
        json(serde_json::to_string(&context.body))?,
        context.created_at.into(),
        context.expires_at.into(),
        context.superseded_by.as_ref().map(ContextId::as_str).into(),
        context.revoked_at.into(),
        repo.into(),
        branch.into(),
    ];
    tx.execute(ADD, values).await?;
    Ok(replaced.into_iter().map(|(_, id)| id).collect())
}

/// Withdraws one; if it was withdrawn before, it stays so since then.
pub(super) async fn revoke(tx: &mut Tx, id: &ContextId, at: Timestamp) -> Result<(), DbError> {
    one(tx.execute(REVOKE, vec![id.as_str().into(), at.into()]).await?, || id.to_string())
}

fn context(row: &Row) -> Result<SharedContext, DbError> {
    let record = Record::of("session_contexts", row);
    let body = serde_json::from_str(record.text("body")?);
    Ok(SharedContext {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        body: body.map_err(|error| record.bad("body", error))?,
        created_at: record.moment("created_at")?,
        expires_at: record.moment("expires_at")?,
        superseded_by: record.parse_or_none("superseded_by")?,
        revoked_at: record.moment_or_none("revoked_at")?,
    })
}
