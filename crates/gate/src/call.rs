//! The call path: every call of every tool, from every face, in the order of these lines.

mod consent;
pub(crate) mod trail;

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use covenant_model::audit::{Decision, Digest};
use covenant_model::tool::ToolCallResult;
use futures_util::FutureExt as _;
use serde_json::{Map, Value};

use crate::arguments;
use crate::authenticate::Caller;
use crate::capability::{Cleared, Permit};
use crate::context::{Context, DEEPEST};
use crate::gate::Gate;
use crate::inquiry::{Unanswered, Why};
use crate::limit::Admitted;
use crate::observe::Subject;
use crate::output::{self, RawOutput, Redacted};
use crate::refusal::{CallError, Fault, Refusal};
use crate::registry::Entry;
use crate::seal::{self, Bound};
use trail::Trail;

/// How long a cancelled tool may take to wind down before it is dropped.
const WIND_DOWN: Duration = Duration::from_secs(1);

/// How long a call may take where neither its caller nor what is called says so.
const LIMIT: Duration = Duration::from_mins(10);

/// What is done once it may be: a tool at work, or a provider.
pub(crate) type Work<'w> = Pin<Box<dyn Future<Output = Result<RawOutput, CallError>> + Send + 'w>>;

/// A call that was decided and has not started.
pub(crate) struct Passage<'p> {
    pub(crate) trail: Trail<'p>,
    pub(crate) cleared: Cleared<'p>,
    pub(crate) digest: Digest,
    pub(crate) tool: &'p str,
    /// Of all arguments, as what a client carries between rounds is bound to them.
    pub(crate) whole: Digest,
    /// Of the tool.
    pub(crate) definition: &'p [u8],
}

/// Which tool, with which arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// The tool's exposed name.
    pub name: String,
    /// Its arguments, not yet validated.
    pub arguments: Map<String, Value>,
}

impl Gate {
    /// Runs one call. The caller was authenticated and counted ([`Gate::authenticate`], [`Gate::admit`]).
    pub async fn call(
        &self,
        admitted: Admitted,
        request: CallRequest,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let caller = admitted.caller();
        let Some(entry) = &self.found(caller, &request.name, &context).await else {
            return Err(self.unknown(caller, &request.name, &context).await);
        };
        match &entry.answering {
            None => self.through(caller, entry, request, context, None).await,
            Some(answering) => self.answer(answering, caller, entry, request, context).await,
        }
    }

    /// The whole path of a call whose tool is known. Sets `began` once the tool is at work.
    pub(crate) async fn through(
        &self,
        caller: &Caller,
        entry: &Arc<Entry>,
        request: CallRequest,
        context: Context,
        began: Option<&AtomicBool>,
    ) -> Result<Redacted, CallError> {
        let mut trail = Trail::begin(self, caller, &entry.agent_id, &context)?.of(Subject::tool(entry));
        if let Err(refusal) = self.admit_to_tool(entry.spec.name.as_str(), &entry.bucket) {
            return Err(trail.refused(refusal.into()).await);
        }
        let needed = match Self::needs(caller, entry) {
            Ok(needed) => needed,
            Err(refusal) => return Err(trail.refused(refusal.into()).await),
        };
        let (later, needed): (Vec<&str>, Vec<&str>) = match &entry.dispatch {
            // What an agent calls itself is checked again then, with the arguments it has then.
            Some(own) => needed.into_iter().partition(|action| own != action && is_tool(action)),
            None => (Vec::new(), needed),
        };
        if !later.is_empty()
            && let Err(error) = self.hold(caller, &later, &mut trail)
        {
            return Err(trail.refused(error).await);
        }
        let cleared = match self.clear(caller, &needed, &request.arguments, &mut trail).await {
            Ok(cleared) => cleared,
            Err(error) => return Err(trail.refused(error).await),
        };
        for action in &entry.optional {
            trail.noted(action, self.foresees(caller, action));
        }
        let (digest, whole) = self.digests_of(&request.arguments);
        let arguments = match arguments::validate(entry, request.arguments).await {
            Ok(arguments) => arguments,
            Err(refusal) => {
                cleared.give_back().await;
                return Err(trail.refused(self.redacted_refusal(refusal).into()).await);
            }
        };
        if let Some(refusal) = objection(caller, entry, &context) {
            cleared.give_back().await;
            return Err(trail.refused(refusal.into()).await);
        }
        let mut context = context.within(entry.limit).traced(trail.trace()).inside(
            trail.call(),
            self.redactor(),
            self.seat(caller),
        );
        if let Err(refusal) = self.resume(caller, &entry.agent_id, (whole, &entry.definition), &mut context) {
            cleared.give_back().await;
            return Err(trail.refused(refusal.into()).await);
        }
        let tool = entry.spec.name.as_str();
        let definition = &entry.definition;
        let passage = Passage { trail, cleared, digest, tool, whole, definition };
        let passage = match self.consent(passage, caller, arguments.as_map(), &context).await {
            ControlFlow::Continue(passage) => passage,
            ControlFlow::Break(answer) => return answer,
        };
        self.pass(passage, &context, |permit, context| {
            Box::pin(async move {
                if let Some(began) = began {
                    began.store(true, Ordering::Release);
                }
                Ok(entry.tool.run(permit, arguments, context).await)
            })
        })
        .await
    }

    /// The second half of every path, once nothing is left to be decided: record, run, redact, record.
    pub(crate) async fn pass<'c>(
        &self,
        passage: Passage<'_>,
        context: &'c Context,
        work: impl FnOnce(Permit, &'c Context) -> Work<'c>,
    ) -> Result<Redacted, CallError> {
        let Passage { trail, cleared, digest, tool, whole, definition } = passage;
        if context.is_taken_back() {
            cleared.give_back().await;
            return Err(trail.refused(Refusal::Cancelled { tool: tool.to_owned() }.into()).await);
        }
        let started = match trail.started(digest).await {
            Ok(started) => started,
            Err(fault) => {
                cleared.give_back().await;
                return Err(fault.into());
            }
        };
        let permit = cleared.into_permit(started.call().clone());
        let ended = run(tool, context, work(permit, context)).await;
        let left = ended.and_then(|output| match output.split() {
            Ok(output) => Ok(self.leave(output, context)?),
            Err(unanswered) => self.pause(tool, unanswered, &started.bound(whole, definition), context),
        });
        match left {
            Ok(result) => started.finished_with(result, context).await,
            Err(error) => Err(started.failed(error, context).await),
        }
    }

    /// Removes secrets and caps the size: nothing leaves without passing here. What was a secret when the call began is
    /// one to its end: the tool may hold it still.
    fn leave(&self, output: RawOutput, context: &Context) -> Result<Redacted, Fault> {
        let now = self.redactor();
        let then = context.redactor.as_ref().filter(|then| !Arc::ptr_eq(then, &now));
        let redactors = std::iter::once(&now).chain(then).map(|redactor| &**redactor);
        output::redact(output, redactors, self.config().output_bytes)
    }

    /// Takes up what earlier rounds of this very call left.
    pub(crate) fn resume(
        &self,
        caller: &Caller,
        agent_id: &str,
        (arguments, definition): (Digest, &[u8]),
        context: &mut Context,
    ) -> Result<(), Refusal> {
        let Some(text) = context.to_open() else { return Ok(()) };
        let bound = Bound { principal: caller.principal().as_str(), agent_id, arguments, definition };
        match self.seal.open(text, &bound, self.clock.now()) {
            Some(carried) => {
                context.carry(carried);
                Ok(())
            }
            None => Err(Refusal::InvalidArguments {
                tool: agent_id.to_owned(),
                reason: "`requestState` was not given for this call, or too long ago: call again without it"
                    .to_owned(),
            }),
        }
    }

    /// Ends a round: what is asked leaves redacted, what is known leaves sealed.
    fn pause(
        &self,
        tool: &str,
        unanswered: Unanswered,
        bound: &Bound<'_>,
        context: &Context,
    ) -> Result<Redacted, CallError> {
        if let Why::Unsupported(kind) = unanswered.why {
            return Err(Refusal::ClientCannot { tool: tool.to_owned(), kind }.into());
        }
        let failed = |reason: &str| {
            Ok(self.leave(ToolCallResult::error(format!("`{tool}` {reason}")).into(), context)?)
        };
        let now = self.clock.now().millis();
        let Some((requests, carried)) = context.outstanding(unanswered.remember, now) else {
            return failed("waits for an answer to nothing");
        };
        if carried.round > seal::ROUNDS {
            return failed("has asked too often");
        }
        let Some(state) = self.seal.close(&carried, bound)? else {
            return failed("has more to remember than a client is given to carry");
        };
        let mut members = Map::new();
        members.insert("inputRequests".to_owned(), Value::Object(requests));
        let asked = self.leave(RawOutput::members(members), context)?;
        if asked.is_error() {
            return Ok(asked);
        }
        Ok(Redacted::input_required(&asked, &state)?)
    }

    /// The keyed digests of arguments: without a `token` among them, for the log, and of them all.
    pub(crate) fn digests_of(&self, arguments: &Map<String, Value>) -> (Digest, Digest) {
        let digest = |arguments| self.audit().digest(&serde_json::to_vec(arguments).unwrap_or_default());
        let whole = digest(arguments);
        if !arguments.contains_key("token") {
            return (whole, whole);
        }
        let mut without = arguments.clone();
        without.remove("token");
        (digest(&without), whole)
    }

    async fn unknown(&self, caller: &Caller, name: &str, context: &Context) -> CallError {
        let shown = self.redactor().shown(name, 64);
        self.missed(Some(caller), name, Refusal::UnknownTool { name: shown.clone() });
        let name = shown;
        match Trail::begin(self, caller, &format!("tool:{name}"), context) {
            Ok(trail) => trail.refused(Refusal::UnknownTool { name }.into()).await,
            Err(fault) => fault.into(),
        }
    }

    fn redacted_refusal(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::InvalidArguments { tool, reason } => {
                Refusal::InvalidArguments { tool, reason: self.redactor().shown(&reason, 1000) }
            }
            other => other,
        }
    }
}

/// Whether that passes the gate again when a run does it. Anything else, such as `tool.web_search`, is checked here alone.
fn is_tool(action: &str) -> bool {
    ["tool.call.", "tool.resource.", "tool.prompt."].iter().any(|space| action.starts_with(space))
}

/// Why a call that may be made is not made now: the tool does not take it, or an agent would be sent something too far within
/// others.
fn objection(caller: &Caller, entry: &Entry, context: &Context) -> Option<Refusal> {
    let depth = caller.mandate().map_or(0, |mandate| mandate.depth).max(context.depth());
    if entry.dispatch.is_some() && depth >= DEEPEST {
        return Some(Refusal::TooDeep { tool: entry.spec.name.as_str().to_owned(), limit: DEEPEST });
    }
    entry.tool.objection()
}

/// Runs the work until it ends, its time is up, or the caller takes the call back. A panic is a failed call.
async fn run(tool: &str, context: &Context, work: Work<'_>) -> Result<RawOutput, CallError> {
    let tool = tool.to_owned();
    let limit = context.limit().unwrap_or(LIMIT);
    if context.is_taken_back() {
        // Meanwhile, while it was written down that it starts: it would be far along before anybody looks again.
        return Err(Refusal::Cancelled { tool }.into());
    }
    let mut running = std::pin::pin!(AssertUnwindSafe(work).catch_unwind());
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        () = context.taken_back() => {
            context.cancel.cancel();
            let _ = tokio::time::timeout(WIND_DOWN, running).await;
            return Err(Refusal::Cancelled { tool }.into());
        }
        () = context.spent(limit) => {
            context.cancel.cancel();
            let _ = tokio::time::timeout(WIND_DOWN, running).await;
            return Err(Refusal::TimedOut { tool, limit }.into());
        }
    };
    if context.is_taken_back() {
        // A tool that ends because it was cancelled did not finish.
        return Err(Refusal::Cancelled { tool }.into());
    }
    ended.unwrap_or_else(|panic| {
        let reason =
            panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(tool.name = %tool, reason = reason.unwrap_or("unknown"), "a tool panicked");
        Ok(ToolCallResult::error(format!("`{tool}` broke; the log has the reason")).into())
    })
}

/// The word for how a call ended.
pub(crate) fn decision_of(error: &CallError) -> Decision {
    match error {
        CallError::Refused(Refusal::TimedOut { .. }) => Decision::TimedOut,
        CallError::Refused(Refusal::Cancelled { .. }) => Decision::Cancelled,
        CallError::Refused(_) => Decision::Refused,
        CallError::Fault(_) => Decision::Failed,
    }
}
