//! A run in the foreground: our standard streams are the program's, and Ctrl-C, SIGTERM and the deadline end it.

mod stream;
mod teller;

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
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(super) use stream::{Kept, Show};
pub(super) use teller::Teller;

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
    /// Why not all of that came to our standard output.
    pub(super) output_lost: Option<std::io::Error>,
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

/// Runs the program to its end, and lets `finale` say how it went. Whoever reads our output may hold up neither: the
/// finale has its turn when all before it is written, and is not waited for once a signal or the deadline has come.
pub(super) fn play(
    runs: Runs,
    order: Order,
    show: Show,
    timeout: Option<Duration>,
    finale: impl FnOnce(Result<Played, Unplayed>) -> Exit + Send + 'static,
) -> Result<Exit, Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::failed(format!("{what}: {error}"), "");
    // A thread beside this one: a terminal or pipe that takes no more must not keep signals and the deadline waiting.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| failed("no event loop could be made", error))?;
    let teller = Teller::start().map_err(|error| failed("no thread could be started", error))?;
    let exit = runtime.block_on(async {
        let signals = Signals::new().map_err(|error| failed("signals cannot be received", error))?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut stage = Stage { show, teller, signals, deadline };
        let outcome = stage.perform(runs, order).await;
        Ok(stage.close(move || finale(outcome)).await)
    });
    // A read of a terminal that still waits must not keep the process alive.
    runtime.shutdown_timeout(LAST_WRITE);
    exit
}

/// What a run is played with.
struct Stage {
    show: Show,
    teller: Teller,
    signals: Signals,
    /// When all is to be over.
    deadline: Option<Instant>,
}

impl Stage {
    async fn perform(&mut self, runs: Runs, order: Order) -> Result<Played, Unplayed> {
        let (show, teller) = (self.show, self.teller.clone());
        let refusals = Refusals::listen((show == Show::Through).then(|| teller.clone()));
        let scrub: Scrub = match show {
            Show::Through => Arc::new(move |line| {
                teller.line(line);
                line.to_owned()
            }),
            Show::Kept => Arc::new(str::to_owned),
        };
        let mut run = tokio::select! {
            started = runs.start(order, scrub) => started.map_err(Unplayed::from)?,
            () = self.signals.next() => {
                self.hurry();
                return Err(Unplayed::Failed(Failure::failed("it was ended before it ran", "")));
            }
        };
        let input = run.take_input().map(|input| tokio::spawn(stream::feed(input)));
        let output = tokio::spawn(stream::drain(run.take_output(), show));
        let (ending, ended_by) = end(&mut run, self.deadline, &mut self.signals).await;
        input.inspect(tokio::task::JoinHandle::abort);
        if ended_by == EndedBy::Signal {
            self.hurry();
        }
        // All writers are gone; only a reader of ours can hold this up.
        let drained = self.until_over(output).await.and_then(Result::ok).unwrap_or_default();
        Ok(Played {
            run: run.id().to_owned(),
            ending,
            ended_by,
            report: run.report().clone(),
            output: drained.kept,
            output_lost: drained.lost,
            errors: run.errors(),
            refused: refusals.all(),
        })
    }

    /// Has the last said.
    async fn close(&mut self, finale: impl FnOnce() -> Exit + Send + 'static) -> Exit {
        let (done, exit) = oneshot::channel();
        self.teller.own(move || {
            // Who does not wait any more has decided already.
            let _ = done.send(finale());
        });
        // What nobody has read did not go well.
        self.until_over(exit).await.and_then(Result::ok).unwrap_or(Exit::Failed)
    }

    /// Waits for what only a reader of ours can hold up: until a signal or the deadline, and a moment longer.
    async fn until_over<T>(&mut self, what: impl Future<Output = T>) -> Option<T> {
        let over = self.deadline.map(|deadline| deadline.max(Instant::now() + LAST_WRITE));
        let over = async {
            match over {
                Some(over) => tokio::time::sleep_until(over).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            done = what => return Some(done),
            () = self.signals.next() => self.hurry(),
            () = over => (),
        }
        None
    }

    /// Somebody wants an end.
    fn hurry(&mut self) {
        self.deadline = Some(Instant::now());
    }
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
    fn new() -> Result<Self, std::io::Error> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
