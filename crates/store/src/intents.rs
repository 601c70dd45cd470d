//! Intents: they are queued, begin once, end once, and go when they are old.
//!
//! How an intent stands only ever goes forward, and each step is one statement that names the step before it: of those
//! who try at once, one succeeds.

mod listing;

use covenant_gate::refusal::Fault;
use covenant_model::intent::{Enforced, IntentId, IntentRecord, IntentStatus, Priority, Receipt};
use covenant_model::time::Timestamp;

use crate::db::{DbError, Purpose, Record, Row, Value};
use crate::open::Store;
use crate::receipts;

pub use self::listing::IntentsWanted;

/// How many intents one statement removes: few, because their texts may be long and others wait for the writer.
const SLICE: u64 = 100;

/// Every column of an intent but whose daemon runs it.
macro_rules! columns {
    () => {
        "id, agent, issuer, status, priority, parent, call_id, request, answer, sources, enforcement, \
         credits, over_budget, issued_at, started_at, finished_at"
    };
}

const ADD: &str = concat!(
    "INSERT INTO intents (",
    columns!(),
    ", chain) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);

const BEGIN: &str = "UPDATE intents SET status = 'running', started_at = $2, enforcement = $3 \
                     WHERE id = $1 AND status = 'queued'";

const FINISH: &str = "UPDATE intents SET status = $2, answer = $3, sources = $4, enforcement = $5, credits = $6, \
                      over_budget = $7, started_at = $8, finished_at = $9 \
                      WHERE id = $1 AND status IN ('queued', 'running')";

const ONE: &str = concat!("SELECT ", columns!(), " FROM intents WHERE id = $1");

const INTERRUPT: &str = concat!(
    "UPDATE intents SET status = 'error', answer = $2, finished_at = $3 \
     WHERE chain = $1 AND status IN ('queued', 'running') RETURNING ",
    columns!()
);

const PRUNE: &str = "DELETE FROM intents WHERE id IN \
                     (SELECT id FROM intents WHERE finished_at < $1 ORDER BY finished_at LIMIT $2)";

impl Store {
    /// Keeps a new intent, which the daemon with that chain runs.
    pub async fn add_intent(&self, chain: &str, record: &IntentRecord) -> Result<(), Fault> {
        let values = vec![
            record.id.as_str().into(),
            kept(&record.agent),
            record.issuer.as_str().into(),
            record.status.as_str().into(),
            record.priority.as_str().into(),
            record.parent.as_ref().map(IntentId::as_str).into(),
            record.call.as_str().into(),
            kept(&record.request),
            kept(&record.answer),
            json(serde_json::to_string(&record.sources))?,
            json(serde_json::to_string(&record.enforcement))?,
            record.credits.into(),
            i64::from(record.over_budget).into(),
            record.issued_at.into(),
            record.started_at.into(),
            record.finished_at.into(),
            chain.into(),
        ];
        self.db.execute(ADD, values).await?;
        Ok(())
    }

    /// Says that the agent of a queued intent runs, and what the sandbox keeps of its promises; `false` if the intent is
    /// not queued.
    pub async fn begin_intent(
        &self,
        id: &IntentId,
        at: Timestamp,
        enforcement: &[Enforced],
    ) -> Result<bool, Fault> {
        let values = vec![id.as_str().into(), at.into(), json(serde_json::to_string(enforcement))?];
        Ok(self.db.execute(BEGIN, values).await? == 1)
    }

    /// Says what came of an intent, and settles what it cost, both or neither; `false`, and nothing changes, if it was
    /// over or is not there.
    pub async fn finish_intent(
        &self,
        record: &IntentRecord,
        receipt: Option<Receipt>,
    ) -> Result<bool, Fault> {
        if !record.status.is_over() || record.finished_at.is_none() {
            let cause = format!("intent {} is {}", record.id, record.status.as_str());
            return Err(Fault::new("an intent that is not over cannot be finished", cause));
        }
        let values = vec![
            record.id.as_str().into(),
            record.status.as_str().into(),
            kept(&record.answer),
            json(serde_json::to_string(&record.sources))?,
            json(serde_json::to_string(&record.enforcement))?,
            record.credits.into(),
            i64::from(record.over_budget).into(),
            record.started_at.into(),
            record.finished_at.into(),
        ];
        Ok(self.finish(values, receipt).await?)
    }

    async fn finish(&self, values: Vec<Value>, receipt: Option<Receipt>) -> Result<bool, DbError> {
        // Whoever finishes the same one waits for this one's end, and then finds it over.
        let mut tx = self.db.begin(Purpose::Append).await?;
        if tx.execute(FINISH, values).await? == 0 {
            return Ok(false);
        }
        if let Some(receipt) = receipt {
            receipts::add(&mut tx, &receipt).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// The intent with that id.
    pub async fn intent(&self, id: &IntentId) -> Result<Option<IntentRecord>, Fault> {
        let rows = self.db.query(ONE, vec![id.as_str().into()]).await?;
        Ok(rows.first().map(intent).transpose()?)
    }

    /// Ends, as failed and with that answer, what the daemon with that chain had queued or running when it ended itself.
    /// Returns those, the oldest first.
    pub async fn interrupt_intents(
        &self,
        chain: &str,
        at: Timestamp,
        answer: &str,
    ) -> Result<Vec<IntentRecord>, Fault> {
        let rows = self.db.change(INTERRUPT, vec![chain.into(), kept(answer), at.into()]).await?;
        let mut ended = rows.iter().map(intent).collect::<Result<Vec<_>, _>>()?;
        ended.sort_by(|a, b| (a.issued_at, &a.id).cmp(&(b.issued_at, &b.id)));
        Ok(ended)
    }

    /// Removes the intents that were over before that moment, and the receipts of that time; how many those were together.
    pub async fn prune_intents(&self, before: Timestamp) -> Result<u64, Fault> {
        let mut removed = 0;
        for sql in [PRUNE, receipts::PRUNE] {
            loop {
                match self.db.execute(sql, vec![before.into(), SLICE.into()]).await? {
                    0 => break,
                    slice => removed += slice,
                }
            }
        }
        Ok(removed)
    }
}

/// A text as it is kept: neither database keeps a NUL in one, and a person could not see it anyway.
fn kept(text: &str) -> Value {
    text.replace('\0', "\u{fffd}").into()
}

fn json(written: serde_json::Result<String>) -> Result<Value, Fault> {
    let unwritable = |error| Fault::new("what came of the intent cannot be kept", error);
    written.map(Value::from).map_err(unwritable)
}

fn intent(row: &Row) -> Result<IntentRecord, DbError> {
    let record = Record::of("intents", row);
    let sources = serde_json::from_str(record.text("sources")?);
    let enforcement = serde_json::from_str(record.text("enforcement")?);
    Ok(IntentRecord {
        id: record.parse("id")?,
        agent: record.text("agent")?.to_owned(),
        issuer: record.parse("issuer")?,
        status: status(&record)?,
        priority: priority(&record)?,
        parent: record.parse_or_none("parent")?,
        call: record.parse("call_id")?,
        request: record.text("request")?.to_owned(),
        answer: record.text("answer")?.to_owned(),
        sources: sources.map_err(|error| record.bad("sources", error))?,
        enforcement: enforcement.map_err(|error| record.bad("enforcement", error))?,
        credits: record.count("credits")?,
        over_budget: record.count("over_budget")? > 0,
        issued_at: record.moment("issued_at")?,
        started_at: record.moment_or_none("started_at")?,
        finished_at: record.moment_or_none("finished_at")?,
    })
}

fn status(record: &Record<'_>) -> Result<IntentStatus, DbError> {
    IntentStatus::read(record.text("status")?)
        .ok_or_else(|| record.bad("status", "is no status of an intent"))
}

fn priority(record: &Record<'_>) -> Result<Priority, DbError> {
    Priority::read(record.text("priority")?).ok_or_else(|| record.bad("priority", "is no priority"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_statement_reads_every_intent_to_find_a_few() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
        for sql in [BEGIN, FINISH, ONE, INTERRUPT, PRUNE] {
            let values = (0..sql.matches('$').count()).map(|_| Value::Null).collect();
            let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
            assert!(!rows.is_empty());
            for row in &rows {
                let step = Record::of("the plan", row).text("detail").unwrap();
                assert!(!step.contains("SCAN"), "{sql}: {step}");
                assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }
}
