//! A child that runs: what it reads and writes, and how it is waited for and ended.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::ending::Ending;
use crate::keeper::{Ask, UNSEEN};
use crate::pipes::{Input, Output, Valve};
use crate::report::Report;
use crate::tail::Tail;

/// A program that was started. To drop it ends it, and whatever it started.
#[derive(Debug)]
pub struct Child {
    pub(crate) run: String,
    pub(crate) report: Report,
    pub(crate) input: Option<Input>,
    pub(crate) valve: Arc<Valve>,
    pub(crate) output: Option<Output>,
    pub(crate) doors: Doors,
    pub(crate) tail: Arc<Tail>,
    /// The keeper ends everything when this is dropped.
    pub(crate) asks: mpsc::UnboundedSender<Ask>,
    pub(crate) ended: watch::Receiver<Option<Ending>>,
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

    /// The last lines of its standard error, without secrets. After the end nothing is missing.
    pub fn errors(&self) -> String {
        self.tail.text()
    }

    /// Comes back once it and all it started have ended. It holds no part of the child: for tasks that serve it from outside.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ended = self.ended.clone();
        async move { drop(ended.wait_for(Option::is_some).await) }
    }

    /// How it ended, once it and all it started have. Cancel safe; can be asked again.
    pub async fn wait(&mut self) -> Ending {
        match self.ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.unwrap_or(UNSEEN),
            // The runtime goes down, and with it whoever would have seen the end.
            Err(_) => UNSEEN,
        }
    }

    /// Waits until then at most, and kills it if it still runs. Cancel safe.
    pub async fn wait_until(&mut self, deadline: Instant) -> Result<Ending, Overdue> {
        match timeout_at(deadline, self.wait()).await {
            Ok(ending) => Ok(ending),
            Err(_) => Err(Overdue { ending: self.kill().await }),
        }
    }

    /// Asks it to end, by closing its standard input (taken or not) and then by SIGTERM, with half of `grace` for each;
    /// then kills it. Who gives up waiting has asked for what was asked until then.
    pub async fn stop(&mut self, grace: Duration) -> Ending {
        self.valve.close();
        if let Ok(ending) = timeout(grace / 2, self.wait()).await {
            return ending;
        }
        self.ask(Ask::Signal(Signal::TERM.as_raw()));
        if let Ok(ending) = timeout(grace / 2, self.wait()).await {
            return ending;
        }
        self.kill().await
    }

    /// Ends it and all it started at once. Who gives up waiting has killed it all the same.
    pub async fn kill(&mut self) -> Ending {
        self.ask(Ask::End);
        self.wait().await
    }

    fn ask(&self, ask: Ask) {
        // Nobody takes it any more only if it has ended.
        self.asks.send(ask).ok();
    }
}
