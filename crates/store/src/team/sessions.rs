//! What is known of agents at work: sessions, which end once; how repositories look, and companions, of which the last word counts.

use covenant_model::id::{AgentSessionId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::port::survey::Whose;
use covenant_team::session::{Companion, Session, Snapshot};

use super::{list, one};
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "id, workspace_id, developer_id, agent_name, agent_type, provider, model, repo, branch, started_at, \
         last_seen_at, ended_at"
    };
}

const ADD: &str = concat!(
    "INSERT INTO agent_sessions (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);

const ONE: &str = concat!("SELECT ", columns!(), " FROM agent_sessions WHERE id = $1");

const SEEN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM agent_sessions WHERE workspace_id = $1 AND last_seen_at >= $2 \
     ORDER BY last_seen_at DESC, id DESC LIMIT $3"
);

const SILENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM agent_sessions WHERE workspace_id = $1 AND ended_at IS NULL AND last_seen_at >= $2 AND last_seen_at < $3 \
     ORDER BY last_seen_at DESC, id DESC LIMIT $4"
);

const OWN_SILENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM agent_sessions WHERE developer_id = $1 AND ended_at IS NULL AND last_seen_at >= $2 AND last_seen_at < $3 \
     ORDER BY last_seen_at DESC, id DESC LIMIT $4"
);

/// Two calls in one session may come at once: whichever is later, what was over stays over, and nothing was seen earlier
/// than it was.
const SAVE: &str = "UPDATE agent_sessions \
                    SET last_seen_at = CASE WHEN last_seen_at > $2 THEN last_seen_at ELSE $2 END, \
                    ended_at = COALESCE(ended_at, $3) WHERE id = $1";

const SNAPSHOT: &str = "INSERT INTO local_worktrees (developer_id, session_id, repo, branch, worktree, workspace_id, \
                        dirty_files, unpushed_files, diff_hashes, recent_commits, at) \
                        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                        ON CONFLICT (developer_id, session_id, repo, branch, worktree) DO UPDATE SET \
                        workspace_id = excluded.workspace_id, dirty_files = excluded.dirty_files, \
                        unpushed_files = excluded.unpushed_files, diff_hashes = excluded.diff_hashes, \
                        recent_commits = excluded.recent_commits, at = excluded.at";

const COMPANION: &str = "INSERT INTO companions (developer_id, version, repos, at) VALUES ($1, $2, $3, $4) \
                         ON CONFLICT (developer_id) DO UPDATE SET \
                         version = COALESCE(excluded.version, companions.version), \
                         repos = COALESCE(excluded.repos, companions.repos), at = excluded.at";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ONE, SEEN, SILENT, OWN_SILENT, SAVE];

/// The one with that id.
pub(super) async fn find(tx: &mut Tx, id: &AgentSessionId) -> Result<Option<Session>, DbError> {
    let rows = tx.query(ONE, vec![id.as_str().into()]).await?;
    rows.first().map(session).transpose()
}

/// Those that were heard of since then, newest first.
pub(super) async fn seen(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    since: Timestamp,
    most: u32,
) -> Result<Vec<Session>, DbError> {
    let values = vec![workspace.as_str().into(), since.into(), u64::from(most).into()];
    tx.query(SEEN, values).await?.iter().map(session).collect()
}

/// Those that were not ended, and last heard of since the first moment and before the second, newest first.
pub(super) async fn silent(
    tx: &mut Tx,
    whose: Whose<'_>,
    since: Timestamp,
    before: Timestamp,
    most: u32,
) -> Result<Vec<Session>, DbError> {
    let (sql, id) = match whose {
        Whose::Team(id) => (SILENT, id.as_str()),
        Whose::Own(id) => (OWN_SILENT, id.as_str()),
    };
    let values = vec![id.into(), since.into(), before.into(), u64::from(most).into()];
    tx.query(sql, values).await?.iter().map(session).collect()
}

/// Keeps a new one.
pub(super) async fn add(tx: &mut Tx, session: &Session) -> Result<(), DbError> {
    let values = vec![
        session.id.as_str().into(),
        session.workspace.as_str().into(),
        session.developer.as_str().into(),
        session.agent_name.as_deref().into(),
        session.agent_type.as_deref().into(),
        session.provider.as_deref().into(),
        session.model.as_deref().into(),
        session.repo.as_deref().into(),
        session.branch.as_deref().into(),
        session.started_at.into(),
        session.last_seen_at.into(),
        session.ended_at.into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

/// Notes when it was heard of, and when it was over.
pub(super) async fn save(tx: &mut Tx, session: &Session) -> Result<(), DbError> {
    let values = vec![session.id.as_str().into(), session.last_seen_at.into(), session.ended_at.into()];
    one(tx.execute(SAVE, values).await?, || session.id.to_string())
}

/// Keeps how a repository looks, in place of what was known of it.
pub(super) async fn save_snapshot(tx: &mut Tx, snapshot: &Snapshot) -> Result<(), DbError> {
    let values = vec![
        snapshot.developer.as_str().into(),
        snapshot.session.as_ref().map_or("", |session| session.as_str()).into(),
        snapshot.repo.as_str().into(),
        snapshot.branch.as_str().into(),
        snapshot.worktree.as_str().into(),
        snapshot.workspace.as_str().into(),
        list(&snapshot.dirty_files)?,
        list(&snapshot.unpushed_files)?,
        list(&snapshot.diff_hashes)?,
        list(&snapshot.recent_commits)?,
        snapshot.at.into(),
    ];
    tx.execute(SNAPSHOT, values).await.map(drop)
}

/// Keeps a sign of life; what it does not say stays.
pub(super) async fn save_companion(tx: &mut Tx, companion: &Companion) -> Result<(), DbError> {
    let values = vec![
        companion.developer.as_str().into(),
        companion.version.as_deref().into(),
        companion.repos.as_deref().map(list).transpose()?.into(),
        companion.at.into(),
    ];
    tx.execute(COMPANION, values).await.map(drop)
}

fn session(row: &Row) -> Result<Session, DbError> {
    let record = Record::of("agent_sessions", row);
    Ok(Session {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        developer: record.parse("developer_id")?,
        agent_name: record.text_or_none("agent_name")?,
        agent_type: record.text_or_none("agent_type")?,
        provider: record.text_or_none("provider")?,
        model: record.text_or_none("model")?,
        repo: record.text_or_none("repo")?,
        branch: record.text_or_none("branch")?,
        started_at: record.moment("started_at")?,
        last_seen_at: record.moment("last_seen_at")?,
        ended_at: record.moment_or_none("ended_at")?,
    })
}
