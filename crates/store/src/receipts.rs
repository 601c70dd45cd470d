//! Receipts: what each run of an agent cost, who pays, and what agents used in a while.

use covenant_gate::refusal::Fault;
use covenant_model::intent::{AgentUse, Receipt};
use covenant_model::time::Timestamp;

use crate::db::{DbError, Record, Row, Tx};
use crate::open::Store;

const ADD: &str = "INSERT INTO receipts (id, payer, agent, intent_id, resource, credits, settled_at) \
                   VALUES ($1, $2, $3, $4, 'compute', $5, $6)";

/// Sums of whole numbers are larger numbers to `PostgreSQL`. With the bare name `SQLite` would go through all receipts of
/// all times in the order of their agents, instead of those since then.
const USE: &str = "SELECT agent || '' AS agent, count(*) AS runs, CAST(sum(credits) AS BIGINT) AS credits \
                   FROM receipts WHERE settled_at >= $1 GROUP BY agent || ''";

const NEWEST: &str = "SELECT id, payer, agent, intent_id, credits, settled_at FROM receipts \
                      ORDER BY settled_at DESC, id DESC LIMIT $1";

const NEWEST_OF: &str = "SELECT id, payer, agent, intent_id, credits, settled_at FROM receipts WHERE agent = $2 \
                         ORDER BY settled_at DESC, id DESC LIMIT $1";

const SINCE: &str = "SELECT id, payer, agent, intent_id, credits, settled_at FROM receipts WHERE settled_at >= $1 \
                     ORDER BY settled_at, id";

/// Removes so many of those that were settled before a moment.
pub(crate) const PRUNE: &str = "DELETE FROM receipts WHERE id IN \
                                (SELECT id FROM receipts WHERE settled_at < $1 ORDER BY settled_at LIMIT $2)";

impl Store {
    /// What each agent used since then, by their ids.
    pub async fn agent_use(&self, since: Timestamp) -> Result<Vec<AgentUse>, Fault> {
        let rows = self.db.query(USE, vec![since.into()]).await?;
        let mut used = rows.iter().map(agent_use).collect::<Result<Vec<_>, _>>()?;
        // Here and not in SQL: the two databases may order texts differently.
        used.sort_by(|a, b| a.agent.cmp(&b.agent));
        Ok(used)
    }

    /// Every receipt since then, oldest first.
    pub async fn receipts_since(&self, since: Timestamp) -> Result<Vec<Receipt>, Fault> {
        let rows = self.db.query(SINCE, vec![since.into()]).await?;
        Ok(rows.iter().map(receipt).collect::<Result<_, _>>()?)
    }

    /// The newest receipts, of all agents or of that one, newest first.
    pub async fn receipts(&self, agent: Option<&str>, limit: usize) -> Result<Vec<Receipt>, Fault> {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).into();
        let rows = match agent {
            Some(agent) => self.db.query(NEWEST_OF, vec![limit, agent.into()]).await?,
            None => self.db.query(NEWEST, vec![limit]).await?,
        };
        Ok(rows.iter().map(receipt).collect::<Result<_, _>>()?)
    }
}

/// Keeps one more, with what else that transaction does.
pub(crate) async fn add(tx: &mut Tx, receipt: &Receipt) -> Result<(), DbError> {
    let values = vec![
        receipt.id.as_str().into(),
        receipt.payer.as_str().into(),
        receipt.agent.as_str().into(),
        receipt.intent.as_str().into(),
        receipt.credits.into(),
        receipt.settled_at.into(),
    ];
    tx.execute(ADD, values).await.map(drop)
}

fn receipt(row: &Row) -> Result<Receipt, DbError> {
    let record = Record::of("receipts", row);
    Ok(Receipt {
        id: record.parse("id")?,
        payer: record.parse("payer")?,
        agent: record.text("agent")?.to_owned(),
        intent: record.parse("intent_id")?,
        credits: record.count("credits")?,
        settled_at: record.moment("settled_at")?,
    })
}

fn agent_use(row: &Row) -> Result<AgentUse, DbError> {
    let record = Record::of("receipts", row);
    Ok(AgentUse {
        agent: record.text("agent")?.to_owned(),
        runs: record.count("runs")?,
        credits: record.count("credits")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Value;

    #[tokio::test]
    async fn no_statement_reads_every_receipt_to_find_a_few() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
        for sql in [USE, NEWEST, NEWEST_OF, SINCE, PRUNE] {
            let values = (0..sql.matches('$').count()).map(|_| Value::Null).collect();
            let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
            assert!(!rows.is_empty());
            for row in &rows {
                let step = Record::of("the plan", row).text("detail").unwrap();
                let in_order = step == "SCAN receipts USING INDEX receipts_settled" && sql == NEWEST;
                assert!(!step.contains("SCAN") || in_order, "{sql}: {step}");
                // What was used in a while is put together by agent: there are few of them.
                assert!(!step.contains("TEMP B-TREE") || sql == USE, "{sql}: {step}");
            }
        }
    }
}
