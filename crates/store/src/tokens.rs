//! Tokens: kept as hashes, looked up by nobody here (the gate holds them in memory), ended by principal.

use covenant_gate::ports::{Answer, Badge, TokenRecord, Tokens};
use covenant_model::id::TokenId;
use covenant_model::principal::{AgentType, Principal};
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use crate::db::{DbError, Record, Row, Value};
use crate::open::Store;
use crate::people;

/// Keeps a token, unless its principal holds a valid one with its label.
pub(crate) const ADD: &str = "INSERT INTO tokens \
                              (id, hash, principal, label, created_at, revoked_at, agent_type, may_approve) \
                              VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
                              ON CONFLICT (principal, label) WHERE revoked_at IS NULL DO NOTHING";

impl Tokens for Store {
    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>> {
        Box::pin(async move {
            let sql = "SELECT id, hash, principal, label, agent_type, may_approve, created_at, revoked_at FROM tokens";
            let rows = self.db.query(sql, Vec::new()).await?;
            let mut tokens = rows.iter().map(token).collect::<Result<Vec<_>, _>>()?;
            // Here and not in SQL: the two databases may order texts differently.
            tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
            Ok(tokens)
        })
    }

    fn add_token(&self, record: TokenRecord) -> Answer<'_, bool> {
        Box::pin(async move { Ok(self.amend(ADD, values(record)).await? == 1) })
    }

    fn revoke_tokens(&self, principal: Principal, at: Timestamp) -> Answer<'_, u64> {
        Box::pin(async move {
            let sql = "UPDATE tokens SET revoked_at = $2 WHERE principal = $1 AND revoked_at IS NULL";
            Ok(self.amend(sql, vec![principal.as_str().into(), at.into()]).await?)
        })
    }

    fn revoke_token(&self, id: TokenId, at: Timestamp) -> Answer<'_, bool> {
        Box::pin(async move {
            let revoked = self.db.write(move |tx| {
                let id = id.clone();
                Box::pin(async move { people::end_token(tx, &id, at).await })
            });
            Ok(revoked.await?)
        })
    }
}

/// What [`ADD`] is given.
pub(crate) fn values(record: TokenRecord) -> Vec<Value> {
    vec![
        record.id.as_str().into(),
        record.hash.0.into(),
        record.principal.as_str().into(),
        record.label.into(),
        record.created_at.into(),
        record.revoked_at.into(),
        record.badge.agent_type.map(AgentType::as_str).into(),
        i64::from(record.badge.may_approve).into(),
    ]
}

fn token(row: &Row) -> Result<TokenRecord, DbError> {
    let record = Record::of("tokens", row);
    Ok(TokenRecord {
        id: record.parse("id")?,
        hash: TokenHash(record.bytes("hash")?),
        principal: record.parse("principal")?,
        label: record.text("label")?.to_owned(),
        badge: Badge {
            agent_type: record.parse_or_none("agent_type")?,
            may_approve: record.count("may_approve")? > 0,
        },
        created_at: record.moment("created_at")?,
        revoked_at: record.moment_or_none("revoked_at")?,
    })
}
