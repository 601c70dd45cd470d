//! How a daemon ends: it takes nothing new, finishes what runs, takes back what does not finish, and closes its books.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::audit::Kind;
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use crate::lock::Lock;
use crate::reload::By;

/// How long running calls may go on, unless the daemon was started with another span.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);

/// How long calls that were taken back may take to end.
const WIND_DOWN: Duration = Duration::from_secs(2);

/// The stages of the end, and the count of what is still going on.
pub(crate) struct Stop {
    /// Nothing new is taken.
    pub(crate) closing: CancellationToken,
    /// What still runs is taken back.
    pub(crate) giving_up: CancellationToken,
    /// How long running calls may go on.
    pub(crate) drain: Duration,
    busy: Mutex<Option<mpsc::Sender<()>>>,
    idle: tokio::sync::Mutex<mpsc::Receiver<()>>,
}

/// Something that is going on; while it is held the daemon waits before it ends.
#[derive(Clone)]
pub(crate) struct Busy(#[expect(dead_code, reason = "held, and dropped")] mpsc::Sender<()>);

impl Stop {
    pub(crate) fn new(drain: Duration) -> Self {
        let (busy, idle) = mpsc::channel(1);
        Self {
            closing: CancellationToken::new(),
            giving_up: CancellationToken::new(),
            drain,
            busy: Mutex::new(Some(busy)),
            idle: tokio::sync::Mutex::new(idle),
        }
    }

    /// Says that something begins; `None` once the daemon is ending.
    pub(crate) fn begin(&self) -> Option<Busy> {
        self.busy.lock().clone().map(Busy)
    }

    /// How much goes on.
    pub(crate) fn going_on(&self) -> usize {
        self.busy.lock().as_ref().map_or(0, |busy| busy.strong_count().saturating_sub(1))
    }

    /// Waits until nothing goes on any more, or that long.
    async fn idle(&self, patience: Duration) -> bool {
        self.busy.lock().take();
        let mut idle = self.idle.lock().await;
        tokio::time::timeout(patience, idle.recv()).await.is_ok()
    }
}

/// The signals a daemon listens to.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// Waits until someone wants the daemon to end: a signal, or a request. A hangup reloads it.
pub(crate) async fn wanted(daemon: &Arc<Daemon>, signals: &mut Signals) {
    loop {
        tokio::select! {
            () = daemon.stop.closing.cancelled() => return,
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.hangup.recv() => {
                // What it found, it has said in the log: nobody else asked.
                drop(daemon.reload(By::Signal).await);
            }
        }
    }
    tracing::info!(target: "covenant", "stopping on a signal");
}

/// Ends the daemon: everything in the order that loses nothing.
pub(crate) async fn end(daemon: &Daemon, lock: Lock) {
    daemon.stop.closing.cancel();
    // The socket goes first: a client that finds none starts a new daemon and waits for our lock.
    let _ = std::fs::remove_file(&daemon.socket);
    if !daemon.stop.idle(daemon.stop.drain).await {
        tracing::warn!(target: "covenant", "calls still run after {} s and are taken back", daemon.stop.drain.as_secs());
        daemon.stop.giving_up.cancel();
        daemon.stop.idle(WIND_DOWN).await;
    }
    // Nobody calls any more. What they say while they end is still recorded.
    daemon.desk.fleet.stop().await;
    daemon.account.close().await;
    if let Err(fault) = daemon.sessions.write_down(daemon.clock.now()).await {
        tracing::warn!(target: "covenant", cause = fault.cause(), "when sessions were last used is not kept: {fault}");
    }
    daemon.spans.finish(&daemon.gate).await;
    if let Err(fault) = daemon.gate.record_own(Kind::DaemonStopped, None).await {
        tracing::error!(target: "covenant", cause = fault.cause(), "the last row could not be written: {fault}");
    }
    let last = daemon.anchor.last(daemon.gate.audit()).await;
    // Closing signs everything that was written.
    daemon.gate.audit().close().await;
    daemon.store.close().await;
    daemon.anchor.keep_last(last).await;
    tracing::info!(target: "covenant", "stopped");
    drop(lock);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_what_goes_on_and_takes_nothing_new() {
        let stop = Stop::new(DRAIN);
        assert_eq!(stop.going_on(), 0);
        let busy = stop.begin().unwrap();
        assert_eq!(stop.going_on(), 1);
        assert!(!stop.idle(Duration::from_millis(1)).await, "something goes on");
        assert!(stop.begin().is_none(), "nothing new begins");
        drop(busy);
        assert!(stop.idle(Duration::from_secs(5)).await);
    }
}
