//! How the programs of servers are started: which file a command is, where it runs, in which sandbox, and that every line
//! of its standard error loses its secrets before anyone sees it.

mod order;
mod room;
#[cfg(test)]
mod tests;
mod variables;

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Gate;
use covenant_mcp::upstream::ports::{self, Later, LogLine, RunningProgram};
use covenant_model::server::Program;
use covenant_runner::ending::Ending;
use covenant_runner::nursery::{Errors, Scrub};
use covenant_runner::pipes::{Input, Output};

use self::order::Ground;
use self::room::Room;
use crate::daemon::Environment;
use crate::home::Home;
use crate::runs::{Run, Runs};

/// Starts the programs of servers.
pub(crate) struct Programs {
    runs: Runs,
    gate: Arc<Gate>,
    home: Home,
    environment: Environment,
    room: Room,
}

impl Programs {
    /// Programs of those runs, for that home; secrets are what the gate hides.
    pub(crate) fn new(runs: Runs, gate: Arc<Gate>, home: Home, environment: Environment) -> Self {
        Self { runs, gate, home, environment, room: Room::default() }
    }

    async fn begin(
        &self,
        name: &str,
        program: &Program,
        log: LogLine,
    ) -> Result<Box<dyn RunningProgram>, String> {
        let ground = Ground {
            home: self.home.clone(),
            environment: Arc::clone(&self.environment),
            sandbox: self.runs.sandbox(),
        };
        let (name, program) = (name.to_owned(), program.clone());
        // PATH may lead to slow file systems.
        let order = tokio::task::spawn_blocking(move || order::order(&name, &program, ground));
        let order = order.await.map_err(|_| "the daemon is stopping".to_owned())??;
        let _place = self.room.enter()?;
        // The runner writes each line to the daemon's log too, at a pace that no program can raise.
        let errors = Errors { scrub: self.scrub(), hear: Some(log), aloud: false };
        let run = self.runs.start_heard(order, errors).await;
        Ok(Box::new(run.map_err(|error| error.to_string())?))
    }

    /// Takes the secrets out of a line, by what is hidden when it comes.
    fn scrub(&self) -> Scrub {
        let gate = Arc::clone(&self.gate);
        Arc::new(move |line| gate.redactor().redact(line).into_owned())
    }
}

impl ports::Programs for Programs {
    fn start<'a>(
        &'a self,
        name: &'a str,
        program: &'a Program,
        log: LogLine,
    ) -> Later<'a, Result<Box<dyn RunningProgram>, String>> {
        Box::pin(self.begin(name, program, log))
    }
}

impl RunningProgram for Run {
    fn take_input(&mut self) -> Option<Input> {
        Self::take_input(self)
    }

    fn take_output(&mut self) -> Option<Output> {
        Self::take_output(self)
    }

    fn wait(&mut self) -> Later<'_, Ending> {
        Box::pin(Self::wait(self))
    }

    fn stop(&mut self, grace: Duration) -> Later<'_, Ending> {
        Box::pin(Self::stop(self, grace))
    }
}
