//! Passkeys on either database: whose they are, what they have counted, and that the last way in is not removed.

use covenant_gate::ports::Answer;
use covenant_gate::ports::passkeys::{Added, MOST, NewPasskey, Passkey, Passkeys, Removed};
use covenant_gate::ports::signin::Opening;
use covenant_model::id::DeveloperId;
use covenant_model::team::Handle;
use covenant_model::time::Timestamp;

use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;

const ONE: &str = "SELECT p.id, p.developer_id, p.public_key, p.counter, p.created_at, p.used_at, d.handle \
                   FROM passkeys p JOIN developers d ON d.id = p.developer_id \
                   WHERE p.id = $1 AND d.removed_at IS NULL";

const THEIRS: &str = "SELECT id, public_key, created_at, used_at FROM passkeys \
                      WHERE developer_id = $1 ORDER BY created_at, id";

const PRESENT: &str = "SELECT id FROM developers WHERE id = $1 AND removed_at IS NULL";

const KEEP: &str = "INSERT INTO passkeys (id, developer_id, public_key, counter, created_at, used_at) \
                    VALUES ($1, $2, $3, $4, $5, NULL)";

const COUNT: &str = "UPDATE passkeys SET counter = $2, used_at = $3 WHERE id = $1";

const REMOVE: &str = "DELETE FROM passkeys WHERE id = $1 AND developer_id = $2";

/// How many ways in somebody has.
const WAYS: &str = "SELECT (SELECT count(*) FROM passkeys WHERE developer_id = $1) \
                    + (SELECT count(*) FROM passwords WHERE developer_id = $1) \
                    + (SELECT count(*) FROM oidc_subjects WHERE developer_id = $1) AS ways";

impl Passkeys for Store {
    fn passkey(&self, id: Vec<u8>) -> Answer<'_, Option<(Handle, DeveloperId, Passkey)>> {
        Box::pin(async move {
            let rows = self.db.query(ONE, vec![id.into()]).await?;
            Ok(rows.first().map(whole).transpose()?)
        })
    }

    fn passkeys(&self, developer: DeveloperId) -> Answer<'_, Vec<Passkey>> {
        Box::pin(async move {
            let rows = self.db.query(THEIRS, vec![developer.as_str().into()]).await?;
            Ok(rows.iter().map(passkey).collect::<Result<Vec<_>, _>>()?)
        })
    }

    fn add_passkey(&self, developer: DeveloperId, new: NewPasskey, at: Timestamp) -> Answer<'_, Added> {
        Box::pin(async move {
            let added = self.db.write(move |tx| {
                let (developer, new) = (developer.clone(), new.clone());
                Box::pin(async move { add(tx, &developer, &new, at).await })
            });
            Ok(added.await?)
        })
    }

    fn remove_passkey(&self, developer: DeveloperId, id: Vec<u8>) -> Answer<'_, Removed> {
        Box::pin(async move {
            let removed = self.db.write(move |tx| {
                let (developer, id) = (developer.clone(), id.clone());
                Box::pin(async move { remove(tx, &developer, id).await })
            });
            Ok(removed.await?)
        })
    }
}

/// Whose passkey that is.
pub(crate) async fn owner(tx: &mut Tx, id: &[u8]) -> Result<Option<DeveloperId>, DbError> {
    let rows = tx.query(ONE, vec![id.to_vec().into()]).await?;
    rows.first().map(|row| Record::of("passkeys", row).parse("developer_id")).transpose()
}

/// Keeps a passkey of theirs.
pub(crate) async fn keep(
    tx: &mut Tx,
    developer: &DeveloperId,
    new: &NewPasskey,
    at: Timestamp,
) -> Result<(), DbError> {
    let values = vec![
        new.id.clone().into(),
        developer.as_str().into(),
        new.key.clone().into(),
        i64::from(new.counter).into(),
        at.into(),
    ];
    tx.execute(KEEP, values).await.map(drop)
}

/// Notes what their passkey has counted, unless that is less than before. One that never counts says zero each time.
pub(crate) async fn count(
    tx: &mut Tx,
    developer: &DeveloperId,
    id: &[u8],
    counted: u32,
    at: Timestamp,
) -> Result<Opening, DbError> {
    let rows = tx.query(ONE, vec![id.to_vec().into()]).await?;
    let Some(row) = rows.first() else { return Ok(Opening::Gone) };
    let record = Record::of("passkeys", row);
    if record.parse::<DeveloperId>("developer_id")? != *developer {
        return Ok(Opening::Gone);
    }
    let (kept, counted) = (record.count("counter")?, u64::from(counted));
    if counted <= kept && (kept, counted) != (0, 0) {
        return Ok(Opening::CountedBack);
    }
    tx.execute(COUNT, vec![id.to_vec().into(), counted.into(), at.into()]).await?;
    Ok(Opening::Done)
}

async fn add(
    tx: &mut Tx,
    developer: &DeveloperId,
    new: &NewPasskey,
    at: Timestamp,
) -> Result<Added, DbError> {
    let own = || vec![developer.as_str().into()];
    if tx.query(PRESENT, own()).await?.is_empty() {
        return Ok(Added::Gone);
    }
    if owner(tx, &new.id).await?.is_some() {
        return Ok(Added::Taken);
    }
    if tx.query(THEIRS, own()).await?.len() >= MOST {
        return Ok(Added::Full);
    }
    keep(tx, developer, new, at).await?;
    Ok(Added::Done)
}

async fn remove(tx: &mut Tx, developer: &DeveloperId, id: Vec<u8>) -> Result<Removed, DbError> {
    let ways = tx.query(WAYS, vec![developer.as_str().into()]).await?;
    let ways = ways.first().map(|row| Record::of("passkeys", row).count("ways")).transpose()?;
    let own = owner(tx, &id).await?.is_some_and(|owner| owner == *developer);
    if own && ways.is_none_or(|ways| ways < 2) {
        return Ok(Removed::Last);
    }
    let removed = tx.execute(REMOVE, vec![id.into(), developer.as_str().into()]).await?;
    Ok(if removed == 0 { Removed::Unknown } else { Removed::Done })
}

fn whole(row: &Row) -> Result<(Handle, DeveloperId, Passkey), DbError> {
    let record = Record::of("passkeys", row);
    Ok((record.parse("handle")?, record.parse("developer_id")?, passkey(row)?))
}

fn passkey(row: &Row) -> Result<Passkey, DbError> {
    let record = Record::of("passkeys", row);
    Ok(Passkey {
        id: record.blob("id")?,
        key: record.blob("public_key")?,
        created_at: record.moment("created_at")?,
        used_at: record.moment_or_none("used_at")?,
    })
}
