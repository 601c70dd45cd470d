//! What the log is told of servers. Nobody waits for it, and a log that is full loses a line rather than a server.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Gate;
use covenant_model::audit::{Decision, Kind};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How many rows may wait.
const MOST: usize = 256;

/// Rows on their way to the log, in the order they happened.
pub(super) struct Records {
    gate: Arc<Gate>,
    queue: Mutex<Queue>,
    written: Notify,
}

#[derive(Default)]
struct Queue {
    rows: VecDeque<Row>,
    writing: bool,
}

struct Row {
    kind: Kind,
    /// Which server it is about.
    about: String,
    what: String,
}

impl Row {
    fn decision(&self) -> Decision {
        match self.kind {
            Kind::ServerFailed | Kind::ServerQuarantined => Decision::Failed,
            _ => Decision::Done,
        }
    }
}

impl Records {
    pub(super) fn new(gate: Arc<Gate>) -> Arc<Self> {
        Arc::new(Self { gate, queue: Mutex::default(), written: Notify::new() })
    }

    /// Something happened to that server.
    pub(super) fn add(self: &Arc<Self>, kind: Kind, server: &str, what: &str) {
        let what = self.gate.redactor().shown(what, 1000);
        match kind {
            Kind::ServerStarted | Kind::ServerStopped => {
                tracing::info!(target: "covenant", server = server, "{kind}: {what}");
            }
            _ => tracing::warn!(target: "covenant", server = server, "{kind}: {what}"),
        }
        let mut queue = self.queue.lock();
        if queue.rows.len() >= MOST {
            tracing::warn!(target: "covenant", server = server, "the log takes no rows: one of {kind} is lost");
            return;
        }
        queue.rows.push_back(Row { kind, about: format!("server:{server}"), what });
        if !queue.writing {
            queue.writing = true;
            tokio::spawn(Arc::clone(self).write());
        }
    }

    async fn write(self: Arc<Self>) {
        while let Some(row) = self.next() {
            let kind = row.kind;
            if let Err(fault) = self.gate.record_about(kind, &row.about, row.decision(), &row.what).await {
                tracing::warn!(target: "covenant", cause = fault.cause(), "a row of {kind} was not written");
            }
        }
        self.written.notify_waiters();
    }

    fn next(&self) -> Option<Row> {
        let mut queue = self.queue.lock();
        let next = queue.rows.pop_front();
        queue.writing = next.is_some();
        next
    }

    /// Comes back when all are written, or that time is over.
    pub(super) async fn flushed(&self, within: Duration) {
        let written = self.written.notified();
        if self.queue.lock().writing {
            let _ = timeout(within, written).await;
        }
    }
}
