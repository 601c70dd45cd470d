//! Spans of calls, sent to a collector that speaks OTLP over HTTP. A call hands its span to a bounded queue and goes on;
//! what finds no room there, or is not taken in the end, is counted and gone.

mod batch;
mod post;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use covenant_gate::Gate;
use covenant_gate::observe::{CallSpan, Spans};
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::batch::Ended;
use self::post::Post;
use crate::config::telemetry::Telemetry;
use crate::outbound::Address;
use crate::secrets::Secrets;

/// How many spans may wait.
const WAITING: usize = 2048;

/// How many go at a time.
const BATCH: usize = 512;

/// How long a span waits for others.
const GATHER: Duration = Duration::from_secs(2);

/// How long the last ones may take when the daemon ends.
const LAST: Duration = Duration::from_secs(1);

/// Where spans go, and with which headers.
#[derive(Clone, PartialEq)]
struct Aim {
    address: Address,
    headers: HeaderMap,
}

/// The export of spans: on where it is configured, off otherwise.
#[derive(Default)]
pub(crate) struct Export {
    lost: Arc<AtomicU64>,
    running: Mutex<Option<Running>>,
}

struct Running {
    aim: Aim,
    task: JoinHandle<()>,
}

impl Export {
    /// Sends to that address from now on, or nowhere. What was gathered for another goes there still.
    pub(crate) fn aim(&self, gate: &Gate, config: &Telemetry, secrets: &Secrets) {
        // What is missing is a warning of whoever read the secrets.
        let headers = config.headers(secrets).ok();
        let aim = config.address().zip(headers).map(|(address, headers)| Aim { address, headers });
        let mut running = self.running.lock();
        if running.as_ref().map(|running| &running.aim) == aim.as_ref() {
            return;
        }
        *running = aim.map(|aim| {
            let (queue, spans) = mpsc::channel(WAITING);
            gate.set_spans(Some(Arc::new(Queue { spans: queue, lost: Arc::clone(&self.lost) })));
            let post = Post::new(aim.address.clone(), aim.headers.clone());
            let task = tokio::spawn(send(spans, post, Arc::clone(&self.lost)));
            Running { aim, task }
        });
        if running.is_none() {
            gate.set_spans(None);
        }
    }

    /// Takes no more spans, and sends those there are, or gives up soon.
    pub(crate) async fn finish(&self, gate: &Gate) {
        gate.set_spans(None);
        let running = self.running.lock().take();
        if let Some(Running { mut task, .. }) = running
            && timeout(LAST, &mut task).await.is_err()
        {
            task.abort();
            tracing::warn!(target: "covenant", "the last spans were not taken within {} s", LAST.as_secs());
        }
    }

    /// How many spans were lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Where calls leave their spans.
struct Queue {
    spans: mpsc::Sender<Ended>,
    lost: Arc<AtomicU64>,
}

impl Spans for Queue {
    fn ended(&self, span: &CallSpan<'_>) {
        match self.spans.try_reserve() {
            Ok(place) => place.send(Ended::of(span)),
            Err(_) => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Sends what comes, until the queue is closed and empty.
async fn send(mut spans: mpsc::Receiver<Ended>, mut post: Post, lost: Arc<AtomicU64>) {
    let mut batch = Vec::with_capacity(BATCH);
    while spans.recv_many(&mut batch, BATCH).await > 0 {
        let more = async {
            while batch.len() < BATCH {
                let room = BATCH.saturating_sub(batch.len());
                if spans.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        // Once that long has passed, what is there goes.
        let _ = timeout(GATHER, more).await;
        if !post.deliver(batch::body(&batch)).await {
            lost.fetch_add(u64::try_from(batch.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        batch.clear();
    }
}

#[cfg(test)]
mod tests;
