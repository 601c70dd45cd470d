//! Connections that are kept for the next request to one server.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

use super::connection::Connection;

/// The most connections that are kept for one server.
const MOST: usize = 64;

/// How often they are looked through for those that were kept long enough.
const SWEEP: Duration = Duration::from_secs(5);

/// Connections that wait; the one that was used last is taken first.
#[derive(Default)]
pub(super) struct Pool(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    connections: Vec<Connection>,
    /// Whether someone looks through them.
    swept: bool,
}

impl Pool {
    /// One that can be used, as far as that can be known.
    pub(super) async fn take(&self) -> Option<Connection> {
        loop {
            let mut connection = self.0.lock().connections.pop()?;
            if poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }

    /// Keeps one, if there is room.
    pub(super) fn put(self: &Arc<Self>, connection: Connection) {
        let mut waiting = self.0.lock();
        if waiting.connections.len() >= MOST {
            return;
        }
        waiting.connections.push(connection);
        if !std::mem::replace(&mut waiting.swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().connections.len()
    }
}

/// Closes what nobody came back for. Ends when nothing is left.
async fn sweep(pool: Weak<Pool>) {
    loop {
        sleep(SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut waiting = pool.0.lock();
        let now = Instant::now();
        waiting.connections.retain(|connection| !connection.is_late(now));
        if waiting.connections.is_empty() {
            waiting.swept = false;
            return;
        }
    }
}
