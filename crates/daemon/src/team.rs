//! Where the work of teams is kept, as the tools ask for it, and when the numbers of calls are that were not written down one
//! by one.

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
use tokio::io::AsyncReadExt as _;

use crate::daemon::Daemon;

/// The most that is read of what says which companion there is.
const MANIFEST: u64 = 64 * 1024;

/// How long calls that are not written down one by one are counted together.
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

impl Daemon {
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
}

fn unsettled(fault: &Fault) {
    tracing::warn!(target: "covenant", cause = fault.cause(), "not all that a removed developer had open was ended: {fault}");
}

/// Has the numbers written down of calls that were not one by one, once a minute; the last are at the end. Once a minute ends
/// too what removed developers still have open.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    loop {
        tokio::select! {
            () = daemon.stop.closing.cancelled() => return,
            () = tokio::time::sleep(TOGETHER) => daemon.account.settle().await,
        }
        daemon.settle_departed().await;
    }
}
