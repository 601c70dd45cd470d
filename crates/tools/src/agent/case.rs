//! One intent under way: the line its agent reads, and that its end is kept and told exactly once, also where its caller goes.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::intent::{Intent, IntentRecord, IntentStatus, Issuer};
use covenant_model::principal::Principal;

use super::account::credits;
use super::dispatch::House;

/// After how many seconds it is tried again to keep how an intent ended.
const AGAIN: [u64; 6] = [1, 5, 30, 120, 600, 3600];

/// An intent that is under way. To drop it before it is closed takes it back: its caller is gone.
pub(super) struct Case {
    pub(super) record: IntentRecord,
    /// What is wanted, as the agent reads it.
    pub(super) text: String,
    pub(super) agent: Principal,
    pub(super) house: Arc<House>,
}

impl Case {
    /// The line its agent reads.
    pub(super) fn line(&self, pubkey: &str) -> Result<Vec<u8>, String> {
        let record = &self.record;
        let intent = Intent {
            id: &record.id,
            text: &self.text,
            issuer: Issuer { display: record.issuer.as_str(), pubkey },
            issued_at: record.issued_at.millis(),
            priority: record.priority,
            parent: record.parent.as_ref(),
        };
        let mut line = serde_json::to_vec(&intent).map_err(|error| error.to_string())?;
        line.push(b'\n');
        Ok(line)
    }

    /// Keeps how it ended, and tells.
    pub(super) async fn close(mut self) -> IntentRecord {
        self.record.finished_at = Some(self.house.clock.now());
        keep(&self.house, &self.record, &self.agent).await;
        self.record.clone()
    }
}

/// Kept first and told then: whoever hears that it is over finds it so.
async fn keep(house: &Arc<House>, record: &IntentRecord, agent: &Principal) {
    if let Err(reason) = house.home.ended(record, agent).await {
        tracing::error!(target: "agent", intent = %record.id, "the end of an intent could not be kept: {reason}");
        tokio::spawn(keep_later(Arc::clone(house), record.clone(), agent.clone()));
    }
    house.desk.stands(record);
}

/// Tries again, less and less often: what is over would else be told as under way until the daemon is started again.
async fn keep_later(house: Arc<House>, record: IntentRecord, agent: Principal) {
    for seconds in AGAIN {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        if house.home.ended(&record, &agent).await.is_ok() {
            tracing::info!(target: "agent", intent = %record.id, "the end of an intent was kept after all");
            return;
        }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if self.record.finished_at.is_some() {
            return;
        }
        let (house, mut record, agent) = (Arc::clone(&self.house), self.record.clone(), self.agent.clone());
        let now = house.clock.now();
        record.status = IntentStatus::Cancelled;
        record.finished_at = Some(now);
        if record.answer.is_empty() {
            "its caller went away".clone_into(&mut record.answer);
        }
        if let Some(since) =
            record.started_at.filter(|_| record.credits == 0 && !record.enforcement.is_empty())
        {
            // It ran, and nobody was left to charge for it.
            record.credits = credits(now.since(since));
            house.account.charge(&record.agent, record.credits, now);
        }
        tokio::spawn(async move { keep(&house, &record, &agent).await });
    }
}
