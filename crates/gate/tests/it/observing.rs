//! What is noticed of calls: the counters, and the spans where someone collects them.

use std::sync::{Arc, Mutex};

use covenant_gate::config::Config;
use covenant_gate::context::Trace;
use covenant_gate::meter::OUTCOMES;
use covenant_gate::observe::{CallSpan, Spans};
use covenant_gate::{Context, Credential, Gate};
use covenant_model::redact::Redactor;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Fixture, bench_of_tools, refusal};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The counters of one tool that are not zero.
fn counted(gate: &Gate, tool: &str) -> Vec<(&'static str, u64)> {
    let readings = gate.readings();
    let (_, counts) = readings.tools.iter().find(|(name, _)| name.as_str() == tool).unwrap();
    OUTCOMES.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect()
}

fn refused(gate: &Gate, reason: &str) -> u64 {
    gate.readings().refusals.into_iter().find(|(code, _)| *code == reason).unwrap().1
}

fn timed(gate: &Gate) -> Vec<(&'static str, u64)> {
    gate.readings().times.into_iter().map(|times| (times.kind, times.count)).collect()
}

fn context() -> Context {
    Context::new(CancellationToken::new())
}

#[tokio::test]
async fn every_call_is_counted_once_by_how_it_ended() {
    let fixture = Fixture::new().await;
    let gate = &fixture.gate;
    refusal(fixture.call("echo", json!({"text": "x"})).await);
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    assert_eq!(timed(gate), [], "what does not run takes no time");
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    refusal(fixture.call("echo", json!({"text": 5})).await);
    fixture.call("fails", json!({})).await.unwrap();
    fixture.call("panics", json!({})).await.unwrap();
    refusal(fixture.call("slow", json!({})).await);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    refusal(fixture.call_in("who", json!({}), Context::new(cancelled)).await);
    assert_eq!(counted(gate, "echo"), [("ok", 2), ("refused", 2)]);
    assert_eq!(counted(gate, "fails"), [("error", 1)]);
    assert_eq!(counted(gate, "panics"), [("error", 1)]);
    assert_eq!(counted(gate, "slow"), [("timed_out", 1)]);
    assert_eq!(counted(gate, "who"), [("cancelled", 1)]);
    assert_eq!(counted(gate, "raw"), []);
    assert_eq!(timed(gate), [("native", 5)]);
    for (reason, count) in
        [("not_granted", 1), ("invalid_arguments", 1), ("timed_out", 1), ("cancelled", 1), ("not_found", 0)]
    {
        assert_eq!(refused(gate, reason), count, "{reason}");
    }
}

#[tokio::test]
async fn a_caller_who_vanishes_is_counted_as_one_who_cancelled() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let timeout = std::time::Duration::from_millis(20);
    assert!(tokio::time::timeout(timeout, fixture.call("forever", json!({}))).await.is_err());
    assert_eq!(counted(&fixture.gate, "forever"), [("cancelled", 1)]);
    assert_eq!(refused(&fixture.gate, "cancelled"), 0, "nobody was refused anything");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_makes_failed_calls_and_no_refusals() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo"})).await;
    fixture.gate.audit().close().await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap_err();
    fixture.call("who", json!({})).await.unwrap_err();
    assert_eq!(counted(&fixture.gate, "echo"), [("failed", 1)]);
    assert_eq!(counted(&fixture.gate, "who"), [("failed", 1)]);
    assert_eq!(refused(&fixture.gate, "not_granted"), 0);
}

#[tokio::test]
async fn counters_go_on_when_the_tools_are_replaced() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    let cancel = CancellationToken::new();
    let running = fixture.call_in("waits", json!({}), Context::new(cancel.clone()));
    let replace = async {
        fixture.gate.set_tools(bench_of_tools::registry());
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(running, replace);
    refusal(ended);
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert_eq!(counted(&fixture.gate, "echo"), [("ok", 2)]);
    assert_eq!(counted(&fixture.gate, "waits"), [("cancelled", 1)], "also of calls that ran meanwhile");
}

#[tokio::test]
async fn what_a_caller_invents_has_no_counter_of_its_own() {
    let fixture = Fixture::new().await;
    let before = fixture.gate.readings().tools.len();
    for name in ["no_such_tool", "\"}\n", ""] {
        refusal(fixture.call(name, json!({})).await);
    }
    refusal(fixture.gate.read_resource(fixture.admitted(), "other://x", context()).await);
    assert_eq!(fixture.gate.readings().tools.len(), before);
    assert_eq!(refused(&fixture.gate, "unknown_tool"), 3);
    assert_eq!(refused(&fixture.gate, "not_found"), 1);
}

#[tokio::test]
async fn what_is_no_tool_is_timed_as_what_it_is() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.resource.shelf"})).await;
    fixture.gate.read_resource(fixture.admitted(), "test://one", context()).await.unwrap();
    refusal(fixture.gate.read_resource(fixture.admitted(), "test://two", context()).await);
    assert_eq!(timed(&fixture.gate), [("resource", 2)]);
    assert_eq!(refused(&fixture.gate, "not_found"), 1, "counted once");
}

#[tokio::test]
async fn strangers_and_the_hasty_are_counted_before_there_is_a_call() {
    let config = Config { rate: 0.001, burst: 1, ..Config::default() };
    let fixture = Fixture::with(config, Redactor::none()).await;
    let gate = &fixture.gate;
    gate.authenticate(&Credential::none()).unwrap_err();
    gate.authenticate(&Credential::bearer("cv_wrong")).unwrap_err();
    let caller = gate.authenticate(&Credential::peer(1000)).unwrap();
    gate.admit(&caller).unwrap();
    gate.admit(&caller).unwrap_err();
    assert_eq!((refused(gate, "unauthenticated"), refused(gate, "rate_limited")), (2, 1));
}

/// What was told of a span.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    trace: String,
    parent: Option<String>,
    id: String,
    name: String,
    kind: Option<&'static str>,
    principal: String,
    outcome: &'static str,
    reason: Option<&'static str>,
    ended: u64,
}

#[derive(Default)]
struct Collector(Mutex<Vec<Told>>);

impl Spans for Collector {
    fn ended(&self, span: &CallSpan<'_>) {
        self.0.lock().unwrap().push(Told {
            trace: span.trace.as_str().to_owned(),
            parent: span.trace.parent().map(str::to_owned),
            id: span.id.to_owned(),
            name: format!("{} {}", span.method, span.tool.unwrap_or_default()),
            kind: span.kind,
            principal: span.principal.to_string(),
            outcome: span.outcome.as_str(),
            reason: span.reason,
            ended: span.ended,
        });
    }
}

impl Collector {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn collected() -> (Fixture, Arc<Collector>) {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let collector = Arc::new(Collector::default());
    fixture.gate.set_spans(Some(Arc::<Collector>::clone(&collector)));
    (fixture, collector)
}

#[tokio::test]
async fn a_call_is_a_span_under_the_one_that_asked_and_hands_its_own_on() {
    let (fixture, collector) = collected().await;
    let asked = context().traced(Trace::from_traceparent(CALLER));
    let result = fixture.call_in("parent", json!({}), asked).await.unwrap();
    let spans = collector.take();
    let [span] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(span.trace, "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent.as_deref(), Some("b7ad6b7169203331"));
    assert_eq!((span.name.as_str(), span.kind), ("tools/call parent", Some("native")));
    assert_eq!((span.principal.as_str(), span.outcome, span.reason), ("user@local", "ok", None));
    assert_eq!(span.ended, 1_700_000_000_000_000_000);
    let handed_on = format!("00-{}-{}-01", span.trace, span.id);
    assert!(result.json().get().contains(&handed_on), "{} {handed_on}", result.json());
}

#[tokio::test]
async fn a_call_without_a_trace_begins_one_that_its_rows_name() {
    let (fixture, collector) = collected().await;
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    let span = collector.take().pop().unwrap();
    assert_eq!(span.parent, None);
    assert_eq!(fixture.rows().last().unwrap()["trace_id"], span.trace.as_str());
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
    assert_ne!(collector.take().pop().unwrap().trace, span.trace);
}

#[tokio::test]
async fn refusals_and_failures_are_spans_that_say_why() {
    let (fixture, collector) = collected().await;
    fixture.call("fails", json!({})).await.unwrap();
    refusal(fixture.call("echo", json!({"text": 5})).await);
    refusal(fixture.call("slow", json!({})).await);
    refusal(fixture.call("no_such_tool", json!({})).await);
    refusal(fixture.gate.read_resource(fixture.admitted(), "test://one", context()).await);
    let told: Vec<_> = collector
        .take()
        .into_iter()
        .map(|span| (span.name, span.kind, span.outcome, span.reason.unwrap()))
        .collect();
    let of = |name: &str, kind, outcome, reason| (name.to_owned(), kind, outcome, reason);
    assert_eq!(
        told,
        [
            of("tools/call fails", Some("native"), "error", "tool_error"),
            of("tools/call echo", Some("native"), "refused", "invalid_arguments"),
            of("tools/call slow", Some("native"), "timed_out", "timed_out"),
            of("tools/call ", None, "refused", "unknown_tool"),
            of("resources/read ", Some("resource"), "refused", "not_granted"),
        ]
    );
}

#[tokio::test]
async fn what_is_not_sampled_is_not_told_and_without_a_collector_no_trace_begins() {
    let (fixture, collector) = collected().await;
    let quiet = context().traced(Trace::from_traceparent(&CALLER.replace("-01", "-00")));
    fixture.call_in("echo", json!({"text": "x"}), quiet).await.unwrap();
    assert_eq!(collector.take(), []);
    assert_eq!(fixture.rows().last().unwrap()["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    fixture.gate.set_spans(None);
    let result = fixture.call("parent", json!({})).await.unwrap();
    assert!(result.json().get().contains(r#""text":"""#), "{}", result.json());
    assert!(fixture.rows().last().unwrap().get("trace_id").is_none());
    assert_eq!(collector.take(), []);
}
