//! What agents are given by this daemon: a run in its sandbox with a way back, and a place where what came of it is kept.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use covenant_gate::{Fault, Gate, random};
use covenant_model::id::ReceiptId;
use covenant_model::intent::{Enforced, IntentId, IntentRecord, IntentStatus, Receipt};
use covenant_model::manifest::Manifest;
use covenant_model::principal::Principal;
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_runner::child::Overdue;
use covenant_runner::ending::Ending;
use covenant_runner::nursery::{Errors, Hear};
use covenant_runner::pipes::{Input, Output};
use covenant_runner::report::{Measure, Promise, Report};
use covenant_store::Store;
use covenant_tools::agent::ports::{self, Running, Terms};
use covenant_tools::agent::remember::remember;
use covenant_tools::files::Unsettled;
use covenant_tools::ports::Later;
use parking_lot::RwLock;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::order;
use crate::daemon::{Environment, Settings};
use crate::home::Home;
use crate::runs::{Run, Runs};
use crate::trust;

/// What agents are given.
pub(super) struct Quarters {
    pub(super) runs: Runs,
    /// Not held: its tools hold us.
    pub(super) gate: Weak<Gate>,
    pub(super) home: Home,
    pub(super) memory: PathBuf,
    pub(super) store: Arc<Store>,
    /// By which this daemon's intents are told from those of others on the same database.
    pub(super) chain: String,
    pub(super) settings: Arc<RwLock<Settings>>,
    pub(super) environment: Environment,
}

impl Quarters {
    async fn begin(&self, agent: &Manifest, token: &Secret, hear: Hear) -> Result<Box<dyn Running>, String> {
        let (agent, home, sandbox) = (agent.clone(), self.home.clone(), self.runs.sandbox());
        let path = (self.environment)("PATH").unwrap_or_default();
        let order = tokio::task::spawn_blocking(move || order::order(&agent, &home, &path, sandbox));
        let order = order.await.map_err(|_| "the daemon is stopping".to_owned())??;
        let gate = Weak::clone(&self.gate);
        let scrub = Arc::new(move |line: &str| {
            // Without a gate nobody knows what is a secret.
            gate.upgrade().map(|gate| gate.redactor().redact(line).into_owned()).unwrap_or_default()
        });
        let errors = Errors { scrub, hear: Some(hear), aloud: true };
        let shown = order.sandbox.as_ref().map(|sandbox| sandbox.read.clone()).unwrap_or_default();
        let mut run = self.runs.start_as(order, errors, token).await.map_err(|error| error.to_string())?;
        if let Some(closed) = closed_to_run(run.report(), shown).await {
            run.kill().await;
            return Err(closed);
        }
        Ok(Box::new(run))
    }

    async fn keep(&self, record: &IntentRecord, agent: &Principal) -> Result<(), String> {
        let receipt = match record.started_at.filter(|_| record.credits > 0) {
            Some(_) => Some(receipt(record).map_err(|fault| told(&fault))?),
            None => None,
        };
        let counts = self.store.finish_intent(record, receipt).await.map_err(|fault| told(&fault))?;
        if !counts || record.status != IntentStatus::Ok {
            return Ok(());
        }
        let (memory, agent, id) = (self.memory.clone(), agent.clone(), record.id.clone());
        let answer = record.answer.clone();
        let (written, is_written) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let (outcome, unsettled) = match remember(&memory, &agent, &id, &answer) {
                Ok(unsettled) => (Ok(()), Some(unsettled)),
                Err(reason) => (Err(reason), None),
            };
            // Everybody can read it now; the disk is waited for by nobody but us.
            _ = written.send(outcome);
            if let Some(Err(error)) = unsettled.map(Unsettled::settle) {
                tracing::warn!(target: "agent", intent = %id, "an answer that is remembered may not be on the disk: {error}");
            }
        });
        is_written.await.map_err(|_| "the daemon is stopping".to_owned())?
    }
}

/// Why a run cannot see what it is shown: root's runs are nobody, and where a host gives no namespaces there is no view in which
/// that one may read what root may.
async fn closed_to_run(report: &Report, shown: Vec<PathBuf>) -> Option<String> {
    let has_view = |measure: &Measure| measure.by.iter().any(|means| means == "mount namespace");
    if trust::user() != 0 || report.of(Promise::Files).is_none_or(has_view) {
        return None;
    }
    let look = move || shown.iter().find_map(|path| trust::closed_to_others(path));
    let closed = tokio::task::spawn_blocking(look).await.ok()??;
    Some(format!(
        "this host gives root's programs no namespaces, so a run is the user nobody, who may not enter {}; put the agent where \
         everybody may read it and write its `entry` as a full path, or run the daemon as an ordinary user",
        closed.display()
    ))
}

fn receipt(record: &IntentRecord) -> Result<Receipt, Fault> {
    Ok(Receipt {
        id: ReceiptId::from_random(random::bytes()?),
        payer: record.issuer.clone(),
        agent: record.agent.clone(),
        intent: record.id.clone(),
        credits: record.credits,
        settled_at: record.finished_at.unwrap_or(record.issued_at),
    })
}

fn told(fault: &Fault) -> String {
    tracing::error!(target: "agent", cause = fault.cause(), "{fault}");
    fault.to_string()
}

impl ports::Home for Quarters {
    fn terms(&self) -> Terms {
        let agents = self.settings.read().config.agents;
        Terms { concurrency: agents.concurrency, enforce_budget: agents.enforce_budget }
    }

    fn start<'a>(
        &'a self,
        agent: &'a Manifest,
        token: &'a Secret,
        hear: Hear,
    ) -> Later<'a, Result<Box<dyn Running>, String>> {
        Box::pin(self.begin(agent, token, hear))
    }

    fn issued<'a>(&'a self, record: &'a IntentRecord) -> Later<'a, Result<(), String>> {
        Box::pin(
            async move { self.store.add_intent(&self.chain, record).await.map_err(|fault| told(&fault)) },
        )
    }

    fn begun<'a>(
        &'a self,
        id: &'a IntentId,
        at: Timestamp,
        enforcement: &'a [Enforced],
    ) -> Later<'a, Result<(), String>> {
        Box::pin(async move {
            self.store.begin_intent(id, at, enforcement).await.map(drop).map_err(|fault| told(&fault))
        })
    }

    fn ended<'a>(&'a self, record: &'a IntentRecord, agent: &'a Principal) -> Later<'a, Result<(), String>> {
        Box::pin(self.keep(record, agent))
    }

    fn known<'a>(&'a self, id: &'a IntentId) -> Later<'a, Option<IntentRecord>> {
        Box::pin(async move { self.store.intent(id).await.unwrap_or_default() })
    }
}

impl Running for Run {
    fn take_input(&mut self) -> Option<Input> {
        Self::take_input(self)
    }

    fn take_output(&mut self) -> Option<Output> {
        Self::take_output(self)
    }

    fn report(&self) -> &Report {
        Self::report(self)
    }

    fn errors(&self) -> String {
        Self::errors(self)
    }

    fn wait_until(&mut self, deadline: Instant) -> Later<'_, Result<Ending, Overdue>> {
        Box::pin(Self::wait_until(self, deadline))
    }

    fn kill(&mut self) -> Later<'_, Ending> {
        Box::pin(Self::kill(self))
    }
}
