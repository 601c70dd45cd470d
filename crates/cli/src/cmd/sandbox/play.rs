//! A run in the foreground: our standard streams are the program's, and Ctrl-C, SIGTERM and the deadline end it.

mod stream;

use std::sync::Arc;
use std::time::Duration;

use covenant_daemon::config::Config;
use covenant_runner::child::Child;
use covenant_runner::ending::{Ending, Status, Usage};
use covenant_runner::launch::StartError;
use covenant_runner::nursery::{Launcher, Nursery, Scrub};
use covenant_runner::order::Order;
use covenant_runner::report::Report;
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

pub(super) use stream::{Kept, Show};

use crate::exit::Failure;
use crate::setting::Setting;

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

/// Runs the program to its end.
pub(super) fn play(
    setting: &Setting,
    config: &Config,
    order: Order,
    show: Show,
    timeout: Option<Duration>,
) -> Result<Played, Unplayed> {
    // A thread beside this one: a terminal or pipe that takes no more must not keep signals and the deadline waiting.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| {
        Unplayed::Failed(Failure::failed(format!("no event loop could be made: {error}"), ""))
    })?;
    let played = runtime.block_on(perform(setting, config, order, show, timeout));
    // A read of a terminal that still waits must not keep the process alive.
    runtime.shutdown_timeout(LAST_WRITE);
    played
}

async fn perform(
    setting: &Setting,
    config: &Config,
    order: Order,
    show: Show,
    timeout: Option<Duration>,
) -> Result<Played, Unplayed> {
    let mut signals = Signals::new()?;
    let scrub: Scrub = match show {
        Show::Through => Arc::new(|line| {
            stream::error_line(line);
            line.to_owned()
        }),
        Show::Kept => Arc::new(str::to_owned),
    };
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut child = tokio::select! {
        started = begin(setting, config, order, scrub) => started?,
        () = signals.next() => return Err(Unplayed::Failed(Failure::failed("it was ended before it ran", ""))),
    };
    let input = child.take_input().map(|input| tokio::spawn(stream::feed(input)));
    let output = tokio::spawn(stream::drain(child.take_output(), show));
    let (ending, ended_by) = end(&mut child, deadline, &mut signals).await;
    input.inspect(tokio::task::JoinHandle::abort);
    // All writers are gone; only a reader of ours can hold this up, and a signal ends that as well.
    let drained = tokio::select! {
        drained = output => drained.unwrap_or_default(),
        () = signals.next() => stream::Drained::default(),
    };
    Ok(Played {
        run: child.id().to_owned(),
        ending,
        ended_by,
        report: child.report().clone(),
        output: drained.kept,
        is_output_gone: drained.is_gone,
        errors: child.errors(),
    })
}

/// What held for a program that is over at once; its output is nobody's.
pub(super) fn briefly(
    setting: &Setting,
    config: &Config,
    order: Order,
    patience: Duration,
) -> Result<Report, Failure> {
    let tried = |what: &str| Failure::failed(format!("the sandbox could not be tried: {what}"), "");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| tried(&format!("no event loop could be made: {error}")))?;
    let deadline = Instant::now() + patience;
    let report = runtime.block_on(async {
        let scrub: Scrub = Arc::new(str::to_owned);
        let begun = tokio::time::timeout_at(deadline, begin(setting, config, order, scrub)).await;
        let mut child = match begun {
            Ok(Ok(child)) => child,
            Ok(Err(Unplayed::Refused(error))) => return Err(tried(&error.to_string())),
            Ok(Err(Unplayed::Failed(failure))) => return Err(failure),
            Err(_) => return Err(tried(&format!("nothing ran within {} s", patience.as_secs()))),
        };
        let report = child.report().clone();
        match child.wait_until(deadline).await {
            Ok(ending) if ending.status.is_success() => Ok(report),
            Ok(ending) => Err(tried(&format!("the program in it ended with {}", ending.status))),
            Err(overdue) => Err(tried(&overdue.to_string())),
        }
    });
    runtime.shutdown_timeout(LAST_WRITE);
    report
}

/// Starts it.
async fn begin(_setting: &Setting, _config: &Config, order: Order, scrub: Scrub) -> Result<Child, Unplayed> {
    let nursery = Nursery::new(Launcher::own());
    nursery.start(order, scrub).await.map_err(Unplayed::Refused)
}

/// Waits for the end, and brings it about where somebody or the clock asks for it.
async fn end(child: &mut Child, deadline: Option<Instant>, signals: &mut Signals) -> (Ending, EndedBy) {
    let waited = tokio::select! {
        waited = wait(child, deadline) => Some(waited),
        () = signals.next() => None,
    };
    if let Some((ending, by)) = waited {
        return (ending, if ending.over.is_some() { EndedBy::Limit } else { by });
    }
    let stopped = tokio::select! {
        ending = child.stop(GRACE) => Some(ending),
        () = signals.next() => None,
    };
    if let Some(ending) = stopped {
        return (ending, EndedBy::Signal);
    }
    // The third time nothing is waited for: to leave ends all of it as well.
    let ending = tokio::select! {
        ending = child.kill() => ending,
        () = signals.next() => Ending { status: Status::Unknown, over: None, usage: Usage::default() },
    };
    (ending, EndedBy::Signal)
}

async fn wait(child: &mut Child, deadline: Option<Instant>) -> (Ending, EndedBy) {
    let Some(deadline) = deadline else { return (child.wait().await, EndedBy::Itself) };
    match child.wait_until(deadline).await {
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
