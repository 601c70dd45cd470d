//! One connection to a server while it is used: who uses it, since when nobody has, and its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::open::Counted;
use super::peer::Peer;
use super::ring::Tail;

/// How long a server may take to end.
const CLOSE: Duration = Duration::from_secs(5);

/// How long a session must last for its end to be nothing special.
const SETTLED: Duration = Duration::from_secs(10);

/// A connection. It is closed when it was let go and its last call has ended.
pub(super) struct Line {
    /// No two are alike.
    pub(super) id: u64,
    /// Who is at the other end.
    pub(super) peer: Arc<dyn Peer>,
    /// What it wrote last to its standard error.
    pub(super) tail: Arc<Tail>,
    /// Since when it is there.
    pub(super) since: Instant,
    calls: watch::Sender<usize>,
    quiet_since: Mutex<Instant>,
    spent: watch::Sender<Option<Spent>>,
    closed: AtomicBool,
    _open: Counted,
}

/// Why a line is of no use any more.
#[derive(Debug, Clone)]
pub(super) enum Spent {
    /// The server does not know us any more.
    Session,
    /// It could not be reached.
    Trouble(Arc<str>),
}

impl Spent {
    /// Why the end of a line that was there for that long counts as a failure; nothing where it does not. A session may
    /// end; who forgets it as soon as it was opened forgets the next one too.
    pub(super) fn failure(&self, after: Duration) -> Option<Arc<str>> {
        match self {
            Self::Session if after >= SETTLED => None,
            Self::Session => {
                let reason =
                    format!("no longer knows our session, {} ms after it was opened", after.as_millis());
                Some(reason.into())
            }
            Self::Trouble(reason) => Some(Arc::clone(reason)),
        }
    }
}

/// A call on a line.
pub(super) struct Busy(Arc<Line>);

impl Line {
    pub(super) fn new(peer: Arc<dyn Peer>, tail: Arc<Tail>, open: Counted) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let now = Instant::now();
        Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            peer,
            tail,
            since: now,
            calls: watch::Sender::new(0),
            quiet_since: Mutex::new(now),
            spent: watch::Sender::new(None),
            closed: AtomicBool::new(false),
            _open: open,
        })
    }

    /// Begins a call.
    pub(super) fn enter(self: &Arc<Self>) -> Busy {
        self.calls.send_modify(|calls| *calls += 1);
        Busy(Arc::clone(self))
    }

    /// Says that it is of no use any more. Who was first is heard.
    pub(super) fn spend(&self, why: Spent) {
        self.spent.send_if_modified(|spent| {
            let first = spent.is_none();
            if first {
                *spent = Some(why);
            }
            first
        });
    }

    /// Whether it is of use.
    pub(super) fn serves(&self) -> bool {
        self.spent.borrow().is_none()
    }

    /// Comes back when it is of no use any more, with why.
    pub(super) async fn spent(&self) -> Spent {
        let mut spent = self.spent.subscribe();
        match spent.wait_for(Option::is_some).await.ok().and_then(|spent| spent.clone()) {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    /// Since when nobody uses it; nothing while somebody does.
    pub(super) fn quiet_since(&self) -> Option<Instant> {
        (*self.calls.borrow() == 0).then(|| *self.quiet_since.lock())
    }

    /// Comes back when nobody has used it for that long. It can still be taken up at that moment.
    pub(super) async fn quiet_for(&self, span: Duration) {
        loop {
            let now = Instant::now();
            let since = self.quiet_since().unwrap_or(now);
            if now.duration_since(since) >= span {
                return;
            }
            tokio::time::sleep_until(since + span).await;
        }
    }

    /// Ends it, once.
    pub(super) async fn close(&self) {
        if !self.closed.swap(true, Ordering::Relaxed) {
            let _ = timeout(CLOSE, self.peer.close()).await;
        }
    }

    /// Ends it when its calls have ended, or that time is over, or everything stops. Nobody may take it up any more.
    pub(super) async fn let_go(self: Arc<Self>, most: Duration, halt: CancellationToken) {
        let mut calls = self.calls.subscribe();
        tokio::select! {
            _ = calls.wait_for(|calls| *calls == 0) => {}
            () = halt.cancelled() => {}
            () = tokio::time::sleep(most) => {}
        }
        drop(calls);
        self.close().await;
    }
}

impl std::ops::Deref for Busy {
    type Target = Line;
    fn deref(&self) -> &Line {
        &self.0
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.quiet_since.lock() = Instant::now();
        self.0.calls.send_modify(|calls| *calls = calls.saturating_sub(1));
    }
}
