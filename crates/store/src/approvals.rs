//! Calls that wait for a person: one entry per call, so many per principal, and none past its time.

use covenant_gate::ports::{Answer, Approvals, Asked, CallToApprove};

use crate::db::{DbError, Record, Tx};
use crate::open::Store;

impl Approvals for Store {
    fn ask(&self, call: CallToApprove, limit: u32) -> Answer<'_, Asked> {
        Box::pin(async move {
            let asked = self.db.write(move |tx| {
                let call = call.clone();
                Box::pin(async move { ask(tx, call, limit).await })
            });
            Ok(asked.await?)
        })
    }
}

async fn ask(tx: &mut Tx, call: CallToApprove, limit: u32) -> Result<Asked, DbError> {
    let now = call.requested_at;
    let sql = "UPDATE approvals SET state = 'expired', shown = '' \
               WHERE state = 'pending' AND expires_at <= $1 AND (principal = $2 OR digest = $3)";
    tx.execute(sql, vec![now.into(), call.principal.as_str().into(), call.digest.into()]).await?;

    let sql = "SELECT id FROM approvals WHERE digest = $1 AND state = 'pending'";
    if let Some(row) = tx.query(sql, vec![call.digest.into()]).await?.first() {
        return Record::of("approvals", row).parse("id").map(Asked::Pending);
    }

    let sql = "SELECT count(*) AS waiting FROM approvals WHERE principal = $1 AND state = 'pending'";
    let rows = tx.query(sql, vec![call.principal.as_str().into()]).await?;
    let waiting = rows.first().map_or(Ok(0), |row| Record::of("approvals", row).count("waiting"))?;
    if waiting >= u64::from(limit) {
        return Ok(Asked::Full);
    }

    let sql = "INSERT INTO approvals \
               (id, digest, tool, principal, grant_id, shown, requested_at, expires_at, state) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending')";
    let values = vec![
        call.id.as_str().into(),
        call.digest.into(),
        call.tool.into(),
        call.principal.as_str().into(),
        call.grant.as_str().into(),
        // Neither database keeps a NUL in a text; a person could not see it anyway.
        call.view.replace('\0', "\u{fffd}").into(),
        call.requested_at.into(),
        call.expires_at.into(),
    ];
    tx.execute(sql, values).await?;
    Ok(Asked::Pending(call.id))
}
