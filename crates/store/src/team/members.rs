//! Who is a member: a developer by its handle, the operator and its clients as the one that is called `local`; a run of an agent
//! is nobody, since it works as whoever sent it.

use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::{Kind, Principal};
use covenant_team::port::Member;

use super::sheaf;
use crate::db::{DbError, Record, Row, Tx};

/// The handle of whoever has none of their own: the operator and its clients.
const LOCAL: &str = "local";

const BY_HANDLE: &str =
    "SELECT id, workspace_id, handle, private FROM developers WHERE handle = $1 AND removed_at IS NULL";

const CALLED: &str = "SELECT id, workspace_id, handle, private FROM developers \
                      WHERE handle = $1 AND workspace_id = $2 AND removed_at IS NULL";

/// Whoever was removed is still who did what is kept of it.
const BY_ID: &str = "SELECT id, workspace_id, handle, private FROM developers WHERE id = $1";

const HERE: &str = "SELECT id FROM developers WHERE id = $1 AND removed_at IS NULL";

const THESE: &str = "SELECT id, workspace_id, handle, private FROM developers WHERE id IN ";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[BY_HANDLE, CALLED, BY_ID, HERE];

/// Who that principal is.
pub(super) async fn member(tx: &mut Tx, principal: &Principal) -> Result<Option<Member>, DbError> {
    let handle = match principal.kind() {
        Kind::Developer => principal.name(),
        Kind::Operator | Kind::Client => LOCAL,
        // Who sent it is asked for, and not the run: to take it for the operator would open the operator's workspace to it.
        Kind::Agent => return Ok(None),
    };
    first(&tx.query(BY_HANDLE, vec![handle.into()]).await?)
}

/// The one of that team with that handle.
pub(super) async fn called(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    handle: &str,
) -> Result<Option<Member>, DbError> {
    first(&tx.query(CALLED, vec![handle.into(), workspace.as_str().into()]).await?)
}

/// The one with that id.
pub(super) async fn with(tx: &mut Tx, id: &DeveloperId) -> Result<Option<Member>, DbError> {
    first(&tx.query(BY_ID, vec![id.as_str().into()]).await?)
}

/// Whether the one with that id was not removed.
pub(super) async fn is_here(tx: &mut Tx, id: &DeveloperId) -> Result<bool, DbError> {
    Ok(!tx.query(HERE, vec![id.as_str().into()]).await?.is_empty())
}

/// Those with these ids, in no order.
pub(super) async fn these(tx: &mut Tx, ids: &[DeveloperId]) -> Result<Vec<Member>, DbError> {
    let ids: Vec<&str> = ids.iter().map(DeveloperId::as_str).collect();
    sheaf::query(tx, THESE, &ids).await?.iter().map(of).collect()
}

fn first(rows: &[Row]) -> Result<Option<Member>, DbError> {
    rows.first().map(of).transpose()
}

fn of(row: &Row) -> Result<Member, DbError> {
    let record = Record::of("developers", row);
    Ok(Member {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        handle: record.text("handle")?.to_owned(),
        private: record.count("private")? > 0,
    })
}
