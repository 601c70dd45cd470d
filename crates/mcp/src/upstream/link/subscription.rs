//! How a server of the modern era says that its tools changed: a request that stays open, and is asked again when it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::ear::LinkEar;
use super::letters;
use crate::reply::METHOD_NOT_FOUND;
use crate::upstream::wire::{Answer, Wire, WireError};

/// How long to wait before it is asked for again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// A subscription that is kept. To drop it ends it.
pub(super) struct Subscription(AbortHandle);

impl Subscription {
    pub(super) fn start(wire: Arc<dyn Wire>, ear: Arc<LinkEar>) -> Self {
        Self(tokio::spawn(keep(wire, ear)).abort_handle())
    }

    pub(super) fn stop(&self) {
        self.0.abort();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn keep(wire: Arc<dyn Wire>, ear: Arc<LinkEar>) {
    let (least, most) = PAUSES;
    let mut pause = least;
    loop {
        let began = Instant::now();
        match wire.ask(&letters::listen(ear.id())).await {
            Err(WireError::Lost(_)) => return,
            Ok(Answer::Error(failure)) if failure.code == i64::from(METHOD_NOT_FOUND) => return,
            // Ended, refused or broken: the server may take it later.
            Ok(_) | Err(_) => {}
        }
        pause = if began.elapsed() > most { least } else { pause };
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(most);
    }
}
