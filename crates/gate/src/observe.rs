//! What is noticed of a call beside its record: its counters, and its span where someone collects spans.

use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_model::audit::Decision;
use covenant_model::id::CallId;
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;

use crate::call::decision_of;
use crate::context::{Context, Trace};
use crate::gate::Gate;
use crate::meter::{Calls, Kind};
use crate::refusal::{CallError, Fault};
use crate::registry::Entry;
use crate::trace;

/// Who collects spans. It is told at the end of each call, on the path of that call: it must not wait.
pub trait Spans: Send + Sync {
    /// A call ended.
    fn ended(&self, span: &CallSpan<'_>);
}

/// A call that ended, as a span of a trace. Texts are redacted.
#[derive(Debug)]
pub struct CallSpan<'s> {
    /// The trace it belongs to, and under which span.
    pub trace: &'s Trace,
    /// The 16 digits of its own span id.
    pub id: &'s str,
    /// The method of the protocol, such as `tools/call`.
    pub method: &'static str,
    /// The tool, if it is one of ours.
    pub tool: Option<&'s str>,
    /// The kind of tool, or what is no tool; nothing for a tool we do not have.
    pub kind: Option<&'static str>,
    /// Which call.
    pub call: &'s CallId,
    /// Who called.
    pub principal: &'s str,
    /// When it ended, in nanoseconds since 1970.
    pub ended: u64,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: Decision,
    /// The code of the refusal, or the word for what went wrong.
    pub reason: Option<&'static str>,
}

/// What a call is of.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'g> {
    method: &'static str,
    kind: Option<Kind>,
    tool: Option<(&'g str, &'g Calls)>,
}

impl<'g> Subject<'g> {
    /// A tool we have.
    pub(crate) fn tool(entry: &'g Entry) -> Self {
        let tool = Some((entry.spec.name.as_str(), &**entry.calls()));
        Self { method: "tools/call", kind: Some(entry.kind), tool }
    }

    pub(crate) const RESOURCE: Self =
        Self { method: "resources/read", kind: Some(Kind::RESOURCE), tool: None };
    pub(crate) const PROMPT: Self = Self { method: "prompts/get", kind: Some(Kind::PROMPT), tool: None };
    pub(crate) const COMPLETION: Self =
        Self { method: "completion/complete", kind: Some(Kind::COMPLETION), tool: None };
    /// A tool we do not have. Its name is the caller's invention, and counts nothing.
    pub(crate) const UNKNOWN: Self = Self { method: "tools/call", kind: None, tool: None };
}

/// What is known of a call so far. Nobody said how it ended: then its caller is gone.
pub(crate) struct Observed<'g> {
    gate: &'g Gate,
    pub(crate) subject: Subject<'g>,
    since: Instant,
    ran: bool,
    outcome: Decision,
    reason: Option<&'static str>,
}

impl<'g> Observed<'g> {
    pub(crate) fn begin(gate: &'g Gate, since: Instant) -> Self {
        let reason = Some("caller_gone");
        Self { gate, subject: Subject::UNKNOWN, since, ran: false, outcome: Decision::Cancelled, reason }
    }

    /// From here on it takes time.
    pub(crate) fn runs(&mut self) {
        self.ran = true;
    }

    /// It has a result.
    pub(crate) fn finished(&mut self, outcome: Decision) {
        let reason = (outcome == Decision::Error).then_some("tool_error");
        (self.outcome, self.reason) = (outcome, reason);
    }

    /// It has none, and that is what its caller is told.
    pub(crate) fn answered(&mut self, error: &CallError) {
        match error {
            CallError::Refused(refusal) => {
                self.gate.meter.refused(refusal);
                (self.outcome, self.reason) = (decision_of(error), Some(refusal.code()));
            }
            CallError::Fault(_) => self.failed(),
        }
    }

    /// Something broke.
    pub(crate) fn failed(&mut self) {
        (self.outcome, self.reason) = (Decision::Failed, Some("fault"));
    }

    /// It is over: counts it, and tells who collects spans.
    pub(crate) fn over(
        &self,
        call: &CallId,
        principal: &Principal,
        trace: Option<&Trace>,
        redactor: &Redactor,
    ) {
        let Subject { method, kind, tool } = self.subject;
        if let Some((_, calls)) = tool {
            calls.count(self.outcome);
        }
        let spans = self.gate.spans.load();
        if !self.ran && spans.is_none() {
            return;
        }
        let took = self.since.elapsed();
        if let Some(kind) = kind.filter(|_| self.ran) {
            self.gate.meter.took(kind, took);
        }
        if let (Some(spans), Some(trace)) = (&*spans, trace.filter(|trace| trace.is_sampled())) {
            spans.ended(&CallSpan {
                trace,
                id: trace::span_of(call).as_str(),
                method,
                tool: tool.map(|(name, _)| redactor.redact(name)).as_deref(),
                kind: kind.map(Kind::word),
                call,
                principal: &redactor.redact(principal.as_str()),
                ended: self.gate.clock.nanos(),
                took,
                outcome: self.outcome,
                reason: self.reason,
            });
        }
    }
}

impl Gate {
    /// Tells of every call from now on, or no longer.
    pub fn set_spans(&self, spans: Option<Arc<dyn Spans>>) {
        self.spans.store(spans.map(Arc::new));
    }

    /// The trace of a call: its caller's, or one of its own if someone collects spans.
    pub(crate) fn trace_of(&self, context: &Context) -> Result<Option<Trace>, Fault> {
        match &context.trace {
            None if self.spans.load().is_some() => Trace::root().map(Some),
            trace => Ok(trace.clone()),
        }
    }
}
