//! Posts checkpoints to `[audit] anchor_url`. Whoever keeps one there can prove every edit, deletion and truncation before
//! it, even against the owner of this home.
//!
//! It follows the log as the log's own signing does: soon after a row, and then after so much time or so many rows. Only
//! the newest checkpoint is of use, so each attempt asks for it, and nothing is queued. Calls never wait for any of this.

mod pace;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::audit::AuditLog;
use covenant_model::audit::Checkpoint;
use parking_lot::Mutex;
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use self::pace::Pace;
use crate::daemon::Daemon;
use crate::outbound::{self, Address};

/// How long the attempt at the end may take.
const LAST: Duration = Duration::from_secs(2);

/// Where checkpoints are posted, and how that goes.
pub(crate) struct Anchor {
    aim: watch::Sender<Option<Address>>,
    standing: Mutex<Standing>,
}

/// How it went so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Standing {
    /// Nothing was tried yet.
    #[default]
    Untried,
    /// The checkpoint of that row was taken.
    Kept(u64),
    /// Nothing is taken since; the last one that was, if any.
    Failing(Option<u64>),
}

/// Posts checkpoints until the daemon stops.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    let stopping = daemon.stop.closing.clone();
    tokio::select! {
        () = stopping.cancelled() => {}
        () = daemon.anchor.follow(daemon.gate.audit(), Pace::default()) => {}
    }
}

impl Anchor {
    pub(crate) fn new(address: Option<Address>) -> Self {
        Self { aim: watch::Sender::new(address), standing: Mutex::default() }
    }

    /// Posts to another address from now on.
    pub(crate) fn aim(&self, address: Option<Address>) {
        self.aim.send_if_modified(|aim| {
            let other = *aim != address;
            *aim = address;
            other
        });
    }

    async fn follow(&self, audit: &AuditLog, pace: Pace) {
        let mut aim = self.aim.subscribe();
        loop {
            let address = aim.borrow_and_update().clone();
            *self.standing.lock() = Standing::Untried;
            tokio::select! {
                changed = aim.changed() => if changed.is_err() { return },
                () = self.keep_posting(audit, address, pace) => return,
            }
        }
    }

    /// Posts for as long as the log lives. The first one goes at once: it shows whether the address works.
    async fn keep_posting(&self, audit: &AuditLog, address: Option<Address>, pace: Pace) {
        let Some(address) = address else { return pending().await };
        let mut news = audit.subscribe();
        let mut client = None;
        let mut failures = 0;
        loop {
            let Ok(checkpoint) = audit.checkpoint().await else {
                // The log says itself what is wrong with it.
                sleep(pace.every).await;
                continue;
            };
            let posted = post_with(&mut client, &address, &checkpoint, pace.patience).await;
            let kept = posted.is_ok();
            self.note(&address, checkpoint.seq, posted);
            if kept {
                failures = 0;
                if more(&mut news, checkpoint.seq, pace).await.is_err() {
                    return;
                }
            } else {
                // The next one reads certificates and proxies anew: perhaps it is those that are wrong.
                client = None;
                sleep(pace.wait(failures)).await;
                failures = failures.saturating_add(1);
            }
        }
    }

    /// The checkpoint to end with; `None` if it is not to be posted. Ask before the log is closed: then it signs no more.
    pub(crate) async fn last(&self, audit: &AuditLog) -> Option<Checkpoint> {
        let aimed = self.aim.borrow().is_some();
        if aimed { audit.checkpoint().await.ok() } else { None }
    }

    /// Posts the last checkpoint, or gives up soon.
    pub(crate) async fn keep_last(&self, last: Option<Checkpoint>) {
        let address = self.aim.borrow().clone();
        let (Some(address), Some(checkpoint)) = (address, last) else { return };
        let posted = timeout(LAST, post_with(&mut None, &address, &checkpoint, LAST)).await;
        let posted = posted.unwrap_or_else(|_| Err(unanswered(LAST)));
        self.note(&address, checkpoint.seq, posted);
    }

    /// Says when it begins to fail and when it works again, and nothing between.
    fn note(&self, address: &Address, seq: u64, posted: Result<(), String>) {
        let mut standing = self.standing.lock();
        let before = *standing;
        *standing = before.after(seq, posted.is_ok());
        let news = before.is_news(*standing);
        drop(standing);
        let (to, kept) = (address.origin(), before.kept());
        match posted {
            Ok(()) if news => tracing::info!(target: "covenant", to, seq, "checkpoints are anchored"),
            Ok(()) => tracing::debug!(target: "covenant", to, seq, "a checkpoint is anchored"),
            Err(cause) if news => tracing::warn!(
                target: "covenant", to, kept, cause,
                "checkpoints cannot be anchored; calls go on, and it is tried again until it works"
            ),
            Err(cause) => {
                tracing::debug!(target: "covenant", to, kept, cause, "checkpoints still cannot be anchored");
            }
        }
    }
}

impl Standing {
    /// The row of the last checkpoint that was taken.
    fn kept(self) -> Option<u64> {
        match self {
            Self::Untried => None,
            Self::Kept(seq) => Some(seq),
            Self::Failing(kept) => kept,
        }
    }

    fn after(self, seq: u64, taken: bool) -> Self {
        if taken { Self::Kept(seq) } else { Self::Failing(self.kept()) }
    }

    /// Whether people should hear of the change.
    fn is_news(self, next: Self) -> bool {
        std::mem::discriminant(&self) != std::mem::discriminant(&next)
    }
}

/// Waits until there is something new to post, and it is time to. An error if the log is no more.
async fn more(news: &mut watch::Receiver<u64>, kept: u64, pace: Pace) -> Result<(), watch::error::RecvError> {
    let posted = Instant::now();
    news.wait_for(|last| *last > kept).await?;
    let enough = kept.saturating_add(pace.rows);
    loop {
        // Asked now and then, not told: whoever writes a row should not have to wake us each time.
        sleep(pace.step).await;
        if posted.elapsed() >= pace.every || *news.borrow() >= enough {
            return Ok(());
        }
    }
}

/// Posts with the client there is, or makes one first.
async fn post_with(
    client: &mut Option<Client>,
    address: &Address,
    checkpoint: &Checkpoint,
    patience: Duration,
) -> Result<(), String> {
    let client = match client {
        Some(client) => client,
        None => client.insert(address.clone().open().await?),
    };
    post(client, address, checkpoint, patience).await
}

async fn post(
    client: &Client,
    address: &Address,
    checkpoint: &Checkpoint,
    patience: Duration,
) -> Result<(), String> {
    let request = client
        .post(address.url())
        .header(CONTENT_TYPE, "application/json")
        // A whole line: whoever appends what comes to a file has one that `audit verify --anchor` reads.
        .body(format!("{}\n", checkpoint.line()))
        .timeout(patience);
    match request.send().await {
        Ok(response) if response.status().is_success() => Ok(()),
        Ok(response) if response.status().is_redirection() => {
            Err(format!("it answered {}, and redirects are not followed", response.status()))
        }
        Ok(response) => Err(format!("it answered {}", response.status())),
        Err(error) if error.is_timeout() => Err(unanswered(patience)),
        Err(error) => Err(outbound::told(error)),
    }
}

fn unanswered(patience: Duration) -> String {
    format!("it did not answer within {} s", patience.as_secs())
}

#[cfg(test)]
mod tests;
