//! The path of one call: its order, its rows, and every way it can end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use covenant_gate::arguments::Arguments;
use covenant_gate::config::Config;
use covenant_gate::context::{Level, Listener, LogMessage, Progress, Trace};
use covenant_gate::tool::Run;
use covenant_gate::{CallError, CallRequest, Context, Gate, Permit, Prepared, Refusal, Tool};
use covenant_model::redact::Redactor;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Fixture, refusal};

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context)))
        .await
}

fn leaky() -> Redactor {
    Redactor::new([("KEY", "s3cret-one")])
}

#[tokio::test]
async fn no_grant_no_call() {
    let fixture = Fixture::new().await;
    let refused = refusal(fixture.call("echo", json!({"text": "hi"})).await);
    assert!(
        matches!(&refused, Refusal::NotGranted { action, .. } if action == "tool.call.echo"),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("covenant capabilities grant tool.call.echo --to user@local"));
    assert_eq!(fixture.kinds().last().unwrap(), &("CallRefused".to_owned(), "refused".to_owned()));
}

#[tokio::test]
async fn a_call_leaves_a_check_a_start_and_an_end() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.echo"})).await;
    let context = Context::new(CancellationToken::new())
        .traced(Trace::from_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    let result = fixture.call_in("echo", json!({"text": "hi"}), context).await.unwrap();
    assert_eq!(result.json().get(), r#"{"content":[{"type":"text","text":"hi"}],"isError":false}"#);
    let rows = fixture.rows();
    let [check, start, end] = &rows[rows.len() - 3..] else { panic!("{rows:?}") };
    assert_eq!((&check["kind"], &check["decision"]), (&json!("CapabilityCheck"), &json!("allowed")));
    assert_eq!(start["kind"], "CallStarted");
    assert_eq!((&end["kind"], &end["decision"]), (&json!("CallFinished"), &json!("ok")));
    assert_eq!(end["started"], start["seq"]);
    for row in [check, start, end] {
        assert_eq!(row["agent_id"], "tool:echo");
        assert_eq!(row["call"], check["call"]);
        assert_eq!(row["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    }
    assert_eq!(start["arguments"].as_str().unwrap().len(), 64);
    assert!(!rows.iter().any(|row| row.to_string().contains("\"hi\"")), "digests, never values");
}

#[tokio::test]
async fn equal_arguments_have_equal_digests_and_a_token_among_them_does_not_count() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    for text in ["a", "a", "b"] {
        fixture.call("echo", json!({ "text": text })).await.unwrap();
    }
    let rows = fixture.rows();
    let digests: Vec<_> =
        rows.iter().filter(|row| row["kind"] == "CallStarted").map(|row| row["arguments"].clone()).collect();
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[tokio::test]
async fn a_panic_is_a_failed_call_and_the_next_one_is_served() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let result = fixture.call("panics", json!({})).await.unwrap();
    assert!(result.is_error() && result.json().get().contains("Error: "));
    assert_eq!(fixture.kinds().last().unwrap().1, "error");
    fixture.call("echo", json!({"text": "x"})).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_overruns_its_time_is_stopped() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    assert!(matches!(refusal(fixture.call("slow", json!({})).await), Refusal::TimedOut { .. }));
    assert_eq!(fixture.kinds().last().unwrap(), &("CallFinished".to_owned(), "timed_out".to_owned()));
    let hurried = Context::new(CancellationToken::new()).within(std::time::Duration::from_millis(20));
    assert!(matches!(
        refusal(fixture.call_in("forever", json!({}), hurried).await),
        Refusal::TimedOut { .. }
    ));
}

#[tokio::test]
async fn a_cancelled_call_ends_and_is_recorded() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let cancel = CancellationToken::new();
    {
        let mut call = Box::pin(fixture.call_in("waits", json!({}), Context::new(cancel.clone())));
        assert!(poll_once(&mut call).await.is_pending());
        cancel.cancel();
        assert!(matches!(refusal(call.await), Refusal::Cancelled { .. }));
    }
    assert_eq!(fixture.kinds().last().unwrap(), &("CallFinished".to_owned(), "cancelled".to_owned()));
    let never = fixture.call_in("echo", json!({"text": "x"}), Context::new(cancel)).await;
    assert!(matches!(refusal(never), Refusal::Cancelled { .. }));
    let last = fixture.kinds().pop().unwrap();
    assert_eq!(
        last,
        ("CallRefused".to_owned(), "cancelled".to_owned()),
        "what is taken back in time never starts"
    );
}

#[tokio::test]
async fn a_call_whose_caller_vanishes_still_gets_its_end() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    {
        let call = fixture.call("forever", json!({}));
        let mut call = std::pin::pin!(call);
        let started = || fixture.kinds().last().unwrap().0 == "CallStarted";
        while !started() {
            assert!(poll_once(&mut call).await.is_pending());
            tokio::task::yield_now().await;
        }
    }
    fixture.call("echo", json!({"text": "next"})).await.unwrap();
    let rows = fixture.rows();
    let start =
        rows.iter().find(|row| row["agent_id"] == "tool:forever" && row["kind"] == "CallStarted").unwrap();
    let end = rows.iter().find(|row| row["started"] == start["seq"]).unwrap();
    assert_eq!((&end["decision"], &end["reason"]), (&json!("cancelled"), &json!("caller_gone")));
}

#[tokio::test]
async fn capability_comes_before_schema_so_strangers_cannot_probe() {
    let fixture = Fixture::new().await;
    assert!(matches!(refusal(fixture.call("echo", json!({"text": 5})).await), Refusal::NotGranted { .. }));
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo"})).await;
    let refused = refusal(fixture.call("echo", json!({"text": 5})).await);
    assert!(
        matches!(&refused, Refusal::InvalidArguments { reason, .. } if reason.contains("/text") && !reason.contains('5')),
        "{refused:?}"
    );
}

#[tokio::test]
async fn nothing_leaves_unredacted_however_it_is_written() {
    let fixture =
        Fixture::with(covenant_gate::config::Config { rate: 0.0, ..Default::default() }, leaky()).await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    fixture.grant(json!({"subject": "any", "action": "tool.resource.*"})).await;
    let raw = fixture.call("raw", json!({})).await.unwrap();
    let value: serde_json::Value = serde_json::from_str(raw.json().get()).unwrap();
    assert_eq!(value["content"][0]["text"], "[REDACTED:KEY]", "escapes are no way out");
    assert_eq!(value["[REDACTED:KEY]"], 1, "keys too");
    assert!(raw.json().get().contains("1.50"), "numbers pass as they were written");
    let echoed = fixture.call("echo", json!({"text": "a s3cret-one b"})).await.unwrap();
    assert!(echoed.json().get().contains("a [REDACTED:KEY] b"));
    let unknown = refusal(fixture.call("s3cret-one", json!({})).await);
    assert!(!unknown.to_string().contains("s3cret-one"), "{unknown}");
    let invalid = refusal(fixture.call("echo", json!({"s3cret-one": 1})).await);
    assert!(!invalid.to_string().contains("s3cret-one"), "{invalid}");
    let read = fixture
        .gate
        .read_resource(fixture.admitted(), "test://one", Context::new(CancellationToken::new()))
        .await
        .unwrap();
    assert!(read.json().get().contains("[REDACTED:KEY] inside"));
    let log = std::fs::read_to_string(fixture.directory.path().join("audit/000001.jsonl")).unwrap();
    assert!(!log.contains("s3cret-one"));
}

#[tokio::test]
async fn progress_reaches_the_listener_redacted() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<Progress>>);
    impl Listener for Heard {
        fn progress(&self, progress: Progress) {
            self.0.lock().unwrap().push(progress);
        }
        fn log(&self, _: LogMessage) {}
    }
    let fixture =
        Fixture::with(covenant_gate::config::Config { rate: 0.0, ..Default::default() }, leaky()).await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let heard = Arc::new(Heard::default());
    fixture
        .call_in("progress", json!({}), Context::new(CancellationToken::new()).heard_by(heard.clone()))
        .await
        .unwrap();
    let heard = heard.0.lock().unwrap();
    assert_eq!(heard[0].message.as_deref(), Some("at [REDACTED:KEY]"));
}

#[tokio::test]
async fn what_became_a_secret_during_a_call_or_was_one_before_is_not_said() {
    /// Changes the secrets, and says the old and the new one.
    struct Changes(Arc<Gate>);
    impl Tool for Changes {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("changes".parse().unwrap(), "Changes.", json!({"type": "object"}))
        }
        fn run<'a>(&'a self, _: Permit, _: Arguments, context: &'a Context) -> Run<'a> {
            Box::pin(async move {
                self.0.set_redactor(Redactor::new([("NEW", "n3w-secret")]));
                let said = || "s3cret-one n3w-secret".to_owned();
                context.log(LogMessage { level: Level::Info, logger: Some(said()), data: json!([said()]) });
                context.progress(Progress { progress: 1.0, total: None, message: Some(said()) });
                ToolCallResult::text(said()).into()
            })
        }
    }
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);
    impl Listener for Heard {
        fn progress(&self, progress: Progress) {
            self.0.lock().unwrap().push(format!("{progress:?}"));
        }
        fn log(&self, message: LogMessage) {
            self.0.lock().unwrap().push(format!("{message:?}"));
        }
    }
    let fixture = Fixture::with(Config { rate: 0.0, ..Config::default() }, leaky()).await;
    let tool = Prepared::new(Arc::new(Changes(Arc::clone(&fixture.gate)))).unwrap();
    fixture.gate.exchange_tools(&BTreeSet::new(), vec![tool]);
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let heard = Arc::new(Heard::default());
    let context = Context::new(CancellationToken::new()).heard_by(heard.clone());
    let result = fixture.call_in("changes", json!({}), context).await.unwrap();
    let mut all = heard.0.lock().unwrap().clone();
    assert_eq!(all.len(), 2);
    all.push(result.json().get().to_owned());
    for said in all {
        assert!(said.contains("[REDACTED:KEY] [REDACTED:NEW]"), "{said}");
        assert!(!said.contains("s3cret-one") && !said.contains("n3w-secret"), "{said}");
    }
}

#[tokio::test]
async fn a_result_over_the_limit_becomes_a_failure_that_says_so() {
    let config = covenant_gate::config::Config { rate: 0.0, output_bytes: 1000, ..Default::default() };
    let fixture = Fixture::with(config, Redactor::none()).await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let result = fixture.call("echo", json!({"text": "x".repeat(1000)})).await.unwrap();
    assert!(result.is_error() && result.json().get().contains("output_bytes"));
}

#[tokio::test]
async fn resources_are_granted_by_source_and_recorded_like_calls() {
    let fixture = Fixture::new().await;
    let context = || Context::new(CancellationToken::new());
    assert!(fixture.gate.resources(&fixture.admitted()).is_empty());
    let refused = refusal(fixture.gate.read_resource(fixture.admitted(), "test://one", context()).await);
    assert!(matches!(refused, Refusal::NotGranted { action, .. } if action == "tool.resource.shelf"));
    fixture.grant(json!({"subject": "any", "action": "tool.resource.shelf"})).await;
    assert_eq!(fixture.gate.resources(&fixture.admitted()).len(), 1);
    fixture.gate.read_resource(fixture.admitted(), "test://one", context()).await.unwrap();
    assert_eq!(fixture.rows().last().unwrap()["agent_id"], "resource:shelf");
    for uri in ["test://other", "other://one"] {
        let missing = refusal(fixture.gate.read_resource(fixture.admitted(), uri, context()).await);
        assert!(matches!(missing, Refusal::NotFound { .. }), "{missing:?}");
    }
}

#[tokio::test]
async fn a_running_call_finishes_on_the_tools_it_started_with() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
    let cancel = CancellationToken::new();
    let request = CallRequest { name: "waits".to_owned(), arguments: serde_json::Map::new() };
    let call = fixture.gate.call(fixture.admitted(), request, Context::new(cancel.clone()));
    let mut call = std::pin::pin!(call);
    assert!(poll_once(&mut call).await.is_pending());
    fixture.gate.set_tools(covenant_gate::ToolRegistry::default());
    assert_eq!(fixture.gate.tool_count(), 0);
    cancel.cancel();
    assert!(matches!(call.await, Err(CallError::Refused(Refusal::Cancelled { .. }))));
}
