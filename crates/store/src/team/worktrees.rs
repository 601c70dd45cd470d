//! How the repositories of a team look, as its agents said lately.

use covenant_model::id::WorkspaceId;
use covenant_model::time::Timestamp;
use covenant_team::session::Snapshot;

use super::texts;
use crate::db::{DbError, Record, Row, Tx};

const RECENT: &str = "SELECT workspace_id, developer_id, session_id, repo, branch, worktree, dirty_files, unpushed_files, \
                      diff_hashes, recent_commits, at FROM local_worktrees \
                      WHERE workspace_id = $1 AND at >= $2 ORDER BY at DESC LIMIT $3";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[RECENT];

/// The newest of a team since then.
pub(super) async fn recent(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Snapshot>, DbError> {
    let values = vec![workspace.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(RECENT, values).await?.iter().map(snapshot).collect()
}

fn snapshot(row: &Row) -> Result<Snapshot, DbError> {
    let record = Record::of("local_worktrees", row);
    let text = |column| record.text(column).map(ToOwned::to_owned);
    Ok(Snapshot {
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        session: super::or_none(&record, "session_id")?,
        repo: text("repo")?,
        branch: text("branch")?,
        worktree: text("worktree")?,
        dirty_files: texts(&record, "dirty_files")?,
        unpushed_files: texts(&record, "unpushed_files")?,
        diff_hashes: texts(&record, "diff_hashes")?,
        recent_commits: texts(&record, "recent_commits")?,
        at: record.moment("at")?,
    })
}
