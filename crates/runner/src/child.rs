//! A child that runs: what it reads and writes, and how it is waited for and ended.

use std::net::TcpListener;
use std::time::Duration;

use tokio::time::Instant;

use crate::ending::{Ending, Status, Usage};
use crate::pipes::{Input, Output};
use crate::report::Report;

/// A program that was started. To drop it ends it, and whatever it started.
#[derive(Debug)]
pub struct Child {
    run: String,
    report: Report,
    input: Option<Input>,
    output: Option<Output>,
    doors: Doors,
}

/// The listeners inside a sandbox with a network of its own: what the program connects to, accepted out here.
///
/// They do not block, so that they can be given to Tokio.
#[derive(Debug, Default)]
pub struct Doors {
    /// Where it finds the daemon.
    pub door: Option<TcpListener>,
    /// Where it finds the proxy.
    pub proxy: Option<TcpListener>,
}

/// The time was up before the program had ended, and it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it had not ended when its time was up, and was killed")]
pub struct Overdue {
    /// How it ended then.
    pub ending: Ending,
}

impl Child {
    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.run
    }

    /// Which promises of its sandbox hold.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Its standard input, once. To drop it closes it.
    pub fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    /// Its standard output, once.
    pub fn take_output(&mut self) -> Option<Output> {
        self.output.take()
    }

    /// The listeners inside its sandbox, once.
    pub fn take_doors(&mut self) -> Doors {
        std::mem::take(&mut self.doors)
    }

    /// The last lines of its standard error, without secrets.
    pub fn errors(&self) -> String {
        String::new()
    }

    /// How it ended, once it and all it started have. Can be given up and asked again.
    #[expect(clippy::unused_async, reason = "the beginning of it")]
    pub async fn wait(&mut self) -> Ending {
        Ending { status: Status::Unknown, over: None, usage: Usage::default() }
    }

    /// Waits until then at most, and kills it if it still runs.
    pub async fn wait_until(&mut self, deadline: Instant) -> Result<Ending, Overdue> {
        let _ = deadline;
        Ok(self.wait().await)
    }

    /// Asks it to end, by closing its standard input (taken or not) and then by SIGTERM, half of `grace` for each; then
    /// kills it.
    pub async fn stop(&mut self, grace: Duration) -> Ending {
        let _ = grace;
        self.wait().await
    }

    /// Ends it and all it started at once.
    pub async fn kill(&mut self) -> Ending {
        self.wait().await
    }
}
