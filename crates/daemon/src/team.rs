//! Where the work of teams is kept, as the tools ask for it; and calls of strangers, of which the first of a minute and the
//! number are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Fault;
use covenant_gate::ports::Answer;
use covenant_model::id::DeveloperId;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_store::Store;
use covenant_team::event::Unserved;
use covenant_team::session::Hosted;
use covenant_team::{Outcome, Request};
use covenant_tools::covibe::Records;
use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;

use crate::daemon::Daemon;

/// The most that is read of what says which companion there is.
const MANIFEST: u64 = 64 * 1024;

/// How long calls of strangers are counted together.
const TOGETHER: Duration = Duration::from_mins(1);

/// The store, as the tools of a team know it, and the companion that this home has for machines to take.
pub(crate) struct Kept {
    pub(crate) store: Arc<Store>,
    /// Where that says which one it is, if there is one.
    pub(crate) manifest: PathBuf,
}

impl Kept {
    /// The companion there is. One that cannot be read is none, and told to the operator.
    async fn hosted(&self) -> Option<Hosted> {
        let file = tokio::fs::File::open(&self.manifest).await.ok()?;
        let mut text = Vec::new();
        let read = file.take(MANIFEST).read_to_end(&mut text).await;
        let read = read.map_err(|error| error.to_string());
        let read = read.and_then(|_| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        read.inspect_err(|error| {
            tracing::warn!(target: "covenant", "{} does not say which companion there is: {error}", self.manifest.display());
        })
        .ok()
    }
}

impl Records for Kept {
    fn perform(&self, request: Request) -> Answer<'_, Outcome> {
        Box::pin(async move {
            let version = request.call.companion_version().map(str::to_owned);
            let mut outcome = self.store.perform(request).await?;
            if let Some(version) = version.filter(|_| outcome.is_kept())
                && let Some(hosted) = self.hosted().await
            {
                outcome.envelope = outcome.envelope.with("companion", hosted.answer(&version));
            }
            Ok(outcome)
        })
    }

    fn unserved(&self, principal: Option<Principal>, call: Unserved, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(self.store.note_unserved(principal, call, at))
    }
}

/// How many calls of strangers came by each door since they were last written down.
#[derive(Default)]
pub(crate) struct Strangers(Mutex<BTreeMap<&'static str, u64>>);

impl Strangers {
    /// Counts one; whether it is the first, which is written down at once.
    fn count(&self, source: &'static str) -> bool {
        match self.0.lock().entry(source) {
            std::collections::btree_map::Entry::Vacant(first) => {
                first.insert(0);
                true
            }
            std::collections::btree_map::Entry::Occupied(mut more) => {
                *more.get_mut() += 1;
                false
            }
        }
    }

    /// The numbers since the last time, those of one alone left out.
    fn take(&self) -> Vec<(&'static str, u64)> {
        std::mem::take(&mut *self.0.lock()).into_iter().filter(|(_, more)| *more > 0).collect()
    }
}

impl Daemon {
    /// Writes down that somebody we do not know sent something that could not be served.
    pub(crate) async fn note_stranger(&self, source: &'static str) {
        if self.strangers.count(source) {
            self.write_strangers(source, 1).await;
        }
    }

    /// Ends what somebody has open who was removed. They stay removed, whatever comes of it, and what is left is tried again.
    pub(crate) async fn settle(&self, gone: &DeveloperId) {
        if let Err(fault) = self.store.settle(gone, self.clock.now()).await {
            unsettled(&fault);
        }
    }

    async fn settle_departed(&self) {
        if let Err(fault) = self.store.settle_departed(self.clock.now()).await {
            unsettled(&fault);
        }
    }

    async fn write_strangers(&self, source: &'static str, count: u64) {
        if let Err(fault) = self.store.note_strangers(source, count, self.clock.now()).await {
            tracing::error!(target: "covenant", cause = fault.cause(), "calls of strangers could not be written down: {fault}");
        }
    }
}

fn unsettled(fault: &Fault) {
    tracing::warn!(target: "covenant", cause = fault.cause(), "not all that a removed developer had open was ended: {fault}");
}

/// Writes the numbers down, once a minute and at the end; once a minute ends too what removed developers still have open.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    loop {
        let over = tokio::select! {
            () = daemon.stop.closing.cancelled() => true,
            () = tokio::time::sleep(TOGETHER) => false,
        };
        for (source, count) in daemon.strangers.take() {
            daemon.write_strangers(source, count).await;
        }
        if over {
            return;
        }
        daemon.settle_departed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stranger_is_told_of_at_once_and_the_others_together() {
        let strangers = Strangers::default();
        assert!(strangers.count("port"));
        assert!(!strangers.count("port"));
        assert!(!strangers.count("port"));
        assert!(strangers.count("socket"));
        assert_eq!(strangers.take(), [("port", 2)]);
        assert!(strangers.count("port"));
    }
}
