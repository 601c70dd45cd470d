//! The intents that are under way: how each stands, who listens to it, and how it is taken back.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_model::id::CallId;
use covenant_model::intent::{IntentId, IntentRecord, IntentStatus};
use covenant_model::principal::Principal;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// How many events a slow listener may fall behind before it misses some.
const BACKLOG: usize = 256;

/// Something that happened to an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct News {
    /// Which.
    pub intent_id: IntentId,
    /// `queued`, `running`, `ok`, `error`, `cancelled`; or `said`, for a line of the agent's standard error.
    pub event: &'static str,
    /// What the agent said, or what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl News {
    /// That the intent stands so now.
    pub fn of(record: &IntentRecord) -> Self {
        let text = record.status.is_over().then(|| record.answer.clone());
        Self { intent_id: record.id.clone(), event: record.status.as_str(), text }
    }
}

/// Everything under way.
#[derive(Default)]
pub struct Desk {
    live: Mutex<HashMap<IntentId, Live>>,
    /// Changes whenever one comes or goes.
    changes: watch::Sender<()>,
}

struct Live {
    record: IntentRecord,
    cancel: CancellationToken,
    news: broadcast::Sender<Arc<News>>,
}

impl Desk {
    /// Takes one in.
    pub(super) fn open(&self, record: IntentRecord, cancel: CancellationToken) {
        let live = Live { record, cancel, news: broadcast::Sender::new(BACKLOG) };
        self.live.lock().insert(live.record.id.clone(), live);
        self.changes.send_replace(());
    }

    /// It stands so now. What is over leaves the desk.
    pub(super) fn stands(&self, record: &IntentRecord) {
        let mut all = self.live.lock();
        let Some(live) = all.get_mut(&record.id) else { return };
        live.record = record.clone();
        // Nobody listens: nobody is told.
        let _ = live.news.send(Arc::new(News::of(record)));
        if record.status.is_over() {
            all.remove(&record.id);
            self.changes.send_replace(());
        }
    }

    /// Its agent said that.
    pub(super) fn said(&self, id: &IntentId, line: &str) {
        if let Some(live) = self.live.lock().get(id) {
            let news = News { intent_id: id.clone(), event: "said", text: Some(line.to_owned()) };
            let _ = live.news.send(Arc::new(news));
        }
    }

    /// How one stands that is under way.
    pub fn get(&self, id: &IntentId) -> Option<IntentRecord> {
        self.live.lock().get(id).map(|live| live.record.clone())
    }

    /// How one stands that is under way, and what happens to it from then on.
    pub fn follow(&self, id: &IntentId) -> Option<(IntentRecord, broadcast::Receiver<Arc<News>>)> {
        self.live.lock().get(id).map(|live| (live.record.clone(), live.news.subscribe()))
    }

    /// Comes back when it is under way, or has been.
    pub async fn taken_in(&self, id: &IntentId) {
        self.until(|live| live.contains_key(id)).await;
    }

    /// Comes back when it is no longer under way.
    pub async fn gone(&self, id: &IntentId) {
        self.until(|live| !live.contains_key(id)).await;
    }

    async fn until(&self, holds: impl Fn(&HashMap<IntentId, Live>) -> bool) {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if holds(&self.live.lock()) {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// The intent whose dispatch is that call.
    pub fn of_call(&self, call: &CallId) -> Option<IntentId> {
        let all = self.live.lock();
        all.values().find(|live| live.record.call == *call).map(|live| live.record.id.clone())
    }

    /// Takes one back, if it is under way and that one issued it; the operator takes back anybody's.
    pub fn cancel(&self, id: &IntentId, by: &Principal) -> Option<IntentStatus> {
        let all = self.live.lock();
        let live = all.get(id).filter(|live| *by == live.record.issuer || *by == Principal::operator())?;
        live.cancel.cancel();
        Some(live.record.status)
    }

    /// How many of that one's wait.
    pub(super) fn waiting_of(&self, issuer: &Principal) -> usize {
        let all = self.live.lock();
        let theirs =
            |live: &&Live| live.record.issuer == *issuer && live.record.status == IntentStatus::Queued;
        all.values().filter(theirs).count()
    }

    /// How many wait and how many run.
    pub fn counts(&self) -> (usize, usize) {
        let all = self.live.lock();
        let running = all.values().filter(|live| live.record.status == IntentStatus::Running).count();
        (all.len() - running, running)
    }
}
