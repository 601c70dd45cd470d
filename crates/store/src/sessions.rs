//! Sessions of the older MCP over HTTP: which of them go when there are too many, or when they are idle for too long.
//!
//! Whoever changes several rows takes turns with the others by one row of `revision`; after that a transaction sees
//! everything as it is, and no two of them wait for each other's rows.

use std::collections::BTreeMap;

use covenant_gate::refusal::Fault;
use covenant_model::principal::Principal;
use covenant_model::session::{STATE_BYTES, SessionBounds, SessionRecord};
use covenant_model::time::Timestamp;

use crate::db::{DbError, Purpose, Record, Row, Tx, Value};
use crate::open::Store;

/// How many sessions one statement touches: few different texts, so that each stays prepared.
const SIZES: [usize; 5] = [256, 64, 16, 4, 1];

const EXPIRE: &str = "DELETE FROM sessions WHERE used_at < $1 RETURNING id";

const END: &str = "DELETE FROM sessions WHERE principal = $1 RETURNING id";

const COUNT: &str = "SELECT count(*) AS kept FROM sessions";

const COUNT_OF: &str = "SELECT count(*) AS kept FROM sessions WHERE principal = $1";

const TRIM: &str = "DELETE FROM sessions WHERE id IN \
                    (SELECT id FROM sessions ORDER BY used_at, id LIMIT $1) RETURNING id";

const TRIM_OF: &str = "DELETE FROM sessions WHERE id IN \
                       (SELECT id FROM sessions WHERE principal = $1 ORDER BY used_at, id LIMIT $2) RETURNING id";

const ADD: &str =
    "INSERT INTO sessions (id, principal, state, opened_at, used_at) VALUES ($1, $2, $3, $4, $5)";

impl Store {
    /// Keeps one more session. Those that are over go first, then the longest idle of its principal and of all until it
    /// fits. Returns the ids of those that went.
    pub async fn add_session(
        &self,
        record: SessionRecord,
        bounds: SessionBounds,
    ) -> Result<Vec<[u8; 32]>, Fault> {
        fits(&record.state)?;
        Ok(self.add(record, bounds).await?)
    }

    async fn add(&self, record: SessionRecord, bounds: SessionBounds) -> Result<Vec<[u8; 32]>, DbError> {
        let mut tx = self.take_turn().await?;
        let principal = || Value::from(record.principal.as_str());

        let mut gone = removed(&mut tx, EXPIRE, vec![bounds.idle_since.into()]).await?;
        let kept = counted(&tx.query(COUNT_OF, vec![principal()]).await?)?;
        if let Some(excess) = excess(kept, bounds.per_principal) {
            gone.extend(removed(&mut tx, TRIM_OF, vec![principal(), excess.into()]).await?);
        }
        let kept = counted(&tx.query(COUNT, Vec::new()).await?)?;
        if let Some(excess) = excess(kept, bounds.in_all) {
            gone.extend(removed(&mut tx, TRIM, vec![excess.into()]).await?);
        }
        let values = vec![
            record.id.into(),
            principal(),
            record.state.into(),
            record.opened_at.into(),
            record.used_at.into(),
        ];
        tx.execute(ADD, values).await?;
        tx.commit().await?;
        Ok(gone)
    }

    /// The session with that id.
    pub async fn session(&self, id: [u8; 32]) -> Result<Option<SessionRecord>, Fault> {
        let sql = "SELECT id, principal, state, opened_at, used_at FROM sessions WHERE id = $1";
        let rows = self.db.query(sql, vec![id.into()]).await?;
        Ok(rows.first().map(session).transpose()?)
    }

    /// Says of many sessions when they were last used. None is thereby used earlier than was known.
    pub async fn touch_sessions(&self, used: Vec<([u8; 32], Timestamp)>) -> Result<(), Fault> {
        let mut last = BTreeMap::new();
        for (id, at) in used {
            last.entry(id).and_modify(|known: &mut Timestamp| *known = at.max(*known)).or_insert(at);
        }
        if last.is_empty() {
            return Ok(());
        }
        let last: Vec<_> = last.into_iter().collect();
        Ok(self.touch(&last).await?)
    }

    async fn touch(&self, used: &[([u8; 32], Timestamp)]) -> Result<(), DbError> {
        let mut tx = self.take_turn().await?;
        let mut rest = used;
        for size in SIZES {
            while let Some((now, later)) = rest.split_at_checked(size) {
                let values = now.iter().flat_map(|(id, at)| [Value::from(*id), Value::from(*at)]).collect();
                tx.execute(touching(size), values).await?;
                rest = later;
            }
        }
        tx.commit().await
    }

    /// Replaces the state of a session; `false` if there is none with that id.
    pub async fn set_session_state(&self, id: [u8; 32], state: String) -> Result<bool, Fault> {
        fits(&state)?;
        let sql = "UPDATE sessions SET state = $2 WHERE id = $1";
        Ok(self.db.execute(sql, vec![id.into(), state.into()]).await? == 1)
    }

    /// Ends a session; `false` if there is none with that id.
    pub async fn remove_session(&self, id: [u8; 32]) -> Result<bool, Fault> {
        Ok(self.db.execute("DELETE FROM sessions WHERE id = $1", vec![id.into()]).await? == 1)
    }

    /// Ends every session of that principal, and says which those were.
    pub async fn remove_sessions_of(&self, principal: &Principal) -> Result<Vec<[u8; 32]>, Fault> {
        Ok(self.remove(END, principal.as_str().into()).await?)
    }

    /// Ends every session that was last used before that moment, and says which those were.
    pub async fn expire_sessions(&self, idle_since: Timestamp) -> Result<Vec<[u8; 32]>, Fault> {
        Ok(self.remove(EXPIRE, idle_since.into()).await?)
    }

    async fn remove(&self, sql: &'static str, value: Value) -> Result<Vec<[u8; 32]>, DbError> {
        let mut tx = self.take_turn().await?;
        let gone = removed(&mut tx, sql, vec![value]).await?;
        tx.commit().await?;
        Ok(gone)
    }

    /// How many sessions are kept.
    pub async fn count_sessions(&self) -> Result<u64, Fault> {
        Ok(counted(&self.db.query(COUNT, Vec::new()).await?)?)
    }

    /// A transaction in which no other one changes several sessions.
    async fn take_turn(&self) -> Result<Tx, DbError> {
        let mut tx = self.db.begin(Purpose::Append).await?;
        tx.execute("UPDATE revision SET number = number + 1 WHERE id = 2", Vec::new()).await?;
        Ok(tx)
    }
}

/// How many must go so that one more is at most that many.
fn excess(kept: u64, most: usize) -> Option<u64> {
    let room = u64::try_from(most).unwrap_or(u64::MAX).max(1) - 1;
    kept.checked_sub(room).filter(|excess| *excess > 0)
}

fn fits(state: &str) -> Result<(), Fault> {
    if state.len() <= STATE_BYTES {
        return Ok(());
    }
    let cause =
        format!("the state of a session has {} bytes, and at most {STATE_BYTES} are kept", state.len());
    Err(Fault::new("the session has grown too large to be kept: open a new one", cause))
}

/// Both databases call the columns of such a list `column1` and `column2`.
fn touching(size: usize) -> String {
    let pairs: Vec<_> = (0..size).map(|pair| format!("(${}, ${})", 2 * pair + 1, 2 * pair + 2)).collect();
    format!(
        "UPDATE sessions SET used_at = touched.column2 FROM (VALUES {}) AS touched \
         WHERE sessions.id = touched.column1 AND sessions.used_at < touched.column2",
        pairs.join(", ")
    )
}

async fn removed(tx: &mut Tx, sql: &'static str, values: Vec<Value>) -> Result<Vec<[u8; 32]>, DbError> {
    let rows = tx.query(sql, values).await?;
    rows.iter().map(|row| Record::of("sessions", row).bytes("id")).collect()
}

fn counted(rows: &[Row]) -> Result<u64, DbError> {
    rows.first().map_or(Ok(0), |row| Record::of("sessions", row).count("kept"))
}

fn session(row: &Row) -> Result<SessionRecord, DbError> {
    let record = Record::of("sessions", row);
    Ok(SessionRecord {
        id: record.bytes("id")?,
        principal: record.parse("principal")?,
        state: record.text("state")?.to_owned(),
        opened_at: record.moment("opened_at")?,
        used_at: record.moment("used_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_statement_reads_every_session_to_find_a_few() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
        let touching = touching(4);
        for sql in [EXPIRE, END, COUNT, COUNT_OF, TRIM, TRIM_OF, &touching] {
            let values = (0..sql.matches('$').count()).map(|_| Value::Null).collect();
            let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
            assert!(!rows.is_empty());
            for row in &rows {
                let step = Record::of("the plan", row).text("detail").unwrap();
                let in_order = step.contains("SCAN sessions USING COVERING INDEX");
                assert!(!step.contains("SCAN sessions") || in_order, "{sql}: {step}");
                assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }

    #[test]
    fn one_more_always_fits_and_only_what_is_too_much_goes() {
        for (kept, most, expected) in
            [(0, 1, None), (1, 1, Some(1)), (4, 5, None), (9, 5, Some(5)), (3, 0, Some(3))]
        {
            assert_eq!(excess(kept, most), expected, "{kept} of {most}");
        }
    }
}
