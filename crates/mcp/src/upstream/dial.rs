//! From a plan to a link: a program is started or a server reached, and the handshake done, within the time the plan has
//! for both.
//!
//! A URL without a path is tried as it is given, and then with `/mcp`. A server that refuses Streamable HTTP is asked for
//! the stream of the first revision's transport.

mod web;

use std::sync::Arc;
use std::time::Duration;

use covenant_model::server::{EraChoice, Plan, Program, Reach};
use tokio::time::{Instant, timeout_at};

use super::link::{Failure, Link, LinkEar, NotOpened};
use super::ports::{Couriers, LogLine, Programs, RunningProgram};
use super::scrub::Scrub;
use super::stdio::StdioWire;

/// The phase in which a program is started, or a server found.
pub const START: &str = "start";

/// The phase in which a server is asked how it speaks.
pub const HANDSHAKE: &str = "handshake";

/// The line that stands in a server's log before those of each start of its program.
pub const STARTED: &str = "— start —";

/// How long the last lines of a program that ended have to arrive, before it is started again.
const LAST_LINES: Duration = Duration::from_millis(20);

/// What is needed to reach a server.
#[derive(Clone)]
pub struct Dial<'a> {
    /// Where it is.
    pub plan: &'a Plan,
    /// Which era it is spoken to in: the plan's, or the one that was found before.
    pub era: EraChoice,
    /// Starts programs.
    pub programs: &'a dyn Programs,
    /// Carries requests.
    pub couriers: &'a dyn Couriers,
    /// Takes the lines of a program's standard error.
    pub log: LogLine,
    /// The most bytes of one message.
    pub limit: usize,
    /// What makes the server's words such that they can be repeated.
    pub scrub: Scrub,
}

/// Why there is no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotDialed {
    /// In which phase.
    pub phase: &'static str,
    /// A clause that can follow the server's name.
    pub reason: String,
}

impl NotDialed {
    fn in_start(reason: String) -> Self {
        Self { phase: START, reason }
    }
}

/// Hears which phase went well, and how long it took.
pub type Passed<'a> = &'a mut (dyn FnMut(&'static str, Duration) + Send);

/// Reaches a server.
pub async fn dial(dial: Dial<'_>, passed: Passed<'_>) -> Result<Link, NotDialed> {
    let began = Instant::now();
    let deadline = Deadline { at: began + dial.plan.start_timeout, whole: dial.plan.start_timeout };
    match &dial.plan.reach {
        Reach::Program(program) => call_program(&dial, program, deadline, passed).await,
        Reach::Web(web) => web::call(&dial, web, deadline, passed).await,
    }
}

/// Until when, and how long that was.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    whole: Duration,
}

impl Deadline {
    fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// What comes in time; otherwise that it did not.
    async fn keep<T>(self, doing: impl Future<Output = Result<T, String>>) -> Result<T, NotDialed> {
        let done = timeout_at(self.at, doing).await;
        done.unwrap_or_else(|_| Err(self.late("did not start"))).map_err(NotDialed::in_start)
    }

    /// The clause that says what was not done in time, and what to change.
    fn late(self, what: &str) -> String {
        format!("{what} within {} s (`start_timeout_secs`)", self.whole.as_secs_f64())
    }

    /// What is told of a handshake that failed.
    fn told(self, not: NotOpened) -> NotDialed {
        let phase = if not.kind == Failure::Unreached { START } else { HANDSHAKE };
        let reason = match not.kind {
            Failure::Late(question) => self.late(&format!("did not answer `{question}`")),
            _ => not.reason,
        };
        NotDialed { phase, reason }
    }
}

async fn call_program(
    dial: &Dial<'_>,
    program: &Program,
    deadline: Deadline,
    passed: Passed<'_>,
) -> Result<Link, NotDialed> {
    let began = Instant::now();
    let running = start(dial, program, deadline).await?;
    passed(START, began.elapsed());
    let began = Instant::now();
    let opened = match speak(dial, running, dial.era, deadline).await {
        // Some end at a question of the other era. They are not asked twice.
        Err(not) if not.kind == Failure::Lost { probing: true } => {
            tokio::time::sleep(LAST_LINES).await;
            let running = start(dial, program, deadline).await?;
            speak(dial, running, EraChoice::Legacy, deadline).await
        }
        opened => opened,
    };
    let link = opened.map_err(|not| deadline.told(not))?;
    passed(HANDSHAKE, began.elapsed());
    Ok(link)
}

async fn start(
    dial: &Dial<'_>,
    program: &Program,
    deadline: Deadline,
) -> Result<Box<dyn RunningProgram>, NotDialed> {
    (dial.log)(STARTED);
    let started = dial.programs.start(&dial.plan.name, program, Arc::clone(&dial.log));
    deadline.keep(async { started.await.map_err(|reason| format!("could not be started: {reason}")) }).await
}

async fn speak(
    dial: &Dial<'_>,
    running: Box<dyn RunningProgram>,
    era: EraChoice,
    deadline: Deadline,
) -> Result<Link, NotOpened> {
    let ear = LinkEar::new(dial.scrub.clone());
    let wire = StdioWire::new(running, Arc::clone(&ear) as _, dial.limit);
    Link::open(wire, ear, era, deadline.left()).await
}

#[cfg(test)]
mod tests;
