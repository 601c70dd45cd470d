//! Other daemons on the same database: what they grant and revoke is in force here within a second.

use std::sync::Arc;
use std::time::Duration;

use crate::daemon::Daemon;

/// How often the database is asked whether anything changed.
const LOOK: Duration = Duration::from_secs(1);

/// Looks until the daemon stops. A file has no neighbours: one daemon holds its home.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    if !daemon.config().database.is_server() {
        return;
    }
    let mut seen = None;
    let mut failing = false;
    while !daemon.stop.closing.is_cancelled() {
        match look(&daemon, &mut seen).await {
            Ok(()) => failing = false,
            Err(fault) if !failing => {
                failing = true;
                tracing::warn!(target: "covenant", cause = fault.cause(), "changes of other daemons are not seen: {fault}");
            }
            Err(_) => {}
        }
        tokio::select! {
            () = daemon.stop.closing.cancelled() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn look(daemon: &Daemon, seen: &mut Option<u64>) -> Result<(), covenant_gate::Fault> {
    let now = daemon.store.revision().await?;
    if *seen != Some(now) {
        daemon.gate.refresh().await?;
        *seen = Some(now);
    }
    Ok(())
}
