//! Messages among teammates, and in whose inbox each is. They are only ever added; what changes is that they are read, and done with.

use covenant_model::id::{AgentSessionId, AskId, DeveloperId, MessageId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::coordination::{Concerning, Delivered, Message, MessageKind};

use super::{details, json, one, or_none};
use crate::db::{DbError, Record, Row, Tx};

macro_rules! columns {
    () => {
        "m.id, m.workspace_id, m.kind, m.developer_id, m.session_id, m.to_id, m.ask_id, m.text, m.details, m.at, m.closed_at"
    };
}

const ADD: &str = "INSERT INTO messages (id, workspace_id, kind, developer_id, session_id, to_id, ask_id, text, details, at, closed_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

const DELIVER: &str = "INSERT INTO inboxes (developer_id, message_id, at, read_at) VALUES ($1, $2, $3, $4)";

const DELIVER_ALL: &str = "INSERT INTO inboxes (developer_id, message_id, at) \
                           SELECT id, $2, CAST($3 AS BIGINT) FROM developers \
                           WHERE workspace_id = $1 AND id <> $4 AND removed_at IS NULL";

const ASK: &str = concat!("SELECT ", columns!(), " FROM messages m WHERE m.ask_id = $1 AND m.kind = 'ask'");

const REPLIES: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM messages m WHERE m.ask_id = $1 AND m.kind = 'reply' ORDER BY m.at, m.id LIMIT $2"
);

const CLOSE: &str = "UPDATE messages SET closed_at = COALESCE(closed_at, $2) WHERE id = $1";

const OPEN_TO: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM messages m WHERE m.workspace_id = $1 AND m.kind = $2 AND m.to_id = $4 AND m.closed_at IS NULL \
     ORDER BY m.at DESC, m.id DESC LIMIT $3"
);

const OPEN_FROM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM messages m WHERE m.developer_id = $4 AND m.kind = $2 AND m.workspace_id = $1 AND m.closed_at IS NULL \
     ORDER BY m.at DESC, m.id DESC LIMIT $3"
);

const RECENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM messages m WHERE m.workspace_id = $1 AND m.kind = $2 ORDER BY m.at DESC, m.id DESC LIMIT $3"
);

const INBOX: &str = concat!(
    "SELECT ",
    columns!(),
    ", i.read_at FROM inboxes i JOIN messages m ON m.id = i.message_id WHERE i.developer_id = $1 \
     ORDER BY i.at DESC, i.message_id DESC LIMIT $2"
);

const UNREAD: &str = concat!(
    "SELECT ",
    columns!(),
    ", i.read_at FROM inboxes i JOIN messages m ON m.id = i.message_id WHERE i.developer_id = $1 AND i.read_at IS NULL \
     ORDER BY i.at DESC, i.message_id DESC LIMIT $2"
);

/// Whoever reads nothing costs no more than whoever reads.
const COUNT: &str = "SELECT count(*) AS unread FROM \
                     (SELECT message_id FROM inboxes WHERE developer_id = $1 AND read_at IS NULL LIMIT $2) counted";

/// Of two who read it at once, one does: the row is looked at again once it is held.
const READ: &str =
    "UPDATE inboxes SET read_at = $3 WHERE developer_id = $1 AND message_id = $2 AND read_at IS NULL";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] =
    &[DELIVER_ALL, ASK, REPLIES, CLOSE, OPEN_TO, OPEN_FROM, RECENT, INBOX, UNREAD, READ];

/// Keeps one, and puts it in inboxes.
pub(super) async fn send(tx: &mut Tx, message: &Message) -> Result<(), DbError> {
    let (id, from) = (message.id.as_str(), message.developer.as_str());
    let values = vec![
        id.into(),
        message.workspace.as_str().into(),
        message.kind.as_str().into(),
        from.into(),
        message.session.as_ref().map(AgentSessionId::as_str).into(),
        message.to.as_ref().map_or("", DeveloperId::as_str).into(),
        message.ask.as_ref().map(AskId::as_str).into(),
        message.text.as_str().into(),
        json(serde_json::to_string(&message.details))?,
        message.at.into(),
        message.closed_at.into(),
    ];
    tx.execute(ADD, values).await?;
    let unread: Option<Timestamp> = None;
    if let Some(to) = &message.to {
        let values = vec![to.as_str().into(), id.into(), message.at.into(), unread.into()];
        tx.execute(DELIVER, values).await?;
    } else {
        let values = vec![message.workspace.as_str().into(), id.into(), message.at.into(), from.into()];
        tx.execute(DELIVER_ALL, values).await?;
    }
    if message.kind.is_said() {
        let values = vec![from.into(), id.into(), message.at.into(), Some(message.at).into()];
        tx.execute(DELIVER, values).await?;
    }
    Ok(())
}

/// The ask with that id.
pub(super) async fn ask(tx: &mut Tx, id: &AskId) -> Result<Option<Message>, DbError> {
    let rows = tx.query(ASK, vec![id.as_str().into()]).await?;
    rows.first().map(message).transpose()
}

/// What was said to it.
pub(super) async fn replies(tx: &mut Tx, ask: &AskId, most: usize) -> Result<Vec<Message>, DbError> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    tx.query(REPLIES, vec![ask.as_str().into(), most.into()]).await?.iter().map(message).collect()
}

/// Notes that nothing is left to do for it.
pub(super) async fn close(tx: &mut Tx, id: &MessageId, at: Timestamp) -> Result<(), DbError> {
    one(tx.execute(CLOSE, vec![id.as_str().into(), at.into()]).await?, || id.to_string())
}

/// Those for which something is left to do.
pub(super) async fn open(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    kind: MessageKind,
    concerning: Concerning<'_>,
    most: u32,
) -> Result<Vec<Message>, DbError> {
    let (sql, whose) = match concerning {
        Concerning::To(developer) => (OPEN_TO, developer.as_str()),
        Concerning::Everybody => (OPEN_TO, ""),
        Concerning::From(developer) => (OPEN_FROM, developer.as_str()),
    };
    let values = vec![workspace.as_str().into(), kind.as_str().into(), u64::from(most).into(), whose.into()];
    tx.query(sql, values).await?.iter().map(message).collect()
}

/// The newest of a kind.
pub(super) async fn recent(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    kind: MessageKind,
    most: u32,
) -> Result<Vec<Message>, DbError> {
    let values = vec![workspace.as_str().into(), kind.as_str().into(), u64::from(most).into()];
    tx.query(RECENT, values).await?.iter().map(message).collect()
}

/// What is in an inbox.
pub(super) async fn inbox(
    tx: &mut Tx,
    developer: &DeveloperId,
    most: u32,
) -> Result<Vec<Delivered>, DbError> {
    delivered(tx, INBOX, developer, most).await
}

/// What is unread in it.
pub(super) async fn unread_inbox(
    tx: &mut Tx,
    developer: &DeveloperId,
    most: u32,
) -> Result<Vec<Delivered>, DbError> {
    delivered(tx, UNREAD, developer, most).await
}

async fn delivered(
    tx: &mut Tx,
    sql: &'static str,
    developer: &DeveloperId,
    most: u32,
) -> Result<Vec<Delivered>, DbError> {
    let rows = tx.query(sql, vec![developer.as_str().into(), u64::from(most).into()]).await?;
    let read = |row| {
        let read_at = Record::of("inboxes", row).moment_or_none("read_at")?;
        Ok(Delivered { message: message(row)?, read_at })
    };
    rows.iter().map(read).collect()
}

/// How much is unread in it.
pub(super) async fn unread(tx: &mut Tx, developer: &DeveloperId, most: u32) -> Result<u64, DbError> {
    let rows = tx.query(COUNT, vec![developer.as_str().into(), u64::from(most).into()]).await?;
    rows.first().map_or(Ok(0), |row| Record::of("inboxes", row).count("unread"))
}

/// Notes that it was read, if it was not.
pub(super) async fn mark_read(
    tx: &mut Tx,
    developer: &DeveloperId,
    id: &MessageId,
    at: Timestamp,
) -> Result<bool, DbError> {
    let values = vec![developer.as_str().into(), id.as_str().into(), at.into()];
    Ok(tx.execute(READ, values).await? == 1)
}

fn message(row: &Row) -> Result<Message, DbError> {
    let record = Record::of("messages", row);
    Ok(Message {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        kind: record.parse("kind")?,
        developer: record.parse("developer_id")?,
        session: record.parse_or_none("session_id")?,
        to: or_none(&record, "to_id")?,
        ask: record.parse_or_none("ask_id")?,
        text: record.text("text")?.to_owned(),
        details: details(&record, "details")?,
        at: record.moment("at")?,
        closed_at: record.moment_or_none("closed_at")?,
    })
}
