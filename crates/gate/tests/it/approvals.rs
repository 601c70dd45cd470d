//! What a person decides, and calls within calls: once for each word, for exactly what was asked, and as deep as is allowed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use covenant_gate::approval::{DecideError, NewVerdict};
use covenant_gate::arguments::Arguments;
use covenant_gate::config::Config;
use covenant_gate::tool::Run;
use covenant_gate::{
    CallError, CallRequest, Content, Context, Gate, Permit, Prepared, RawOutput, Redacted, Refusal, Tool,
};
use covenant_model::id::ApprovalId;
use covenant_model::redact::Redactor;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Fixture, refusal};

/// Makes another call, or asks how a text stands, and says what came of it.
pub(crate) struct Relay;

impl Tool for Relay {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"call": {"type": "string"}, "with": {"type": "object"}, "name": {"type": "string"}, "text": {"type": "string"}}});
        ToolSpec::new("relay".parse().unwrap(), "Relays.", schema)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            if arguments.get("ask").is_some() {
                return put(&arguments, context).await;
            }
            RawOutput::from(ToolCallResult::text(relayed(&arguments, context).await))
        })
    }
}

/// The text of a result.
fn said(result: &Redacted) -> String {
    let result: Value = serde_json::from_str(result.json().get()).unwrap();
    result.pointer("/content/0/text").and_then(Value::as_str).unwrap().to_owned()
}

/// Asks its client's person about a text.
async fn put(arguments: &Arguments, context: &Context) -> RawOutput {
    let (name, text) =
        (arguments.text("name").unwrap_or_default(), arguments.text("text").unwrap_or_default());
    let asked = Content { name, text };
    let standing = context.standing(asked).await.unwrap();
    match context.put_to_person(asked, standing).await {
        Ok(standing) => ToolCallResult::text(format!("{standing:?}")).into(),
        Err(unanswered) => unanswered.into(),
    }
}

async fn relayed(arguments: &Arguments, context: &Context) -> String {
    if let Some(name) = arguments.text("call") {
        let with = arguments.get("with").and_then(Value::as_object).cloned().unwrap_or_default();
        return match context.call(CallRequest { name: name.to_owned(), arguments: with }).await {
            Ok(result) => said(&result),
            Err(error) => error.to_string(),
        };
    }
    let (name, text) =
        (arguments.text("name").unwrap_or_default(), arguments.text("text").unwrap_or_default());
    match context.standing(Content { name, text }).await {
        Ok(standing) => format!("{standing:?}"),
        Err(fault) => fault.to_string(),
    }
}

impl Fixture {
    async fn relay(&self, arguments: Value) -> String {
        said(&self.call("relay", arguments).await.unwrap())
    }

    pub(crate) async fn waiting(&self) -> Vec<ApprovalId> {
        let entries = self.gate.approvals(&self.operator(), false).await.unwrap();
        entries.into_iter().map(|entry| entry.id).collect()
    }

    pub(crate) async fn decide(&self, id: &ApprovalId, approve: bool) -> Result<(), DecideError> {
        let reason = (!approve).then(|| "not this".to_owned());
        let verdict = NewVerdict { approve, reason, ..NewVerdict::default() };
        self.gate.give_verdict(&self.operator(), id, verdict).await.map(drop)
    }
}

#[tokio::test]
async fn an_approved_call_is_made_once() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let call = || fixture.call("echo", json!({"text": "x"}));
    let Refusal::PendingApproval { id, .. } = refusal(call().await) else { panic!("it waits") };
    fixture.decide(&id, true).await.unwrap();
    assert!(matches!(
        refusal(fixture.call("echo", json!({"text": "y"})).await),
        Refusal::PendingApproval { .. }
    ));
    let calls = futures_util::future::join_all((0..8).map(|_| call())).await;
    assert_eq!(calls.iter().filter(|call| call.is_ok()).count(), 1);
    assert!(matches!(fixture.decide(&id, true).await, Err(DecideError::Already(_))), "it is used up");
}

#[tokio::test]
async fn a_word_that_cannot_be_recorded_does_not_count() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let Refusal::PendingApproval { id, .. } = refusal(fixture.call("echo", json!({"text": "x"})).await)
    else {
        panic!("it waits")
    };
    fixture.gate.audit().close().await;
    assert!(matches!(fixture.decide(&id, true).await, Err(DecideError::Fault(_))));
    assert_eq!(fixture.waiting().await, [id]);
}

#[tokio::test]
async fn a_question_that_cannot_be_recorded_is_not_asked() {
    /// Closes the log, and asks.
    struct Closes(Arc<Gate>, Arc<Mutex<String>>);
    impl Tool for Closes {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("closes".parse().unwrap(), "Closes.", json!({"type": "object"}))
        }
        fn run<'a>(&'a self, _: Permit, _: Arguments, context: &'a Context) -> Run<'a> {
            Box::pin(async move {
                self.0.audit().close().await;
                let standing = context.standing(Content { name: "a.star", text: "x = 1" }).await;
                *self.1.lock().unwrap() = standing.unwrap_err().to_string();
                ToolCallResult::text("closed").into()
            })
        }
    }
    let fixture = Fixture::new().await;
    let told = Arc::new(Mutex::default());
    let tool = Closes(Arc::clone(&fixture.gate), Arc::clone(&told));
    fixture.gate.exchange_tools(&BTreeSet::new(), vec![Prepared::new(Arc::new(tool)).unwrap()]);
    fixture.grant(json!({"subject": "any", "action": "tool.call.closes"})).await;
    let _ = fixture.call("closes", json!({})).await;
    assert!(told.lock().unwrap().contains("audit log"), "{told:?}");
    assert_eq!(fixture.waiting().await, []);
}

#[tokio::test]
async fn an_approval_is_for_all_arguments_and_a_token_is_not_shown() {
    struct Signs;
    impl Tool for Signs {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("signs".parse().unwrap(), "Signs.", json!({"type": "object"}))
        }
        fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
            Box::pin(async { ToolCallResult::text("signed").into() })
        }
    }
    let fixture = Fixture::new().await;
    fixture.gate.exchange_tools(&BTreeSet::new(), vec![Prepared::new(Arc::new(Signs)).unwrap()]);
    fixture.grant(json!({"subject": "any", "action": "tool.call.signs", "approval": "ask"})).await;
    let call = |token: &str| fixture.call("signs", json!({"pin": 1234, "token": token}));
    let Refusal::PendingApproval { id, .. } = refusal(call("for ada").await) else { panic!("it waits") };
    let shown = fixture.gate.approval(&fixture.operator(), &id).await.unwrap().unwrap();
    assert!(shown.content.contains(r#""token": "[not shown]""#), "{}", shown.content);
    assert!(!shown.content.contains("for ada"), "{}", shown.content);
    fixture.decide(&id, true).await.unwrap();
    assert!(matches!(refusal(call("for eve").await), Refusal::PendingApproval { .. }), "another token");
    assert!(call("for ada").await.is_ok());
}

#[tokio::test]
async fn what_a_row_says_of_a_call_is_keyed() {
    let fixture = Fixture::new().await;
    let grant = json!({"subject": "any", "action": "tool.resource.shelf", "approval": "ask"});
    let grant =
        fixture.gate.grant(&fixture.operator(), serde_json::from_value(grant).unwrap()).await.unwrap();
    let context = Context::new(CancellationToken::new());
    let asked = fixture.gate.read_resource(fixture.admitted(), "test://one", context).await;
    let Refusal::PendingApproval { id, .. } = refusal(asked) else { panic!("it waits") };
    fixture.decide(&id, true).await.unwrap();
    let mut bound = Vec::new();
    let principal = fixture.admitted().caller().principal().to_string();
    for part in [principal.as_str(), grant.grant.id.as_str(), r#"{"uri":"test://one"}"#, ""] {
        bound.extend_from_slice(&u64::try_from(part.len()).unwrap().to_be_bytes());
        bound.extend_from_slice(part.as_bytes());
    }
    let keyed = fixture.gate.audit().digest(&bound).to_string();
    let rows = fixture.rows();
    let row = rows.iter().find(|row| row["kind"] == "ApprovalDecided").unwrap();
    let keyed = keyed.rsplit(':').next().unwrap();
    assert!(row["reason"].as_str().unwrap().ends_with(&format!("sha256:{keyed}")), "{row}");
}

#[tokio::test]
async fn a_call_that_cannot_be_shown_is_not_asked() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let refused = refusal(fixture.call("echo", json!({"text": "x".repeat(256 << 10)})).await);
    assert!(
        matches!(&refused, Refusal::InvalidArguments { reason, .. } if reason.contains("256 KiB")),
        "{refused}"
    );
    assert_eq!(fixture.waiting().await, []);
}

#[tokio::test]
async fn a_rejected_call_is_told_why_until_its_time_is_over() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let call = || fixture.call("echo", json!({"text": "x"}));
    let Refusal::PendingApproval { id, .. } = refusal(call().await) else { panic!("it waits") };
    fixture.decide(&id, false).await.unwrap();
    let Refusal::ApprovalRejected { reason, .. } = refusal(call().await) else { panic!("it is rejected") };
    assert_eq!(reason, ": not this");
    fixture.clock.advance(Duration::from_hours(25));
    assert!(matches!(refusal(call().await), Refusal::PendingApproval { .. }), "it can be asked anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_goes_on_when_a_person_decides_or_its_caller_leaves() {
    let config = Config { rate: 0.0, approvals_wait: Duration::from_mins(10), ..Config::default() };
    let fixture = Arc::new(Fixture::with(config, Redactor::none()).await);
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let begin = |cancel: CancellationToken| {
        let fixture = Arc::clone(&fixture);
        tokio::spawn(async move { fixture.call_in("echo", json!({"text": "x"}), Context::new(cancel)).await })
    };
    let mut news = fixture.gate.approvals_changed();
    let call = begin(CancellationToken::new());
    news.changed().await.unwrap();
    let id = fixture.waiting().await.remove(0);
    fixture.decide(&id, true).await.unwrap();
    assert!(call.await.unwrap().is_ok());
    assert_eq!(
        *news.borrow(),
        2,
        "it is told that something waits, and that it was decided, and nothing in between"
    );

    let cancel = CancellationToken::new();
    let call = begin(cancel.clone());
    while fixture.waiting().await.is_empty() {
        news.changed().await.unwrap();
    }
    cancel.cancel();
    assert!(matches!(refusal(call.await.unwrap()), Refusal::PendingApproval { .. }));
}

#[tokio::test]
async fn a_text_stands_as_its_name_and_every_byte_of_it_were_decided() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.relay"})).await;
    let stands = async |name: &str, text: &str| fixture.relay(json!({"name": name, "text": text})).await;
    let first = stands("a.star", "x = 1").await;
    assert!(first.starts_with("Pending("), "{first}");
    assert_eq!(stands("a.star", "x = 1").await, first, "asked again it is the same");
    let id = fixture.waiting().await.remove(0);
    let other = NewVerdict { approve: true, sha256: Some("00".repeat(32)), ..NewVerdict::default() };
    let refused = fixture.gate.give_verdict(&fixture.operator(), &id, other).await;
    assert!(matches!(refused, Err(DecideError::Other { .. })), "{refused:?}");
    let short = NewVerdict { approve: true, sha256: Some("00".to_owned()), ..NewVerdict::default() };
    let refused = fixture.gate.give_verdict(&fixture.operator(), &id, short).await;
    assert!(matches!(refused, Err(DecideError::NoHash { .. })), "{refused:?}");
    fixture.decide(&id, true).await.unwrap();
    assert_eq!(stands("a.star", "x = 1").await, "Approved");
    assert!(stands("a.star", "x = 1 ").await.starts_with("Modified("));
    for (name, text) in [("A.star", "x = 1"), ("b.star", "x = 1"), ("a.starx", " = 1")] {
        assert!(stands(name, text).await.starts_with("Pending("), "{name}");
    }
    let asked = fixture.rows().iter().filter(|row| row["kind"] == "ApprovalRequested").count();
    assert_eq!(asked, 5, "one row for each text");
}

#[tokio::test]
async fn a_call_within_a_call_passes_the_whole_gate_and_names_the_one_around_it() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "any", "action": "tool.call.relay"})).await;
    let refused = fixture.relay(json!({"call": "echo", "with": {"text": "x"}})).await;
    assert!(refused.contains("tool.call.echo"), "{refused}");
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo"})).await;
    assert_eq!(fixture.relay(json!({"call": "echo", "with": {"text": "x"}})).await, "x");
    assert!(fixture.relay(json!({"call": "echo", "with": {"text": 1}})).await.contains("text"));
    let rows = fixture.rows();
    let inner =
        rows.iter().rfind(|row| row["agent_id"] == "tool:echo" && row["kind"] == "CallFinished").unwrap();
    let outer =
        rows.iter().find(|row| row["call"] == inner["parent"] && row["kind"] == "CallFinished").unwrap();
    assert_eq!(outer["agent_id"], "tool:relay");
}

#[tokio::test]
async fn calls_within_calls_end_somewhere_and_are_counted() {
    let nested = |depth: usize| {
        let inner = json!({"call": "echo", "with": {"text": "x"}});
        (0..depth).fold(inner, |inner, _| json!({"call": "relay", "with": inner}))
    };
    for (burst, depth, words) in [(9, 3, "x"), (9, 4, "4 deep"), (5, 3, "x"), (4, 3, "Rate limit")] {
        let config = Config { rate: 0.001, burst, ..Config::default() };
        let fixture = Fixture::with(config, Redactor::none()).await;
        fixture.grant(json!({"subject": "any", "action": "tool.call.*"})).await;
        let told = fixture.relay(nested(depth)).await;
        assert!(told.contains(words), "{burst} {depth}: {told}");
    }
}

#[tokio::test]
async fn a_tool_without_a_gate_around_it_makes_no_calls() {
    let context = Context::new(CancellationToken::new());
    let request = CallRequest { name: "echo".to_owned(), arguments: Map::new() };
    assert!(matches!(context.call(request).await, Err(CallError::Fault(_))));
    assert!(context.standing(Content { name: "a.star", text: "" }).await.is_err());
    assert!(!context.is_within());
}
