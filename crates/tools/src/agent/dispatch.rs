//! The way of an intent: recorded, its turn awaited, its agent started and held to its contract, and what came of it kept.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::context::Progress;
use covenant_gate::tool::Run;
use covenant_gate::{Clock, Context, Permit, RawOutput, Refusal, Tool, random};
use covenant_model::action::ActionPattern;
use covenant_model::id::CallId;
use covenant_model::intent::{Enforced, IntentId, IntentRecord, IntentReply, IntentStatus, Priority};
use covenant_model::manifest::Manifest;
use covenant_model::principal::Principal;
use covenant_model::tool::{ToolCallResult, ToolName, ToolSpec};
use covenant_runner::report::{Kept, Report};
use serde_json::json;
use tokio::time::Instant;

use super::account::{Account, credits};
use super::case::Case;
use super::contract::{self, Answer, Breach};
use super::desk::Desk;
use super::ports::{Home, Running};
use super::queue::{self, Queue};
use super::voice::Voice;

/// The most characters of an intent.
const LONGEST: usize = 256 * 1024;

/// How long an intent may wait for its turn.
const PATIENCE: Duration = Duration::from_hours(1);

/// How much of an agent's standard error is told with an error.
const TAIL: usize = 2000;

/// What all agents of a daemon share.
pub struct House {
    pub(super) home: Arc<dyn Home>,
    pub(super) clock: Arc<dyn Clock>,
    /// The key that vouches for issuers, as agents read it.
    pubkey: String,
    queue: Arc<Queue>,
    /// What is under way.
    pub desk: Arc<Desk>,
    /// What was used.
    pub account: Account,
}

impl House {
    /// One in which nothing is under way.
    pub fn new(home: Arc<dyn Home>, clock: Arc<dyn Clock>, pubkey: String) -> Arc<Self> {
        let terms = Arc::clone(&home);
        let queue = Arc::new(Queue::new(move || terms.terms().concurrency));
        let (desk, account) = (Arc::default(), Account::default());
        Arc::new(Self { home, clock, pubkey, queue, desk, account })
    }
}

/// An agent, as something that can be called.
pub struct Agent {
    manifest: Arc<Manifest>,
    principal: Principal,
    name: ToolName,
    house: Arc<House>,
}

impl Agent {
    /// The agent of that manifest; nothing where its id or its name are not such that they can be used, which whoever read it
    /// has seen to.
    pub fn new(manifest: Arc<Manifest>, house: &Arc<House>) -> Option<Self> {
        let principal = format!("agent:{}", manifest.id).parse().ok()?;
        let name = manifest.tool().parse().ok()?;
        Some(Self { manifest, principal, name, house: Arc::clone(house) })
    }
}

impl Tool for Agent {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": LONGEST, "description": "What the agent should do, in words"},
                "priority": {"type": "string", "enum": ["low", "normal", "high"], "description": "How urgent it is; what is urgent runs first"},
                "parent": {"type": "string", "maxLength": 36, "description": "The intent within which this one is issued"},
            },
            "required": ["text"],
            "additionalProperties": false,
        });
        let Manifest { id, description, .. } = &*self.manifest;
        let what = if description.is_empty() {
            format!("Sends an intent to the agent {id}.")
        } else {
            description.clone()
        };
        ToolSpec::new(self.name.clone(), &what, schema)
            .with("title", json!(self.manifest.name))
            .with(
                "annotations",
                json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}),
            )
    }

    fn required(&self) -> Vec<String> {
        texts(&self.manifest.required)
    }

    fn dispatch(&self) -> Option<String> {
        Some(format!("tool.call.{}", self.name))
    }

    fn optional(&self) -> Vec<String> {
        texts(&self.manifest.optional)
    }

    fn objection(&self) -> Option<Refusal> {
        let (Manifest { id, settlement, .. }, house) = (&*self.manifest, &self.house);
        let cap = settlement.budget_credits_per_hour;
        if house.home.terms().enforce_budget
            && let Some(wait) = house.account.wait(id, cap, house.clock.now())
        {
            return Some(Refusal::OverBudget { agent: id.clone(), cap, wait });
        }
        house.queue.is_full().then_some(Refusal::QueueFull { limit: queue::LONGEST })
    }

    fn agent_id(&self) -> String {
        self.manifest.id.clone()
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn limit(&self) -> Duration {
        PATIENCE + Duration::from_millis(self.manifest.resources.cpu_ms_per_task) + Duration::from_mins(1)
    }

    fn run<'a>(&'a self, permit: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            match self.take_in(&permit, &arguments, context).await {
                Ok(case) => RawOutput::from(self.see_through(case, context).await),
                Err(reason) => ToolCallResult::error(reason).into(),
            }
        })
    }
}

fn texts(actions: &[ActionPattern]) -> Vec<String> {
    actions.iter().map(|action| action.as_str().to_owned()).collect()
}

impl Agent {
    /// The intent, on record and at the desk.
    async fn take_in(
        &self,
        permit: &Permit,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<Case, String> {
        let house = &self.house;
        let text = arguments.text("text").unwrap_or_default();
        if text.trim().is_empty() {
            return Err("`text` says nothing; write what the agent should do".to_owned());
        }
        let issuer = permit.principal();
        if *issuer != Principal::operator() && house.desk.waiting_of(issuer) >= queue::SHARE {
            return Err(format!(
                "{} intents of {issuer} wait already, which is as many as anyone may have; wait for one of them, or take one back",
                queue::SHARE
            ));
        }
        let id = match context.alias().and_then(|alias| alias.parse().ok()) {
            Some(id) => id,
            None => IntentId::from_random(random::bytes().map_err(|fault| fault.to_string())?),
        };
        let priority = arguments.text("priority").and_then(Priority::read);
        let record = IntentRecord {
            id,
            agent: self.manifest.id.clone(),
            issuer: permit.principal().clone(),
            status: IntentStatus::Queued,
            priority: priority.unwrap_or(self.manifest.settlement.priority),
            parent: self.parent(permit.principal(), arguments, context).await?,
            call: permit.call().clone(),
            request: context.without_secrets(text).into_owned(),
            answer: String::new(),
            sources: Vec::new(),
            enforcement: Vec::new(),
            credits: 0,
            over_budget: false,
            issued_at: house.clock.now(),
            started_at: None,
            finished_at: None,
        };
        // Before it is kept: whoever goes while that takes its time leaves nothing that waits for ever.
        let (text, agent) = (text.to_owned(), self.principal.clone());
        let mut case = Case { record, text, agent, house: Arc::clone(house) };
        if let Err(reason) = house.home.issued(&case.record).await {
            case.record.answer.clone_from(&reason);
            return Err(reason);
        }
        house.desk.open(case.record.clone(), context.cancelled().clone());
        Ok(case)
    }

    /// The intent within which this one is issued: that of the run that issues it, or the one that is named.
    async fn parent(
        &self,
        issuer: &Principal,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<Option<IntentId>, String> {
        let desk = &self.house.desk;
        let own = context.dispatch().and_then(|call: &CallId| desk.of_call(call));
        let Some(named) = arguments.text("parent") else { return Ok(own) };
        let named: IntentId = named.parse().map_err(|bad| format!("`parent`: {bad}"))?;
        if own.as_ref().is_some_and(|own| *own != named) {
            return Err(format!("`parent` is {named}, and this run belongs to another intent; leave it out"));
        }
        if own.is_some() {
            return Ok(own);
        }
        let known = match desk.get(&named) {
            Some(record) => Some(record),
            None => self.house.home.known(&named).await,
        };
        // Nobody hears of another's intents, and nobody adds to them.
        if known.is_none_or(|known| known.issuer != *issuer && *issuer != Principal::operator()) {
            return Err(format!("`parent`: there is no intent {named}; see `covenant intents list`"));
        }
        Ok(Some(named))
    }

    /// The intent from its place in the line to its end.
    async fn see_through(&self, mut case: Case, context: &Context) -> ToolCallResult {
        let (status, text, sources) = match self.carry_out(&mut case, context).await {
            Ok(Some(Answer { ok: true, text, sources })) => (IntentStatus::Ok, text, sources),
            Ok(Some(Answer { ok: false, text, sources })) => (IntentStatus::Error, text, sources),
            Ok(None) => (IntentStatus::Cancelled, "it was taken back".to_owned(), Vec::new()),
            Err(reason) => (IntentStatus::Error, format!("Error: {reason}"), Vec::new()),
        };
        let hide = |text: &str| context.without_secrets(text).into_owned();
        case.record.answer = hide(&text);
        case.record.sources = sources.iter().map(|source| hide(source)).collect();
        case.record.status = status;
        context.note(&self.noted(&case.record));
        let reply = IntentReply::from(case.close().await);
        let is_error = reply.status != IntentStatus::Ok;
        let mut result = ToolCallResult::text(reply.text.clone()).with_structured(json!(reply));
        result.is_error = is_error;
        result
    }

    /// What its agent answers; nothing where it was taken back. Nothing is left of the run when this comes back.
    async fn carry_out(&self, case: &mut Case, context: &Context) -> Result<Option<Answer>, String> {
        let (house, id) = (&self.house, case.record.id.clone());
        let report = |progress: f64, message: &str| {
            let message = Some(format!("{}: {message}", self.manifest.id));
            context.progress(Progress { progress, total: None, message });
        };
        report(0.0, "waits for its turn");
        let turn = house.queue.place(context.depth(), case.record.priority);
        let taken_back = context.cancelled();
        let turn = taken_back.run_until_cancelled(tokio::time::timeout(PATIENCE, turn)).await;
        let Some(place) = turn else { return Ok(None) };
        let _place = place.map_err(|_| "its turn did not come within an hour".to_owned())?;
        let mandate =
            context.mandate(&self.principal, self.manifest.scope()).map_err(|fault| fault.to_string())?;
        let line = case.line(&house.pubkey)?;
        let voice = Voice::new(Arc::clone(&house.desk), id.clone());
        let budget = Duration::from_millis(self.manifest.resources.cpu_ms_per_task);
        case.record.started_at = Some(house.clock.now());
        let begun = Instant::now();
        let started = house.home.start(&self.manifest, mandate.token(), voice.hear());
        let Some(started) = taken_back.run_until_cancelled(started).await else { return Ok(None) };
        let mut run =
            started.map_err(|reason| format!("{} could not be started: {reason}", self.manifest.id))?;
        case.record.enforcement = enforcement(run.report());
        case.record.status = IntentStatus::Running;
        house.desk.stands(&case.record);
        report(1.0, "runs");
        let answered = {
            let ended = async {
                let kept = contract::keep(&mut *run, &line, &id, budget, begun + budget);
                let kept = taken_back.run_until_cancelled(kept);
                let answered = voice.relay(kept, |number, line| report(number, line)).await;
                // Nobody can call as this run any more, also if somebody else got hold of its token.
                drop(mandate);
                if answered.is_none() {
                    run.kill().await;
                }
                answered
            };
            let since = case.record.started_at.unwrap_or_default();
            // Its agent works while it is written down that it does. What cannot be kept of that is kept with the end.
            let (answered, noted) =
                tokio::join!(ended, house.home.begun(&id, since, &case.record.enforcement));
            if let Err(reason) = noted {
                tracing::warn!(target: "agent", intent = %id, "that an intent runs could not be kept: {reason}");
            }
            answered
        };
        self.charge(case, begun.elapsed());
        let breach = |breach: Breach| told(&self.manifest, &breach, &*run);
        answered.transpose().map_err(breach)
    }

    fn charge(&self, case: &mut Case, took: Duration) {
        let cap = self.manifest.settlement.budget_credits_per_hour;
        case.record.credits = credits(took);
        let used = self.house.account.charge(&self.manifest.id, case.record.credits, self.house.clock.now());
        case.record.over_budget = cap > 0 && used > cap;
    }

    /// What the audit row of the end says of the run.
    fn noted(&self, record: &IntentRecord) -> String {
        let mut note = format!("intent {}", record.id);
        let gaps: Vec<&str> =
            record.enforcement.iter().filter(|one| !one.enforced).map(|one| &*one.limit).collect();
        if record.enforcement.is_empty() {
            note += "; did not run";
        } else if gaps.is_empty() {
            note += "; sandbox: every promise kept";
        } else {
            let _ = write!(note, "; sandbox: not kept in full: {}", gaps.join(", "));
        }
        let credits = if record.credits == 1 { "credit" } else { "credits" };
        let _ = write!(note, "; {} {credits}", record.credits);
        if record.over_budget {
            let _ = write!(note, ", over its {} an hour", self.manifest.settlement.budget_credits_per_hour);
        }
        note
    }
}

/// What a breach is told as, with the end of what the agent said beside it.
fn told(manifest: &Manifest, breach: &Breach, run: &dyn Running) -> String {
    let (agent, breach) = (&manifest.id, breach.told(&manifest.resources));
    let errors = run.errors();
    let errors = errors.trim();
    if errors.is_empty() {
        return format!("{agent} {breach}");
    }
    let from = errors.ceil_char_boundary(errors.len().saturating_sub(TAIL));
    format!("{agent} {breach}\nits standard error ended with:\n{}", errors.get(from..).unwrap_or_default())
}

/// The report of a sandbox, as replies have it.
fn enforcement(report: &Report) -> Vec<Enforced> {
    let one = |measure: &covenant_runner::report::Measure| Enforced {
        limit: measure.promise.name().to_owned(),
        by: match (measure.by.is_empty(), measure.note.is_empty()) {
            (_, true) => measure.by.join(", "),
            (true, false) => measure.note.clone(),
            (false, false) => format!("{}; {}", measure.by.join(", "), measure.note),
        },
        enforced: measure.kept == Kept::Yes,
    };
    report.measures.iter().map(one).collect()
}
