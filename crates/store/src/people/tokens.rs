//! What is done to the tokens of developers, with the event that tells of it in the same transaction.

use covenant_gate::ports::TokenRecord;
use covenant_gate::ports::people::TokenKept;
use covenant_gate::random;
use covenant_model::id::{DeveloperId, EventId, TokenId};
use covenant_model::principal::{AgentType, Kind, Principal};
use covenant_model::time::Timestamp;
use covenant_team::event::Event;
use serde_json::Map;

use super::{OF_HANDLE, developer};
use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;
use crate::revision;
use crate::team::add_changes;
use crate::tokens::{self, ADD};

const PRESENT: &str = "SELECT id FROM developers WHERE id = $1 AND removed_at IS NULL";

const HELD: &str = "SELECT count(*) AS held FROM tokens WHERE principal = $1 AND revoked_at IS NULL";

const END: &str = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL \
                   RETURNING id, principal, label, agent_type";

const END_ALL: &str = "UPDATE tokens SET revoked_at = $2 WHERE principal = $1 AND revoked_at IS NULL \
                       RETURNING id, principal, label, agent_type";

const END_OWN: &str = "UPDATE tokens SET revoked_at = $2 \
                       WHERE principal = $1 AND revoked_at IS NULL AND agent_type IS NULL \
                       RETURNING id, principal, label, agent_type";

/// What happened to a token, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TokenEvent {
    event: &'static str,
    /// How the token stands after it.
    status: &'static str,
    token: TokenId,
    label: String,
    agent_type: Option<AgentType>,
    /// Whose it is: `dev:HANDLE`.
    principal: Principal,
    at: Timestamp,
}

impl Store {
    /// Writes the work event of a developer's token, in the transaction that makes or ends it.
    async fn note_token_event(tx: &mut Tx, noted: TokenEvent) -> Result<(), DbError> {
        let rows = tx.query(OF_HANDLE, vec![noted.principal.name().into()]).await?;
        let Some(whose) = rows.first().map(developer).transpose()? else { return Ok(()) };
        let random = random::bytes().map_err(|fault| DbError::Failed(fault.cause().to_owned()))?;
        let mut payload = Map::from_iter([("label".to_owned(), noted.label.into())]);
        payload.extend(noted.agent_type.map(|kind| ("agent_type".to_owned(), kind.as_str().into())));
        let event = Event {
            id: EventId::from_random(random),
            workspace: Some(whose.workspace),
            developer: Some(whose.id),
            session: None,
            event: noted.event.to_owned(),
            subject: Some(noted.token.into()),
            status: noted.status.to_owned(),
            payload,
            at: noted.at,
        };
        add_changes(tx, &[event]).await
    }
}

/// Keeps a token, if its developer is here and has room for it.
pub(super) async fn add(
    tx: &mut Tx,
    developer: &DeveloperId,
    record: TokenRecord,
    limit: u64,
) -> Result<TokenKept, DbError> {
    if tx.query(PRESENT, vec![developer.as_str().into()]).await?.is_empty() {
        return Ok(TokenKept::NoDeveloper);
    }
    let rows = tx.query(HELD, vec![record.principal.as_str().into()]).await?;
    let held = rows.first().map_or(Ok(0), |row| Record::of("tokens", row).count("held"))?;
    if held >= limit {
        return Ok(TokenKept::Full);
    }
    let event = TokenEvent {
        event: "token.created",
        status: "valid",
        token: record.id.clone(),
        label: record.label.clone(),
        agent_type: record.badge.agent_type,
        principal: record.principal.clone(),
        at: record.created_at,
    };
    if tx.execute(ADD, tokens::values(record)).await? == 0 {
        return Ok(TokenKept::LabelTaken);
    }
    revision::grow(tx).await?;
    Store::note_token_event(tx, event).await?;
    Ok(TokenKept::Done)
}

/// Ends every valid token of that principal.
pub(super) async fn end_all(tx: &mut Tx, principal: &Principal, at: Timestamp) -> Result<u64, DbError> {
    let rows = tx.query(END_ALL, vec![principal.as_str().into(), at.into()]).await?;
    ended(tx, &rows, at).await
}

/// Ends every valid token of that principal that was not made for an agent.
pub(crate) async fn end_own_tokens(
    tx: &mut Tx,
    principal: &Principal,
    at: Timestamp,
) -> Result<u64, DbError> {
    let rows = tx.query(END_OWN, vec![principal.as_str().into(), at.into()]).await?;
    ended(tx, &rows, at).await
}

/// Ends that token.
pub(crate) async fn end(tx: &mut Tx, id: &TokenId, at: Timestamp) -> Result<bool, DbError> {
    let rows = tx.query(END, vec![id.as_str().into(), at.into()]).await?;
    Ok(ended(tx, &rows, at).await? > 0)
}

async fn ended(tx: &mut Tx, rows: &[Row], at: Timestamp) -> Result<u64, DbError> {
    let mut count = 0;
    for row in rows {
        let record = Record::of("tokens", row);
        let event = TokenEvent {
            event: "token.revoked",
            status: "revoked",
            token: record.parse("id")?,
            label: record.text("label")?.to_owned(),
            agent_type: record.parse_or_none("agent_type")?,
            principal: record.parse("principal")?,
            at,
        };
        if event.principal.kind() == Kind::Developer {
            Store::note_token_event(tx, event).await?;
        }
        count += 1;
    }
    if count > 0 {
        revision::grow(tx).await?;
    }
    Ok(count)
}
