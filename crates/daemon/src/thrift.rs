//! Gives memory back: soon after the start, most of whose code is not run again, and now and then after bursts of work.

use std::sync::Arc;
use std::time::Duration;

use covenant_runner::thrift;

use crate::daemon::Daemon;

/// When the start is over, servers included that answer at once.
const SETTLED: Duration = Duration::from_secs(2);

/// How often after that.
const PAUSE: Duration = Duration::from_mins(1);

/// Until the daemon stops.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    let mut pause = SETTLED;
    loop {
        tokio::select! {
            () = daemon.stop.closing.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        // Free memory is looked for under the allocator's locks: not on a thread that serves calls.
        if tokio::task::spawn_blocking(thrift::give_back).await.is_err() {
            return;
        }
        pause = PAUSE;
    }
}
