//! What agents need of the rest of the house: programs started in a sandbox with a way to the daemon, and records kept.

use covenant_model::intent::{Enforced, IntentId, IntentRecord};
use covenant_model::manifest::Manifest;
use covenant_model::principal::Principal;
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_runner::child::Overdue;
use covenant_runner::ending::Ending;
use covenant_runner::nursery::Hear;
use covenant_runner::pipes::{Input, Output};
use covenant_runner::report::Report;
use tokio::time::Instant;

use crate::ports::Later;

/// How many run at once, and what becomes of those that cost too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How many run at a time.
    pub concurrency: usize,
    /// Whether an agent that has used its hour's credits is refused.
    pub enforce_budget: bool,
}

/// An agent that runs. To drop it ends it and whatever it started.
pub trait Running: Send {
    /// Its standard input, once. To drop it closes it.
    fn take_input(&mut self) -> Option<Input>;
    /// Its standard output, once.
    fn take_output(&mut self) -> Option<Output>;
    /// Which promises of its sandbox hold.
    fn report(&self) -> &Report;
    /// The last lines of its standard error, without secrets.
    fn errors(&self) -> String;
    /// Waits until then at most, and kills it if it still runs.
    fn wait_until(&mut self, deadline: Instant) -> Later<'_, Result<Ending, Overdue>>;
    /// Ends it and all it started at once.
    fn kill(&mut self) -> Later<'_, Ending>;
}

/// What a house of agents is given.
pub trait Home: Send + Sync + 'static {
    /// The settings in effect.
    fn terms(&self) -> Terms;

    /// Starts that agent, which shows this token at the daemon; otherwise a clause that can follow "could not be started: ".
    /// Each line of its standard error is heard.
    fn start<'a>(
        &'a self,
        agent: &'a Manifest,
        token: &'a Secret,
        hear: Hear,
    ) -> Later<'a, Result<Box<dyn Running>, String>>;

    /// Keeps a new intent; otherwise says why not.
    fn issued<'a>(&'a self, record: &'a IntentRecord) -> Later<'a, Result<(), String>>;

    /// Keeps that it runs.
    fn begun<'a>(
        &'a self,
        id: &'a IntentId,
        at: Timestamp,
        enforcement: &'a [Enforced],
    ) -> Later<'a, Result<(), String>>;

    /// Keeps how it ended, what it cost if it ran, and, where it went well, what the agent said as a memory of that one.
    fn ended<'a>(&'a self, record: &'a IntentRecord, agent: &'a Principal) -> Later<'a, Result<(), String>>;

    /// An intent that is or was.
    fn known<'a>(&'a self, id: &'a IntentId) -> Later<'a, Option<IntentRecord>>;
}
