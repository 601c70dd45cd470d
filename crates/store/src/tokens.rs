//! Tokens: kept as hashes, looked up by nobody here (the gate holds them in memory), ended by principal.

use covenant_gate::ports::{Answer, TokenRecord, Tokens};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_model::token::TokenHash;

use crate::db::{DbError, Record, Row};
use crate::open::Store;

impl Tokens for Store {
    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>> {
        Box::pin(async move {
            let sql = "SELECT id, hash, principal, label, created_at, revoked_at FROM tokens";
            let rows = self.db.query(sql, Vec::new()).await?;
            let mut tokens = rows.iter().map(token).collect::<Result<Vec<_>, _>>()?;
            // Here and not in SQL: the two databases may order texts differently.
            tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
            Ok(tokens)
        })
    }

    fn add_token(&self, record: TokenRecord) -> Answer<'_, bool> {
        Box::pin(async move {
            let sql = "INSERT INTO tokens (id, hash, principal, label, created_at, revoked_at) \
                       VALUES ($1, $2, $3, $4, $5, $6) \
                       ON CONFLICT (principal, label) WHERE revoked_at IS NULL DO NOTHING";
            let values = vec![
                record.id.as_str().into(),
                record.hash.0.into(),
                record.principal.as_str().into(),
                record.label.into(),
                record.created_at.into(),
                record.revoked_at.into(),
            ];
            Ok(self.amend(sql, values).await? == 1)
        })
    }

    fn revoke_tokens(&self, principal: Principal, at: Timestamp) -> Answer<'_, u64> {
        Box::pin(async move {
            let sql = "UPDATE tokens SET revoked_at = $2 WHERE principal = $1 AND revoked_at IS NULL";
            Ok(self.amend(sql, vec![principal.as_str().into(), at.into()]).await?)
        })
    }
}

fn token(row: &Row) -> Result<TokenRecord, DbError> {
    let record = Record::of("tokens", row);
    Ok(TokenRecord {
        id: record.parse("id")?,
        hash: TokenHash(record.bytes("hash")?),
        principal: record.parse("principal")?,
        label: record.text("label")?.to_owned(),
        created_at: record.moment("created_at")?,
        revoked_at: record.moment_or_none("revoked_at")?,
    })
}
