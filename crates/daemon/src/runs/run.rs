//! A program that runs, and what is served to it: both end together.

use std::time::Duration;

use covenant_runner::child::{Child, Overdue};
use covenant_runner::ending::Ending;
use covenant_runner::pipes::{Input, Output};
use covenant_runner::report::Report;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A program that was started. To drop it ends it, whatever it started, and every connection of it.
#[derive(Debug)]
pub struct Run {
    child: Child,
    serving: Option<Serving>,
}

/// The task that serves the listeners in a sandbox.
#[derive(Debug)]
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Run {
    pub(super) fn new(child: Child, serving: Option<JoinHandle<()>>) -> Self {
        Self { child, serving: serving.map(Serving) }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.child.id()
    }

    /// Which promises of its sandbox hold.
    pub fn report(&self) -> &Report {
        self.child.report()
    }

    /// Its standard input, once. To drop it closes it.
    pub fn take_input(&mut self) -> Option<Input> {
        self.child.take_input()
    }

    /// Its standard output, once.
    pub fn take_output(&mut self) -> Option<Output> {
        self.child.take_output()
    }

    /// The last lines of its standard error, without secrets.
    pub fn errors(&self) -> String {
        self.child.errors()
    }

    /// How it ended, once it and all it started have, and nothing is served to it any more. Can be given up and asked
    /// again.
    pub async fn wait(&mut self) -> Ending {
        let ending = self.child.wait().await;
        self.close().await;
        ending
    }

    /// Waits until then at most, and kills it if it still runs.
    pub async fn wait_until(&mut self, deadline: Instant) -> Result<Ending, Overdue> {
        let ending = self.child.wait_until(deadline).await;
        self.close().await;
        ending
    }

    /// Asks it to end, by closing its standard input and then by SIGTERM, half of `grace` for each; then kills it.
    pub async fn stop(&mut self, grace: Duration) -> Ending {
        let ending = self.child.stop(grace).await;
        self.close().await;
        ending
    }

    /// Ends it and all it started at once.
    pub async fn kill(&mut self) -> Ending {
        let ending = self.child.kill().await;
        self.close().await;
        ending
    }

    /// Serves nothing any more. It would end by itself; whoever asks how the program ended should find it so.
    async fn close(&mut self) {
        let Some(Serving(task)) = &mut self.serving else { return };
        task.abort();
        // Cancelled, as it was asked to, or over already.
        let _ = task.await;
        self.serving = None;
    }
}
