//! How spans are written for a collector: OTLP's JSON, with its names, its numbers for enumerations and its long numbers
//! as texts.

use covenant_gate::observe::CallSpan;
use covenant_model::VERSION;
use covenant_model::audit::Decision;
use serde_json::{Value, json};

/// A span of a call we answered.
const SERVER: u8 = 2;

/// The status of a span that went wrong.
const ERROR: u8 = 2;

/// What is kept of a call until it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    trace: String,
    parent: Option<String>,
    id: String,
    method: &'static str,
    tool: Option<String>,
    kind: Option<&'static str>,
    call: String,
    principal: String,
    began: u64,
    over: u64,
    outcome: Decision,
    reason: Option<&'static str>,
}

impl Ended {
    pub(super) fn of(span: &CallSpan<'_>) -> Self {
        let took = u64::try_from(span.took.as_nanos()).unwrap_or(u64::MAX);
        Self {
            trace: span.trace.as_str().to_owned(),
            parent: span.trace.parent().map(str::to_owned),
            id: span.id.to_owned(),
            method: span.method,
            tool: span.tool.map(str::to_owned),
            kind: span.kind,
            call: span.call.as_str().to_owned(),
            principal: span.principal.to_owned(),
            began: span.ended.saturating_sub(took),
            over: span.ended,
            outcome: span.outcome,
            reason: span.reason,
        }
    }

    fn json(&self) -> Value {
        let name = match &self.tool {
            Some(tool) => format!("{} {tool}", self.method),
            None => self.method.to_owned(),
        };
        let attributes = [
            ("mcp.method.name", Some(self.method)),
            ("mcp.tool.name", self.tool.as_deref()),
            ("covenant.call.id", Some(self.call.as_str())),
            ("covenant.outcome", Some(self.outcome.as_str())),
            ("covenant.kind", self.kind),
            ("covenant.principal", Some(self.principal.as_str())),
            ("error.type", self.reason),
        ];
        let attributes: Vec<Value> =
            attributes.into_iter().filter_map(|(key, value)| Some(attribute(key, value?))).collect();
        let mut span = json!({
            "traceId": self.trace,
            "spanId": self.id,
            "name": name,
            "kind": SERVER,
            "startTimeUnixNano": self.began.to_string(),
            "endTimeUnixNano": self.over.to_string(),
            "attributes": attributes,
            "status": self.status(),
        });
        if let (Some(span), Some(parent)) = (span.as_object_mut(), &self.parent) {
            span.insert("parentSpanId".to_owned(), parent.as_str().into());
        }
        span
    }

    /// A refusal is an answer we mean to give, and so is taking a call back: neither went wrong.
    fn status(&self) -> Value {
        match self.outcome {
            Decision::Error | Decision::TimedOut | Decision::Failed => json!({ "code": ERROR }),
            _ => json!({}),
        }
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// The message that holds those spans.
pub(super) fn body(spans: &[Ended]) -> String {
    let resource = [attribute("service.name", "covenant"), attribute("service.version", VERSION)];
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{
            "scope": {"name": "covenant", "version": VERSION},
            "spans": spans.iter().map(Ended::json).collect::<Vec<_>>(),
        }],
    }]})
    .to_string()
}
