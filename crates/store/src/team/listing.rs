//! Which events of teams are listed, newest first: a page of those that are wanted, with the handles of whose they are.

use covenant_gate::refusal::Fault;
use covenant_model::id::{AgentSessionId, DeveloperId, EventId, WorkspaceId};
use covenant_model::time::Timestamp;
use covenant_team::event::Log;
use serde_json::{Map, Value as Json};

use super::details;
use crate::db::{DbError, Record, Row, Value};
use crate::open::Store;

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsWanted {
    /// Of which log.
    pub log: Log,
    /// Only those of that team. Those of nobody we know are of none.
    pub workspace: Option<WorkspaceId>,
    /// Only those of that developer.
    pub developer: Option<DeveloperId>,
    /// Only those that come after this one in the list: they happened earlier, or at once with a smaller id.
    pub after: Option<(Timestamp, EventId)>,
    /// At most so many.
    pub limit: usize,
}

/// An event, as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamEvent {
    /// What it is called by.
    pub id: EventId,
    /// What happened: `task.started`; of usage and feedback the call, `covibe_task.start`.
    pub event: String,
    /// The handle of whose it is, if that is known.
    pub developer: Option<String>,
    /// Whether others see that one only as `@private`.
    pub private: bool,
    /// In which session.
    pub session_id: Option<AgentSessionId>,
    /// What it happened to.
    pub subject_id: Option<String>,
    /// How the call ended; of work, how the subject stands after it.
    pub status: String,
    /// Details.
    pub payload: Map<String, Json>,
    /// When.
    pub at: Timestamp,
}

impl Store {
    /// The events that are wanted, newest first.
    pub async fn team_events(&self, wanted: EventsWanted) -> Result<Vec<TeamEvent>, Fault> {
        let (sql, values) = listing(&wanted);
        let rows = self.db.query(sql, values).await?;
        Ok(rows.iter().map(|row| event(wanted.log, row)).collect::<Result<_, _>>()?)
    }
}

fn table(log: Log) -> &'static str {
    match log {
        Log::Work => "work_events",
        Log::Usage => "usage_events",
        Log::Feedback => "agent_feedback_events",
    }
}

/// The statement that lists what is wanted.
fn listing(wanted: &EventsWanted) -> (String, Vec<Value>) {
    let mut values = vec![Value::from(u64::try_from(wanted.limit).unwrap_or(u64::MAX))];
    let mut conditions = Vec::new();
    if let Some(workspace) = &wanted.workspace {
        values.push(workspace.as_str().into());
        conditions.push(format!("e.workspace_id = ${}", values.len()));
    }
    if let Some(developer) = &wanted.developer {
        values.push(developer.as_str().into());
        conditions.push(format!("e.developer_id = ${}", values.len()));
    }
    if let Some((at, id)) = &wanted.after {
        values.extend([Value::from(*at), Value::from(id.as_str())]);
        conditions.push(format!("(e.at, e.id) < (${}, ${})", values.len() - 1, values.len()));
    }
    let narrowed =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sql = format!(
        "SELECT e.id, e.event, d.handle, d.private, e.session_id, e.subject_id, e.status, e.payload_json, e.at \
         FROM {} e LEFT JOIN developers d ON d.id = e.developer_id {narrowed} \
         ORDER BY e.at DESC, e.id DESC LIMIT $1",
        table(wanted.log)
    );
    (sql, values)
}

fn event(log: Log, row: &Row) -> Result<TeamEvent, DbError> {
    let record = Record::of(table(log), row);
    let developer = record.text_or_none("handle")?;
    Ok(TeamEvent {
        id: record.parse("id")?,
        event: record.text("event")?.to_owned(),
        private: developer.is_some() && record.count("private")? > 0,
        developer,
        session_id: record.parse_or_none("session_id")?,
        subject_id: record.text_or_none("subject_id")?,
        status: record.text("status")?.to_owned(),
        payload: details(&record, "payload_json")?,
        at: record.moment("at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_list_reads_every_event_to_find_a_few() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:x.db", home.path()).await.unwrap();
        for (log, wanted) in Log::ALL.into_iter().flat_map(|log| (0_u8..8).map(move |wanted| (log, wanted))) {
            let asked = |bit: u8| wanted & bit != 0;
            let wanted = EventsWanted {
                log,
                workspace: asked(1).then(|| WorkspaceId::from_random([0; 10])),
                developer: asked(2).then(|| DeveloperId::from_random([0; 10])),
                after: asked(4).then(|| (Timestamp::default(), EventId::from_random([0; 10]))),
                limit: 1,
            };
            let (sql, values) = listing(&wanted);
            let rows = store.db.query(format!("EXPLAIN QUERY PLAN {sql}"), values).await.unwrap();
            assert!(!rows.is_empty());
            for row in &rows {
                let step = Record::of("the plan", row).text("detail").unwrap();
                // The newest of all are read in the order of the index, as many as are wanted.
                let in_order = step.starts_with("SCAN e USING INDEX") && !sql.contains("WHERE");
                assert!(!step.contains("SCAN") || in_order, "{sql}: {step}");
                assert!(!step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }
}
