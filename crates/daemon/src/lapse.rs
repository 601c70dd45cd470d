//! Grants that expire: whoever listens for changes hears of it when it happens, not with the next one.

use std::sync::Arc;

use crate::daemon::Daemon;

/// Watches until the daemon stops. New grants change what expires next.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    let mut changed = daemon.gate.changed();
    loop {
        changed.mark_unchanged();
        tokio::select! {
            () = daemon.stop.closing.cancelled() => return,
            () = daemon.gate.next_lapse() => {}
            _ = changed.changed() => {}
        }
    }
}
