//! Which intents are listed, newest first: a page of those that somebody may see, and never fewer because of others.

use covenant_gate::refusal::Fault;
use covenant_model::intent::{IntentEntry, IntentId};
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;

use super::{kept, priority, status};
use crate::db::{DbError, Record, Row, Value};
use crate::open::Store;

/// Which intents are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntentsWanted {
    /// Only those this one issued.
    pub issuer: Option<Principal>,
    /// Only those issued within that one.
    pub parent: Option<IntentId>,
    /// Only those of the agent with that id.
    pub agent: Option<String>,
    /// Only those that come after this one in the list: they were issued earlier, or at once with a smaller id.
    pub before: Option<(Timestamp, IntentId)>,
    /// At most so many.
    pub limit: usize,
}

impl Store {
    /// Those that are wanted, newest first, without their long texts.
    pub async fn intents(&self, wanted: IntentsWanted) -> Result<Vec<IntentEntry>, Fault> {
        let (sql, values) = listing(&wanted);
        let rows = self.db.query(sql, values).await?;
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }
}

/// The statement that lists what is wanted: whoever may see only some gets so many of those.
fn listing(wanted: &IntentsWanted) -> (String, Vec<Value>) {
    let mut values = vec![Value::from(u64::try_from(wanted.limit).unwrap_or(u64::MAX))];
    let mut conditions = Vec::new();
    if let Some(issuer) = &wanted.issuer {
        values.push(issuer.as_str().into());
        conditions.push(format!("issuer = ${}", values.len()));
    }
    if let Some(parent) = &wanted.parent {
        values.push(parent.as_str().into());
        conditions.push(format!("parent = ${}", values.len()));
    }
    if let Some(agent) = &wanted.agent {
        values.push(kept(agent));
        conditions.push(format!("agent = ${}", values.len()));
    }
    if let Some((issued_at, id)) = &wanted.before {
        values.extend([Value::from(*issued_at), Value::from(id.as_str())]);
        conditions.push(format!("(issued_at, id) < (${}, ${})", values.len() - 1, values.len()));
    }
    let narrowed =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sql = format!(
        "SELECT id, agent, status, priority, issued_at FROM intents {narrowed} \
         ORDER BY issued_at DESC, id DESC LIMIT $1"
    );
    (sql, values)
}

fn entry(row: &Row) -> Result<IntentEntry, DbError> {
    let record = Record::of("intents", row);
    Ok(IntentEntry {
        intent_id: record.parse("id")?,
        agent: record.text("agent")?.to_owned(),
        status: status(&record)?,
        priority: priority(&record)?,
        issued_at: record.moment("issued_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_list_reads_every_intent_to_find_a_few() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
        for wanted in 0_u8..8 {
            let asked = |bit: u8| wanted & bit != 0;
            let before = || (Timestamp::default(), IntentId::from_random([0; 16]));
            let wanted = IntentsWanted {
                // Only with whoever issued it: no list is by this alone.
                parent: asked(1).then(|| IntentId::from_random([0; 16])),
                issuer: asked(1).then(Principal::operator),
                agent: asked(2).then(|| "a@b".to_owned()),
                before: asked(4).then(before),
                limit: 1,
            };
            let (sql, values) = listing(&wanted);
            let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
            assert!(!rows.is_empty());
            for row in &rows {
                let step = Record::of("the plan", row).text("detail").unwrap();
                // The newest of all are read in the order of the index, as many as are wanted.
                let in_order = step == "SCAN intents USING INDEX intents_issued" && !sql.contains("WHERE");
                assert!(!step.contains("SCAN") || in_order, "{sql}: {step}");
                assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }
}
