//! What the log says of one call: its checks, its start, its end. A call that started always gets an end.

use std::sync::Arc;
use std::time::Instant;

use covenant_model::audit::{Decision, Digest, Event, Kind};
use covenant_model::id::{CallId, GrantId};
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;

use super::decision_of;
use crate::authenticate::Caller;
use crate::context::{Context, Heard, Trace};
use crate::gate::Gate;
use crate::inquiry;
use crate::observe::{Observed, Subject};
use crate::output::{Outcome, Redacted};
use crate::random;
use crate::refusal::{CallError, Fault, Refusal};
use crate::seal::Bound;

/// A call that has not started: its checks are kept until they can be written together with what they led to.
pub(crate) struct Trail<'g> {
    gate: &'g Gate,
    principal: Principal,
    agent_id: String,
    call: CallId,
    parent: Option<CallId>,
    trace: Option<Trace>,
    redactor: Arc<Redactor>,
    checks: Vec<Check>,
    since: Instant,
    observed: Observed<'g>,
}

struct Check {
    action: String,
    decision: Decision,
    grant: Option<GrantId>,
    /// Whether the call needs it.
    optional: bool,
}

impl<'g> Trail<'g> {
    pub(crate) fn begin(
        gate: &'g Gate,
        caller: &Caller,
        agent_id: &str,
        context: &Context,
    ) -> Result<Self, Fault> {
        let since = Instant::now();
        Ok(Self {
            gate,
            principal: caller.principal().clone(),
            agent_id: agent_id.to_owned(),
            call: CallId::from_random(random::name()?),
            // What a run of an agent calls is made within its dispatch.
            parent: context.parent.clone().or_else(|| Some(caller.mandate()?.call.clone())),
            trace: gate.trace_of(context)?,
            redactor: gate.redactor(),
            checks: Vec::with_capacity(1),
            since,
            observed: Observed::begin(gate, since),
        })
    }

    /// Says what the call is of.
    pub(crate) fn of(mut self, subject: Subject<'g>) -> Self {
        self.observed.subject = subject;
        self
    }

    /// The trace the call belongs to.
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.trace.clone()
    }

    pub(crate) fn call(&self) -> &CallId {
        &self.call
    }

    pub(crate) fn allowed(&mut self, action: &str, grant: &GrantId) {
        self.check(action, Decision::Allowed, Some(grant.clone()), false);
    }

    pub(crate) fn denied(&mut self, action: &str) {
        self.check(action, Decision::Refused, None, false);
    }

    /// An action that is not needed: whether it could be allowed.
    pub(crate) fn noted(&mut self, action: &str, foreseen: bool) {
        let decision = if foreseen { Decision::Allowed } else { Decision::Refused };
        self.check(action, decision, None, true);
    }

    fn check(&mut self, action: &str, decision: Decision, grant: Option<GrantId>, optional: bool) {
        self.checks.push(Check { action: action.to_owned(), decision, grant, optional });
    }

    fn event(&self, kind: Kind, decision: Decision) -> Event<'_> {
        let mut event = Event::new(self.principal.as_str(), &self.agent_id, kind, decision);
        event.call = Some(self.call.as_str());
        event.parent = self.parent.as_ref().map(CallId::as_str);
        event.trace_id = self.trace.as_ref().map(Trace::as_str);
        event
    }

    /// The rows of the checks, and one more.
    fn with_checks<'e>(&'e self, last: Event<'e>) -> Vec<Event<'e>> {
        let checks = self.checks.iter().map(|check| {
            let mut event = self.event(Kind::CapabilityCheck, check.decision);
            event.reason = check.optional.then_some("optional");
            event.action = Some(&check.action);
            event.grant = check.grant.as_ref().map(GrantId::as_str);
            event
        });
        let mut events: Vec<Event<'_>> = Vec::with_capacity(self.checks.len() + 1);
        events.extend(checks);
        events.push(last);
        events
    }

    /// Which call this is, for what its client carries.
    pub(crate) fn bound<'b>(&'b self, arguments: Digest, definition: &'b [u8]) -> Bound<'b> {
        let Self { principal, agent_id, .. } = self;
        Bound { principal: principal.as_str(), agent_id, arguments, definition }
    }

    /// Writes down that the call was refused, and says so; if it cannot be written, that is the answer.
    pub(crate) async fn refused(mut self, error: CallError) -> CallError {
        let mut last = self.event(Kind::CallRefused, decision_of(&error));
        match &error {
            CallError::Refused(Refusal::PendingApproval { id, .. }) => {
                last.kind = Kind::ApprovalRequested;
                last.reason = Some(id.as_str());
            }
            CallError::Refused(refusal) => last.reason = Some(refusal.code()),
            CallError::Fault(fault) => {
                last.reason = Some("fault");
                tracing::error!(call.id = %self.call, cause = fault.cause(), "a call could not be decided");
            }
        }
        let answer = match self.gate.audit().append(&self.with_checks(last), &self.redactor).await {
            Ok(_) => error,
            Err(fault) => fault.into(),
        };
        self.observed.answered(&answer);
        answer
    }

    /// Writes down that the call starts. No row, no call.
    pub(crate) async fn started(mut self, arguments: Digest) -> Result<Started<'g>, Fault> {
        let mut last = self.event(Kind::CallStarted, Decision::Allowed);
        last.arguments = Some(arguments);
        let written = self.gate.audit().append(&self.with_checks(last), &self.redactor).await;
        let seq = written.inspect_err(|_| self.observed.failed())?;
        self.observed.runs();
        Ok(Started { trail: self, seq, ended: false })
    }
}

impl Drop for Trail<'_> {
    fn drop(&mut self) {
        self.observed.over(&self.call, &self.principal, self.trace.as_ref(), &self.redactor);
    }
}

/// A call that started. Dropped without an end (its caller went away), it is recorded as cancelled.
pub(crate) struct Started<'g> {
    trail: Trail<'g>,
    seq: u64,
    ended: bool,
}

impl Started<'_> {
    pub(crate) fn call(&self) -> &CallId {
        &self.trail.call
    }

    /// Writes down how it ended, and only then hands the result out.
    pub(crate) async fn finished_with(
        mut self,
        result: Redacted,
        context: &Context,
    ) -> Result<Redacted, CallError> {
        let decision = match result.outcome() {
            Outcome::Ok => Decision::Ok,
            Outcome::Error => Decision::Error,
            Outcome::InputRequired => Decision::InputRequired,
        };
        self.trail.observed.finished(decision);
        self.end(decision, Some(&result), context.noted(), &context.asked()).await?;
        Ok(result)
    }

    /// Writes down that it did not finish, and says so.
    pub(crate) async fn failed(mut self, error: CallError, context: &Context) -> CallError {
        let code = match &error {
            CallError::Refused(refusal) => refusal.code(),
            CallError::Fault(_) => "fault",
        };
        self.trail.observed.answered(&error);
        let reason = match context.noted() {
            Some(note) => format!("{code}; {note}"),
            None => code.to_owned(),
        };
        match self.end(decision_of(&error), None, Some(reason), &context.asked()).await {
            Ok(()) => error,
            Err(fault) => fault.into(),
        }
    }

    fn event(&self, decision: Decision) -> Event<'_> {
        let mut event = self.trail.event(Kind::CallFinished, decision);
        event.started = Some(self.seq);
        event.duration = Some(self.trail.since.elapsed());
        event
    }

    /// The row of something the client was asked.
    fn question(&self, (kind, heard): (inquiry::Kind, Heard)) -> Event<'_> {
        let decision = match heard {
            Heard::Answered => Decision::Ok,
            Heard::Unanswered => Decision::Failed,
            Heard::Later => Decision::InputRequired,
        };
        let mut event = self.trail.event(Kind::ClientAsked, decision);
        event.reason = Some(kind.method());
        event
    }

    /// Which call this is, for what its client carries.
    pub(crate) fn bound<'b>(&'b self, arguments: Digest, definition: &'b [u8]) -> Bound<'b> {
        self.trail.bound(arguments, definition)
    }

    async fn end(
        mut self,
        decision: Decision,
        result: Option<&Redacted>,
        reason: Option<String>,
        asked: &[(inquiry::Kind, Heard)],
    ) -> Result<(), Fault> {
        // From here on the row is the log's: dropping us must not write a second one.
        self.ended = true;
        let audit = self.trail.gate.audit();
        let mut event = self.event(decision);
        event.result = result.map(|result| audit.digest(result.json().get().as_bytes()));
        event.reason = reason.as_deref();
        let written = if asked.is_empty() {
            audit.append(std::slice::from_ref(&event), &self.trail.redactor).await
        } else {
            let mut events: Vec<Event<'_>> = asked.iter().map(|asked| self.question(*asked)).collect();
            events.push(event);
            audit.append(&events, &self.trail.redactor).await
        };
        match written {
            Ok(_) => Ok(()),
            Err(fault) => {
                audit.owe(event, &self.trail.redactor);
                self.trail.observed.failed();
                let outside = "the call ran, but its end could not be recorded, so its result is withheld";
                Err(Fault::new(outside, fault.cause()))
            }
        }
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let mut event = self.event(Decision::Cancelled);
            event.reason = Some("caller_gone");
            self.trail.gate.audit().owe(event, &self.trail.redactor);
        }
    }
}
