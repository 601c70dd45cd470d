//! Keeps the index in the database up with the log, and the log within its age. Both lag behind on purpose: calls come
//! first.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Fault;
use covenant_model::api::Pruned;
use covenant_model::audit::Record;
use covenant_model::time::Timestamp;
use covenant_store::IndexRow;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::daemon::Daemon;

/// How many rows are indexed at a time. All of them are held, so few are.
const BATCH: u32 = 512;

/// The least time between two batches.
const PAUSE: Duration = Duration::from_millis(60);

/// The same while calls come in a flood, so that it is not slowed by its own index: to keep a row findable costs more than
/// to write it.
const BUSY: Duration = Duration::from_millis(500);

/// So many rows per second are a flood.
const FLOOD: u64 = 2000;

/// How long to wait after something failed.
const RECOVER: Duration = Duration::from_secs(5);

/// How often old rows are looked for.
const DAY: Duration = Duration::from_hours(24);

/// How long after the start they are first looked for.
const FIRST_LOOK: Duration = Duration::from_mins(1);

/// Follows the log until the daemon stops.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    let stopping = daemon.stop.closing.clone();
    tokio::select! {
        () = stopping.cancelled() => {}
        () = index(&daemon) => {}
        () = keep_young(&daemon) => {}
    }
}

async fn index(daemon: &Daemon) {
    if daemon.gate.audit().dir().is_none() {
        // The rows are in the database already.
        return std::future::pending().await;
    }
    let mut news = daemon.gate.audit().subscribe();
    loop {
        let outcome = catch_up(daemon, &mut news).await;
        let Err(fault) = outcome else { return };
        tracing::warn!(target: "covenant", cause = fault.cause(), "the audit index lags behind: {fault}");
        sleep(RECOVER).await;
    }
}

/// Reads on from where the index ends, for as long as the log lives.
async fn catch_up(daemon: &Daemon, news: &mut watch::Receiver<u64>) -> Result<(), Fault> {
    let chain = &daemon.chain;
    let mut indexed = daemon.store.audit_indexed(chain).await?;
    if indexed > *news.borrow() {
        // The log was begun anew: what the index holds is not of it.
        daemon.store.clear_audit_index(chain).await?;
        indexed = 0;
    }
    let mut rows = daemon.gate.audit().rows(indexed.saturating_add(1));
    let mut seen = (*news.borrow(), Instant::now());
    loop {
        let (rest, lines) = rows.next(BATCH).await?;
        rows = rest;
        let full = u32::try_from(lines.len()).is_ok_and(|rows| rows >= BATCH);
        let indexed: Vec<IndexRow> = lines.into_iter().filter_map(row).collect();
        daemon.store.index_audit(chain, &indexed).await?;
        if !full && news.changed().await.is_err() {
            return Ok(());
        }
        let now = (*news.borrow(), Instant::now());
        let pause = pause(now.0.saturating_sub(seen.0), now.1.duration_since(seen.1));
        seen = now;
        sleep(pause).await;
    }
}

/// How long the index rests, where the log has grown by so many rows in so long a time.
fn pause(grown: u64, within: Duration) -> Duration {
    let flood = u128::from(grown) * 1000 > u128::from(FLOOD) * within.as_millis().max(1);
    if flood { BUSY } else { PAUSE }
}

fn row(line: String) -> Option<IndexRow> {
    let Record { seq, ts, principal, agent_id, kind, decision, call, .. } = Record::read(line.as_bytes())?;
    let (principal, agent_id) = (principal.into_owned(), agent_id.into_owned());
    let (kind, decision, call_id) =
        (kind.into_owned(), decision.into_owned(), call.map(std::borrow::Cow::into_owned));
    Some(IndexRow { seq, ts, principal, agent_id, kind, decision, call_id, line })
}

async fn keep_young(daemon: &Daemon) {
    let (mut base, mut since) = (daemon.clock.now(), Instant::now());
    sleep(FIRST_LOOK).await;
    loop {
        let days = daemon.config().audit.keep_days;
        let now = daemon.clock.now();
        let jumped = now > base.plus(since.elapsed()).plus(DAY);
        (base, since) = (now, Instant::now());
        if jumped {
            // By a clock that was put forward, everything would be old.
            tracing::warn!(target: "covenant", "the clock jumped: nothing is removed from the audit log today");
        } else if days > 0 {
            let before = now.minus(DAY.saturating_mul(days));
            if let Err(fault) = prune(daemon, before).await {
                tracing::warn!(target: "covenant", cause = fault.cause(), "{fault}");
            }
        }
        sleep(DAY).await;
    }
}

/// Removes rows before that moment from the log, and then from the index; intents that were over by then go with their rows.
pub(crate) async fn prune(daemon: &Daemon, before: Timestamp) -> Result<Pruned, Fault> {
    let pruned = daemon.gate.audit().prune(before).await?;
    if pruned.rows > 0 {
        daemon.store.prune_audit_index(&daemon.chain, pruned.first_kept).await?;
        tracing::info!(target: "covenant", rows = pruned.rows, "old audit rows were removed");
    }
    let intents = daemon.store.prune_intents(before).await?;
    if intents > 0 {
        tracing::info!(target: "covenant", rows = intents, "old intents and receipts were removed");
    }
    Ok(pruned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_rests_longer_while_a_flood_of_calls_lasts() {
        let secs = Duration::from_secs;
        assert_eq!(pause(0, secs(1)), PAUSE);
        assert_eq!(pause(2000, secs(1)), PAUSE, "it keeps up with those");
        assert_eq!(pause(2001, secs(1)), BUSY);
        assert_eq!(pause(300, PAUSE), BUSY);
        assert_eq!(pause(3000, secs(60)), PAUSE, "as many in a longer time are none");
        assert_eq!(pause(u64::MAX, Duration::ZERO), BUSY);
    }
}
