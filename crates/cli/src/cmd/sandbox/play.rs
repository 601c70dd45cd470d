//! A run in the foreground: our standard streams are the program's, and Ctrl-C, SIGTERM and the deadline end it.

mod stream;

use std::sync::Arc;
use std::time::Duration;

use covenant_daemon::runs::{self, Run, Runs};
use covenant_runner::ending::{Ending, Status, Usage};
use covenant_runner::launch::StartError;
use covenant_runner::nursery::Scrub;
use covenant_runner::order::Order;
use covenant_runner::report::Report;
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

pub(super) use stream::{Kept, Show};

use super::refusals::Refusals;
use crate::exit::{Exit, Failure};

/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// How long the last bytes may take once all is over.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// A run that is over.
#[derive(Debug)]
pub(super) struct Played {
    /// Its id.
    pub(super) run: String,
    /// How it ended.
    pub(super) ending: Ending,
    /// Who ended it.
    pub(super) ended_by: EndedBy,
    /// Which promises held.
    pub(super) report: Report,
    /// What it wrote, where that was kept.
    pub(super) output: Kept,
    /// Nobody reads our standard output any more.
    pub(super) is_output_gone: bool,
    /// The last lines of its standard error.
    pub(super) errors: String,
    /// What the proxy refused it.
    pub(super) refused: Vec<String>,
}

/// Who ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndedBy {
    /// The program, by exiting or by what it did wrong.
    Itself,
    /// A limit it went over.
    Limit,
    /// The deadline.
    Deadline,
    /// Whoever sent us a signal.
    Signal,
}

/// Why nothing ran.
#[derive(Debug)]
pub(super) enum Unplayed {
    /// The program could not be started.
    Refused(StartError),
    /// Something else.
    Failed(Failure),
}

impl From<runs::StartError> for Unplayed {
    fn from(error: runs::StartError) -> Self {
        match error {
            runs::StartError::Runner(error) => Self::Refused(error),
            other => Self::Failed(Failure::told(Exit::Failed, &other)),
        }
    }
}

/// Runs the program to its end.
pub(super) fn play(
    runs: Runs,
    order: Order,
    show: Show,
    timeout: Option<Duration>,
) -> Result<Played, Unplayed> {
    // A thread beside this one: a terminal or pipe that takes no more must not keep signals and the deadline waiting.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| {
        Unplayed::Failed(Failure::failed(format!("no event loop could be made: {error}"), ""))
    })?;
    let played = runtime.block_on(perform(runs, order, show, timeout));
    // A read of a terminal that still waits must not keep the process alive.
    runtime.shutdown_timeout(LAST_WRITE);
    played
}

async fn perform(
    runs: Runs,
    order: Order,
    show: Show,
    timeout: Option<Duration>,
) -> Result<Played, Unplayed> {
    let mut signals = Signals::new()?;
    let refusals = Refusals::listen(show);
    let scrub: Scrub = match show {
        Show::Through => Arc::new(|line| {
            stream::error_line(line);
            line.to_owned()
        }),
        Show::Kept => Arc::new(str::to_owned),
    };
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut run = tokio::select! {
        started = runs.start(order, scrub) => started.map_err(Unplayed::from)?,
        () = signals.next() => return Err(Unplayed::Failed(Failure::failed("it was ended before it ran", ""))),
    };
    let input = run.take_input().map(|input| tokio::spawn(stream::feed(input)));
    let output = tokio::spawn(stream::drain(run.take_output(), show));
    let (ending, ended_by) = end(&mut run, deadline, &mut signals).await;
    input.inspect(tokio::task::JoinHandle::abort);
    // All writers are gone; only a reader of ours can hold this up, and a signal ends that as well.
    let drained = tokio::select! {
        drained = output => drained.unwrap_or_default(),
        () = signals.next() => stream::Drained::default(),
    };
    Ok(Played {
        run: run.id().to_owned(),
        ending,
        ended_by,
        report: run.report().clone(),
        output: drained.kept,
        is_output_gone: drained.is_gone,
        errors: run.errors(),
        refused: refusals.all(),
    })
}

/// Waits for the end, and brings it about where somebody or the clock asks for it.
async fn end(run: &mut Run, deadline: Option<Instant>, signals: &mut Signals) -> (Ending, EndedBy) {
    let waited = tokio::select! {
        waited = wait(run, deadline) => Some(waited),
        () = signals.next() => None,
    };
    if let Some((ending, by)) = waited {
        return (ending, if ending.over.is_some() { EndedBy::Limit } else { by });
    }
    let stopped = tokio::select! {
        ending = run.stop(GRACE) => Some(ending),
        () = signals.next() => None,
    };
    if let Some(ending) = stopped {
        return (ending, EndedBy::Signal);
    }
    // The third time nothing is waited for: to leave ends all of it as well.
    let ending = tokio::select! {
        ending = run.kill() => ending,
        () = signals.next() => Ending { status: Status::Unknown, over: None, usage: Usage::default() },
    };
    (ending, EndedBy::Signal)
}

async fn wait(run: &mut Run, deadline: Option<Instant>) -> (Ending, EndedBy) {
    let Some(deadline) = deadline else { return (run.wait().await, EndedBy::Itself) };
    match run.wait_until(deadline).await {
        Ok(ending) => (ending, EndedBy::Itself),
        Err(overdue) => (overdue.ending, EndedBy::Deadline),
    }
}

/// What people and systems send to end a command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self, Unplayed> {
        let failed = |error: std::io::Error| {
            Unplayed::Failed(Failure::failed(format!("signals cannot be received: {error}"), ""))
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
