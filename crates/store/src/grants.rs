//! Signed grants and their counters. Each reservation is one UPDATE, so that no two callers see the same number.

mod window;

use covenant_gate::ports::{Allowance, Answer, Grants, Reservation};
use covenant_gate::refusal::Fault;
use covenant_model::grant::{Grant, SignedGrant};
use covenant_model::id::GrantId;
use covenant_model::principal::{Principal, Subject};
use covenant_model::time::Timestamp;

use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;
use crate::revision;
use window::Window;

/// Those that were not revoked.
pub(crate) const VALID: &str = "SELECT id, document, signer, signature FROM grants WHERE revoked_at IS NULL";

const REVOKE: &str = "UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";

const TAKE: &str = "UPDATE grants SET used = used + 1, tat_us = CASE \
                        WHEN tat_us > $7 THEN $6 \
                        WHEN tat_us < $3 THEN $3 + $4 \
                        ELSE tat_us + $4 END \
                    WHERE id = $1 AND revoked_at IS NULL AND used < $2 AND (tat_us <= $5 OR tat_us > $7) \
                    RETURNING used";

impl Grants for Store {
    fn grants(&self) -> Answer<'_, Vec<SignedGrant>> {
        Box::pin(async move {
            let rows = self.db.query(VALID, Vec::new()).await?;
            let mut grants = rows.iter().map(grant).collect::<Result<Vec<_>, _>>()?;
            // Here and not in SQL: the two databases may order texts differently.
            grants.sort_by(|a, b| (a.grant.granted_at, &a.grant.id).cmp(&(b.grant.granted_at, &b.grant.id)));
            Ok(grants)
        })
    }

    fn add_grant(&self, grant: SignedGrant) -> Answer<'_, ()> {
        Box::pin(async move {
            let document = serde_json::to_string(&grant.grant)
                .map_err(|error| Fault::new("the grant cannot be written as JSON", error))?;
            let sql = "INSERT INTO grants (id, document, signer, signature, granted_at) VALUES ($1, $2, $3, $4, $5)";
            let values = vec![
                grant.grant.id.as_str().into(),
                document.into(),
                grant.key.into(),
                grant.signature.into(),
                grant.grant.granted_at.into(),
            ];
            self.amend(sql, values).await?;
            Ok(())
        })
    }

    fn revoke_grant(&self, id: GrantId, at: Timestamp) -> Answer<'_, bool> {
        Box::pin(async move { Ok(self.amend(REVOKE, vec![id.as_str().into(), at.into()]).await? == 1) })
    }

    fn reserve(&self, id: GrantId, allowance: Allowance, now: Timestamp) -> Answer<'_, Reservation> {
        Box::pin(async move { Ok(self.take(&id, Window::of(allowance, now)).await?) })
    }

    fn spent_grants(&self) -> Answer<'_, Vec<GrantId>> {
        Box::pin(async move {
            let sql = "SELECT id, document, signer, signature, used FROM grants WHERE revoked_at IS NULL AND used > 0";
            let rows = self.db.query(sql, Vec::new()).await?;
            let mut spent = Vec::new();
            for row in &rows {
                let used = u64::try_from(Record::of("grants", row).int("used")?).unwrap_or(u64::MAX);
                let grant = grant(row)?.grant;
                if grant.constraints.max_calls.is_some_and(|most| used >= most) {
                    spent.push(grant.id);
                }
            }
            Ok(spent)
        })
    }

    fn give_back(&self, id: GrantId, allowance: Allowance) -> Answer<'_, ()> {
        Box::pin(async move {
            let sql = "UPDATE grants SET used = used - 1, \
                       tat_us = CASE WHEN tat_us > $2 THEN tat_us - $2 ELSE 0 END \
                       WHERE id = $1 AND used > 0";
            let interval = window::interval(allowance);
            self.db.execute(sql, vec![id.as_str().into(), interval.into()]).await?;
            Ok(())
        })
    }
}

impl Store {
    async fn take(&self, id: &GrantId, window: Window) -> Result<Reservation, DbError> {
        // A call may be given back between the refusal and the look at its reason; then it is worth another try.
        for _ in 0..8 {
            let Window { most, now, interval, latest, full, absurd } = window;
            let mut values = vec![id.as_str().into()];
            values.extend([most, now, interval, latest, full, absurd].map(Into::into));
            if let Some(row) = self.db.change(TAKE, values).await?.first() {
                let used = Record::of("grants", row).int("used")?;
                return Ok(if used < most { Reservation::Taken } else { Reservation::TakenLast });
            }
            let sql = "SELECT id, used, tat_us FROM grants WHERE id = $1 AND revoked_at IS NULL";
            let rows = self.db.query(sql, vec![id.as_str().into()]).await?;
            // A grant that is gone, or was revoked by another daemon, has nothing left.
            let Some(row) = rows.first() else { return Ok(Reservation::Spent) };
            let record = Record::of("grants", row);
            if let Some(refusal) = window.refusal(record.int("used")?, record.int("tat_us")?) {
                return Ok(refusal);
            }
        }
        Err(DbError::Conflict(format!("the counters of {id} kept changing")))
    }
}

/// Takes back every grant that names that principal; which those were.
pub(crate) async fn end_all(
    tx: &mut Tx,
    principal: &Principal,
    at: Timestamp,
) -> Result<Vec<GrantId>, DbError> {
    let whose = Subject::One(principal.clone());
    let mut ended = Vec::new();
    for row in &tx.query(VALID, Vec::new()).await? {
        let Grant { id, subject, .. } = grant(row)?.grant;
        if subject == whose && tx.execute(REVOKE, vec![id.as_str().into(), at.into()]).await? > 0 {
            ended.push(id);
        }
    }
    if !ended.is_empty() {
        revision::grow(tx).await?;
    }
    Ok(ended)
}

/// The grant in a row.
pub(crate) fn grant(row: &Row) -> Result<SignedGrant, DbError> {
    let record = Record::of("grants", row);
    let id: GrantId = record.parse("id")?;
    let grant: Grant =
        serde_json::from_str(record.text("document")?).map_err(|error| record.bad("document", error))?;
    if grant.id != id {
        return Err(record.bad("document", format!("is that of {}", grant.id)));
    }
    Ok(SignedGrant { grant, key: record.bytes("signer")?, signature: record.bytes("signature")? })
}
