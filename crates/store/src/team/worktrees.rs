//! How the repositories of a team look, as its agents said lately.

use covenant_model::id::{AgentSessionId, WorkspaceId};
use covenant_team::session::{Elsewhere, Worktree};

use super::texts;
use crate::db::{DbError, Record, Row, Tx};

/// Only what is compared: what else a snapshot says can be long.
const RECENT: &str = "SELECT developer_id, session_id, repo, branch, dirty_files, unpushed_files, at FROM local_worktrees \
                      WHERE workspace_id = $1 AND at >= $2 AND ($3 = '' OR repo = $3) \
                      AND NOT (developer_id = $4 AND session_id = $5) ORDER BY at DESC LIMIT $6";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[RECENT];

/// The newest of a team.
pub(super) async fn recent(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    of: Elsewhere<'_>,
    most: u32,
) -> Result<Vec<Worktree>, DbError> {
    let values = vec![
        workspace.as_str().into(),
        of.since.into(),
        of.repo.into(),
        of.developer.as_str().into(),
        of.session.map_or("", AgentSessionId::as_str).into(),
        u64::from(most).into(),
    ];
    tx.query(RECENT, values).await?.iter().map(worktree).collect()
}

fn worktree(row: &Row) -> Result<Worktree, DbError> {
    let record = Record::of("local_worktrees", row);
    let text = |column| record.text(column).map(ToOwned::to_owned);
    Ok(Worktree {
        developer: record.parse("developer_id")?,
        session: super::or_none(&record, "session_id")?,
        repo: text("repo")?,
        branch: text("branch")?,
        dirty_files: texts(&record, "dirty_files")?,
        unpushed_files: texts(&record, "unpushed_files")?,
        at: record.moment("at")?,
    })
}
