//! What waits for a person, and what people decided: one entry per thing asked, so many per principal, none past its time.

use covenant_gate::ports::{Answer, ApprovalRecord, Approvals, Asked, Decided, Question, Verdict};
use covenant_model::approval::{Approval, ApprovalKind, ApprovalStatus};
use covenant_model::id::ApprovalId;
use covenant_model::time::Timestamp;

use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;

/// How many decided entries a list holds.
const DECIDED: i64 = 200;

/// The entries that say how something stands: of many that were asked one after the other, the last few.
const SAME: &str = "a.digest = $1 AND a.kind = $2 AND a.tool = $3 \
     AND a.state IN ('pending', 'approved', 'rejected') ORDER BY a.requested_at DESC LIMIT 4";

/// Every column of an entry but what is shown, which is long, and whether another text of its name was approved.
const COLUMNS: &str = "a.id, a.kind, a.tool, a.state, a.sha256, a.principal, a.requested_at, a.expires_at, \
     a.decided_at, a.decided_by, a.reason, \
     (SELECT count(*) FROM approvals e WHERE e.kind = a.kind AND e.tool = a.tool AND e.state = 'approved' \
      AND e.digest <> a.digest AND a.kind <> 'call') AS earlier";

impl Approvals for Store {
    fn ask(&self, question: Question, limit: u32) -> Answer<'_, Asked> {
        Box::pin(async move {
            let asked = self.db.write(move |tx| {
                let question = question.clone();
                Box::pin(async move { ask(tx, question, limit).await })
            });
            Ok(asked.await?)
        })
    }

    fn standing(
        &self,
        kind: ApprovalKind,
        name: String,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<Asked>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS} FROM approvals a WHERE {SAME}");
            let values = vec![digest.into(), kind.as_str().into(), name.into()];
            let rows = self.db.query(sql, values).await?;
            Ok(latest(&rows, now)?.and_then(|entry| standing(&entry)))
        })
    }

    fn approvals(&self, decided: bool, now: Timestamp) -> Answer<'_, Vec<Approval>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM approvals a WHERE a.state = 'pending' AND a.expires_at > $1 \
                 ORDER BY a.requested_at"
            );
            let mut rows = self.db.query(sql, vec![now.into()]).await?;
            if decided {
                let sql = format!(
                    "SELECT {COLUMNS} FROM approvals a WHERE a.state <> 'pending' OR a.expires_at <= $1 \
                     ORDER BY a.requested_at DESC LIMIT {DECIDED}"
                );
                rows.extend(self.db.query(sql, vec![now.into()]).await?);
            }
            let mut entries = rows.iter().map(|row| entry(row, now)).collect::<Result<Vec<_>, DbError>>()?;
            entries.sort_by(|a, b| {
                let key = |entry: &Approval| (entry.status.waits(), entry.requested_at);
                key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
            });
            Ok(entries)
        })
    }

    fn approval(
        &self,
        id: ApprovalId,
        now: Timestamp,
    ) -> Answer<'_, Option<(ApprovalRecord, Option<ApprovalRecord>)>> {
        Box::pin(async move {
            let sql = format!("SELECT {COLUMNS}, a.shown FROM approvals a WHERE a.id = $1");
            let rows = self.db.query(sql, vec![id.as_str().into()]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let own = record(row, now)?;
            let sql = format!(
                "SELECT {COLUMNS}, a.shown FROM approvals a WHERE a.kind = $1 AND a.tool = $2 AND a.state = 'approved' \
                 AND a.id <> $3 AND a.sha256 <> $4 AND a.kind <> 'call' ORDER BY a.decided_at DESC LIMIT 1"
            );
            let values = vec![
                own.entry.kind.as_str().into(),
                own.entry.name.as_str().into(),
                id.as_str().into(),
                own.entry.sha256.as_str().into(),
            ];
            let before = self.db.query(sql, values).await?;
            let before = before.first().map(|row| record(row, now)).transpose()?;
            Ok(Some((own, before)))
        })
    }

    fn decide(&self, id: ApprovalId, verdict: Verdict) -> Answer<'_, Decided> {
        Box::pin(async move {
            let decided = self.db.write(move |tx| {
                let (id, verdict) = (id.clone(), verdict.clone());
                Box::pin(async move { decide(tx, &id, verdict).await })
            });
            Ok(decided.await?)
        })
    }

    fn withdraw(&self, id: ApprovalId) -> Answer<'_, ()> {
        Box::pin(async move {
            let sql = "DELETE FROM approvals WHERE id = $1 AND state = 'pending'";
            self.db.execute(sql, vec![id.as_str().into()]).await?;
            Ok(())
        })
    }

    fn reopen(&self, id: ApprovalId, decided_at: Timestamp) -> Answer<'_, ()> {
        Box::pin(async move {
            let sql = "UPDATE approvals SET decided_at = NULL, decided_by = '', reason = '', \
                       state = CASE WHEN kind = 'call' AND state = 'rejected' THEN 'expired' ELSE 'pending' END \
                       WHERE id = $1 AND state IN ('approved', 'rejected') AND decided_at = $2";
            self.db.execute(sql, vec![id.as_str().into(), decided_at.into()]).await?;
            Ok(())
        })
    }

    fn use_up(&self, id: ApprovalId, now: Timestamp) -> Answer<'_, bool> {
        Box::pin(async move {
            let sql = "UPDATE approvals SET state = 'used', shown = '' \
                       WHERE id = $1 AND state = 'approved' AND kind = 'call' AND expires_at > $2";
            Ok(self.db.execute(sql, vec![id.as_str().into(), now.into()]).await? == 1)
        })
    }
}

async fn ask(tx: &mut Tx, question: Question, limit: u32) -> Result<Asked, DbError> {
    let now = question.requested_at;
    let sql = "UPDATE approvals SET state = 'expired', shown = '' \
               WHERE (state = 'pending' OR kind = 'call' AND state IN ('approved', 'rejected')) \
               AND expires_at <= $1 AND (principal = $2 OR digest = $3)";
    tx.execute(sql, vec![now.into(), question.principal.as_str().into(), question.digest.into()]).await?;

    let sql = format!("SELECT {COLUMNS} FROM approvals a WHERE {SAME}");
    let values = vec![question.digest.into(), question.kind.as_str().into(), question.name.as_str().into()];
    if let Some(asked) = latest(&tx.query(sql, values).await?, now)?.and_then(|entry| standing(&entry)) {
        return Ok(asked);
    }

    let sql = "SELECT count(*) AS waiting FROM approvals WHERE principal = $1 AND state = 'pending'";
    let rows = tx.query(sql, vec![question.principal.as_str().into()]).await?;
    let waiting = rows.first().map_or(Ok(0), |row| Record::of("approvals", row).count("waiting"))?;
    if waiting >= u64::from(limit) {
        return Ok(Asked::Full);
    }
    insert(tx, &question).await?;
    let sql = format!("SELECT {COLUMNS} FROM approvals a WHERE a.id = $1");
    let rows = tx.query(sql, vec![question.id.as_str().into()]).await?;
    let modified = rows.first().map_or(Ok(0), |row| Record::of("approvals", row).count("earlier"))? > 0;
    Ok(Asked::Pending { id: question.id, modified })
}

async fn insert(tx: &mut Tx, question: &Question) -> Result<(), DbError> {
    let sql = "INSERT INTO approvals \
               (id, digest, tool, principal, grant_id, shown, requested_at, expires_at, state, kind, sha256) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $10)";
    let values = vec![
        question.id.as_str().into(),
        question.digest.into(),
        question.name.as_str().into(),
        question.principal.as_str().into(),
        question.grant.as_ref().map_or("", |grant| grant.as_str()).into(),
        // Neither database keeps a NUL in a text; a person could not see it anyway.
        question.view.replace('\0', "\u{fffd}").into(),
        question.requested_at.into(),
        question.expires_at.into(),
        question.kind.as_str().into(),
        hex(&question.sha256).into(),
    ];
    tx.execute(sql, values).await.map(drop)
}

async fn decide(tx: &mut Tx, id: &ApprovalId, verdict: Verdict) -> Result<Decided, DbError> {
    let state = if verdict.approve { "approved" } else { "rejected" };
    // The text of a script stays: what comes after it is compared with it.
    let sql = "UPDATE approvals SET state = $2, decided_at = $3, decided_by = $4, reason = $5, \
               shown = CASE WHEN kind = 'call' AND $7 = 0 THEN '' ELSE shown END \
               WHERE id = $1 AND (state = 'pending' AND expires_at > $3 \
               OR $6 = 1 AND kind <> 'call' AND state IN ('approved', 'rejected') AND state <> $2)";
    let values = vec![
        id.as_str().into(),
        state.into(),
        verdict.at.into(),
        verdict.by.into(),
        verdict.reason.unwrap_or_default().replace('\0', "\u{fffd}").into(),
        i64::from(verdict.revise).into(),
        i64::from(verdict.approve).into(),
    ];
    let counted = tx.execute(sql, values).await? == 1;
    let sql = format!("SELECT {COLUMNS} FROM approvals a WHERE a.id = $1");
    let rows = tx.query(sql, vec![id.as_str().into()]).await?;
    let Some(row) = rows.first() else { return Ok(Decided::Missing) };
    let entry = entry(row, verdict.at)?;
    Ok(if counted { Decided::Done(entry) } else { Decided::Already(entry) })
}

/// The entry that counts: what waits, or what was decided last. What is used up or expired counts no more.
fn latest(rows: &[Row], now: Timestamp) -> Result<Option<Approval>, DbError> {
    let entries = rows.iter().map(|row| entry(row, now)).collect::<Result<Vec<_>, _>>()?;
    let counts = |entry: &Approval| standing(entry).is_some();
    let newest = |entry: &Approval| (entry.status.waits(), entry.decided_at, entry.requested_at);
    Ok(entries.into_iter().filter(counts).max_by_key(newest))
}

/// How an entry stands for whoever asks the same again.
fn standing(entry: &Approval) -> Option<Asked> {
    let id = entry.id.clone();
    match entry.status {
        ApprovalStatus::Pending => Some(Asked::Pending { id, modified: false }),
        ApprovalStatus::Modified => Some(Asked::Pending { id, modified: true }),
        ApprovalStatus::Approved => Some(Asked::Approved(id)),
        ApprovalStatus::Rejected => Some(Asked::Rejected { id, reason: entry.reason.clone() }),
        ApprovalStatus::Used | ApprovalStatus::Expired => None,
    }
}

/// An entry and what is shown of it, where both were asked for.
fn record(row: &Row, now: Timestamp) -> Result<ApprovalRecord, DbError> {
    let view = Record::of("approvals", row).text("shown")?.to_owned();
    Ok(ApprovalRecord { entry: entry(row, now)?, view })
}

fn entry(row: &Row, now: Timestamp) -> Result<Approval, DbError> {
    let record = Record::of("approvals", row);
    let kind: ApprovalKind = record.parse("kind")?;
    let expires_at = record.moment("expires_at")?;
    let written =
        |column| record.text(column).map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()));
    let status = match record.parse::<ApprovalStatus>("state")? {
        // The word of a person about a text stands; about a call it is for now.
        ApprovalStatus::Pending if expires_at <= now => ApprovalStatus::Expired,
        ApprovalStatus::Pending if record.count("earlier")? > 0 => ApprovalStatus::Modified,
        ApprovalStatus::Approved | ApprovalStatus::Rejected
            if kind == ApprovalKind::Call && expires_at <= now =>
        {
            ApprovalStatus::Expired
        }
        other => other,
    };
    Ok(Approval {
        id: record.parse("id")?,
        kind,
        name: record.text("tool")?.to_owned(),
        status,
        sha256: record.text("sha256")?.to_owned(),
        principal: record.parse("principal")?,
        requested_at: record.moment("requested_at")?,
        expires_at,
        decided_at: record.moment_or_none("decided_at")?,
        decided_by: written("decided_by")?,
        reason: written("reason")?,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |text, byte| format!("{text}{byte:02x}"))
}
