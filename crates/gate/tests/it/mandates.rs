//! Runs of agents as callers: what they may do, on whose behalf, how deep, and until when.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::config::Config;
use covenant_gate::mandate::Mandated;
use covenant_gate::tool::Run;
use covenant_gate::{
    CallError, CallRequest, Caller, Context, Credential, Permit, Prepared, Redacted, Refusal, Tool,
};
use covenant_model::action::ActionPattern;
use covenant_model::redact::Redactor;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Fixture, persons, refusal};

/// An agent whose run lasts until it is told to end, and whose mandate can be had meanwhile.
pub(crate) struct Agent {
    required: Vec<&'static str>,
    scope: Vec<ActionPattern>,
    runs: Mutex<Vec<Mandated>>,
    begun: Notify,
    end: Notify,
    objects: bool,
}

/// The tool of an agent of that name.
struct Named(&'static str, Arc<Agent>);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0.parse().unwrap(), "An agent.", json!({"type": "object"}))
    }

    fn required(&self) -> Vec<String> {
        self.1.required.iter().map(|action| (*action).to_owned()).collect()
    }

    fn dispatch(&self) -> Option<String> {
        Some(format!("tool.call.{}", self.0))
    }

    fn optional(&self) -> Vec<String> {
        ["tool.call.echo", "tool.call.fails", "tool.call.agent__one"].map(str::to_owned).to_vec()
    }

    fn objection(&self) -> Option<Refusal> {
        self.1.objects.then_some(Refusal::QueueFull { limit: 7 })
    }

    fn agent_id(&self) -> String {
        "one@local".to_owned()
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let agent = "agent:one@local".parse().unwrap();
            self.1.runs.lock().push(context.mandate(&agent, self.1.scope.clone()).unwrap());
            self.1.begun.notify_one();
            self.1.end.notified().await;
            self.1.runs.lock().pop();
            ToolCallResult::text("ended").into()
        })
    }
}

pub(crate) fn agent(scope: &[&str]) -> Arc<Agent> {
    let scope = scope.iter().map(|action| action.parse().unwrap()).collect();
    let (begun, end) = (Notify::new(), Notify::new());
    Arc::new(Agent {
        required: vec!["memory.write"],
        scope,
        runs: Mutex::default(),
        begun,
        end,
        objects: false,
    })
}

pub(crate) fn put(fixture: &Fixture, name: &'static str, agent: &Arc<Agent>) {
    let tool = Prepared::new(Arc::new(Named(name, Arc::clone(agent)))).unwrap();
    assert!(fixture.gate.exchange_tools(&[].into(), vec![tool]).is_empty());
}

pub(crate) async fn granted(actions: &[&str]) -> Fixture {
    let fixture = Fixture::new().await;
    for action in actions {
        fixture.grant(json!({"subject": "user@local", "action": action})).await;
    }
    fixture
}

/// A dispatch under way, and its run as a caller.
pub(crate) async fn begin(
    fixture: &Fixture,
    agent: &Agent,
    by: Option<Caller>,
    name: &str,
) -> (tokio::task::JoinHandle<Result<Redacted, CallError>>, Credential) {
    let gate = Arc::clone(&fixture.gate);
    let by = by.map_or_else(|| fixture.admitted(), |caller| gate.admit(&caller).unwrap());
    let request = CallRequest { name: name.to_owned(), arguments: Map::new() };
    let context = Context::new(CancellationToken::new());
    let call = tokio::spawn(async move { gate.call(by, request, context).await });
    agent.begun.notified().await;
    let credential = Credential::bearer(agent.runs.lock().last().unwrap().token().reveal());
    (call, credential)
}

async fn call_as(fixture: &Fixture, run: &Credential, name: &str) -> Result<Redacted, CallError> {
    let caller = fixture.gate.authenticate(run)?;
    let admitted = fixture.gate.admit(&caller)?;
    let request = CallRequest { name: name.to_owned(), arguments: Map::new() };
    fixture.gate.call(admitted, request, Context::new(CancellationToken::new())).await
}

fn listed(fixture: &Fixture, run: &Credential) -> Vec<String> {
    let admitted = fixture.gate.admit(&fixture.gate.authenticate(run).unwrap()).unwrap();
    let name = |spec: &Value| spec["name"].as_str().unwrap().to_owned();
    fixture
        .gate
        .tools(&admitted)
        .iter()
        .map(|spec| name(&serde_json::from_str(spec.get()).unwrap()))
        .collect()
}

#[tokio::test]
async fn a_run_may_what_its_manifest_names_and_its_issuer_may() {
    let fixture = granted(&["memory.write", "tool.call.echo", "tool.call.who"]).await;
    let agent = agent(&["tool.call.echo", "tool.call.fails"]);
    put(&fixture, "agent__one", &agent);
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    assert!(call_as(&fixture, &run, "echo").await.is_ok());
    let refused = refusal(call_as(&fixture, &run, "who").await);
    assert!(
        matches!(&refused, Refusal::NotInManifest { action, .. } if action == "tool.call.who"),
        "{refused}"
    );
    let refused = refusal(call_as(&fixture, &run, "fails").await);
    assert_eq!(
        refused.to_string(),
        "user@local may not do `tool.call.fails`; grant it with: covenant capabilities grant tool.call.fails --to user@local"
    );
    assert_eq!(listed(&fixture, &run), ["echo"], "lists and calls agree");
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.fails"})).await;
    assert!(call_as(&fixture, &run, "fails").await.is_ok(), "by what its issuer may at that moment");
    // A grant to the agent itself gives it nothing.
    fixture.grant(json!({"subject": "agent:one@local", "action": "tool.call.*"})).await;
    assert!(call_as(&fixture, &run, "who").await.is_err());
    agent.end.notify_one();
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_run_calls_is_recorded_within_its_dispatch_and_what_is_optional_is_noted() {
    let fixture = granted(&["memory.write", "tool.call.echo"]).await;
    let agent = agent(&["tool.call.echo"]);
    put(&fixture, "agent__one", &agent);
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    call_as(&fixture, &run, "echo").await.unwrap();
    agent.end.notify_one();
    call.await.unwrap().unwrap();
    let rows: Vec<Value> = fixture.rows().into_iter().filter(|row| row["kind"] != "GrantAdded").collect();
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            let word = |member: &str| row[member].as_str().unwrap_or("-").to_owned();
            ["principal", "agent_id", "kind", "decision", "action", "reason"].map(word).join(" ")
        })
        .collect();
    assert_eq!(
        told,
        [
            "user@local one@local CapabilityCheck allowed memory.write -",
            "user@local one@local CapabilityCheck allowed tool.call.echo optional",
            "user@local one@local CapabilityCheck refused tool.call.fails optional",
            "user@local one@local CapabilityCheck allowed tool.call.agent__one optional",
            "user@local one@local CallStarted allowed - -",
            "agent:one@local tool:echo CapabilityCheck allowed tool.call.echo -",
            "agent:one@local tool:echo CallStarted allowed - -",
            "agent:one@local tool:echo CallFinished ok - -",
            "user@local one@local CallFinished ok - -",
        ]
    );
    let dispatch = &rows[4]["call"];
    assert!(dispatch.is_string());
    assert!(rows[5..8].iter().all(|row| row["parent"] == *dispatch), "{rows:?}");
    assert!(rows[4].get("parent").is_none());
}

#[tokio::test]
async fn the_token_of_a_run_ends_with_it_and_takes_its_calls_along() {
    let fixture = granted(&["memory.write", "tool.call.*"]).await;
    let agent = agent(&["tool.call.*"]);
    put(&fixture, "agent__one", &agent);
    let mut changed = fixture.gate.changed();
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    let hangs = {
        let (gate, caller) = (Arc::clone(&fixture.gate), fixture.gate.authenticate(&run).unwrap());
        let admitted = gate.admit(&caller).unwrap();
        let request = CallRequest { name: "waits".to_owned(), arguments: Map::new() };
        tokio::spawn(
            async move { gate.call(admitted, request, Context::new(CancellationToken::new())).await },
        )
    };
    while !fixture.rows().iter().any(|row| row["agent_id"] == "tool:waits" && row["kind"] == "CallStarted") {
        tokio::task::yield_now().await;
    }
    changed.mark_unchanged();
    agent.end.notify_one();
    call.await.unwrap().unwrap();
    assert!(matches!(refusal(hangs.await.unwrap()), Refusal::Cancelled { .. }));
    assert_eq!(refusal(call_as(&fixture, &run, "echo").await), Refusal::Unauthenticated);
    assert!(changed.has_changed().unwrap(), "who listens as that run is asked anew who they are");
}

#[tokio::test]
async fn only_the_operator_dispatches_without_leave_to_and_runs_of_theirs_whose_manifest_names_it() {
    let fixture = granted(&["memory.write"]).await;
    let (one, two) = (agent(&["memory.write", "tool.call.agent__two"]), agent(&[]));
    put(&fixture, "agent__one", &one);
    put(&fixture, "agent__two", &two);
    fixture.grant(json!({"subject": "client:ada", "action": "memory.write"})).await;
    let operator = fixture.operator();
    let new = serde_json::from_value(json!({"name": "ada"})).unwrap();
    let ada = fixture.gate.add_client(&operator, new).await.unwrap();
    let ada = Credential::bearer(&ada.token);
    let refused = refusal(call_as(&fixture, &ada, "agent__one").await);
    assert!(
        matches!(&refused, Refusal::NotGranted { action, .. } if action == "tool.call.agent__one"),
        "{refused}"
    );
    assert!(listed(&fixture, &ada).is_empty());
    let (outer, run) = begin(&fixture, &one, None, "agent__one").await;
    let refused = refusal(call_as(&fixture, &run, "agent__one").await);
    assert!(matches!(refused, Refusal::NotInManifest { .. }), "{refused}");
    let by = fixture.gate.authenticate(&run).unwrap();
    let (inner, _) = begin(&fixture, &two, Some(by), "agent__two").await;
    two.end.notify_one();
    inner.await.unwrap().unwrap();
    one.end.notify_one();
    outer.await.unwrap().unwrap();
}

#[tokio::test]
async fn agents_that_call_agents_go_so_deep_and_no_deeper() {
    let fixture = granted(&["memory.write"]).await;
    let agent = agent(&["memory.write", "tool.call.agent__one"]);
    put(&fixture, "agent__one", &agent);
    let (mut calls, mut by) = (Vec::new(), None);
    for _ in 0..4 {
        let (call, run) = begin(&fixture, &agent, by, "agent__one").await;
        calls.push(call);
        by = Some(fixture.gate.authenticate(&run).unwrap());
    }
    let deepest = Credential::bearer(agent.runs.lock().last().unwrap().token().reveal());
    let refused = refusal(call_as(&fixture, &deepest, "agent__one").await);
    assert!(matches!(refused, Refusal::TooDeep { limit: 4, .. }), "{refused}");
    agent.end.notify_waiters();
    for call in calls {
        // The inner ones may be taken back with the outer ones.
        let _ = call.await.unwrap();
    }
}

#[tokio::test]
async fn a_tool_that_takes_no_call_now_is_not_begun_and_a_counted_grant_loses_nothing() {
    let fixture = Fixture::new().await;
    fixture
        .grant(json!({"subject": "user@local", "action": "memory.write", "where": {"max_calls": 1}}))
        .await;
    let (begun, end) = (Notify::new(), Notify::new());
    let required = vec!["memory.write"];
    let busy = Agent { required, scope: Vec::new(), runs: Mutex::default(), begun, end, objects: true };
    put(&fixture, "agent__one", &Arc::new(busy));
    for _ in 0..3 {
        let refused = refusal(fixture.call("agent__one", json!({})).await);
        assert_eq!(refused, Refusal::QueueFull { limit: 7 });
    }
    assert!(!fixture.kinds().iter().any(|(kind, _)| kind == "CallStarted"));
}

/// Begins a call of that run, which was recognised while it ran.
fn calling(
    fixture: &Fixture,
    run: &Credential,
    name: &str,
) -> tokio::task::JoinHandle<Result<Redacted, CallError>> {
    let gate = Arc::clone(&fixture.gate);
    let admitted = gate.admit(&gate.authenticate(run).unwrap()).unwrap();
    let request = CallRequest { name: name.to_owned(), arguments: Map::new() };
    tokio::spawn(async move { gate.call(admitted, request, Context::new(CancellationToken::new())).await })
}

#[tokio::test]
async fn what_a_run_waits_for_leave_to_do_is_not_done_once_it_is_over() {
    let config = Config { rate: 0.0, approvals_wait: Duration::from_mins(10), ..Config::default() };
    let fixture = Fixture::with(config, Redactor::none()).await;
    fixture.grant(json!({"subject": "user@local", "action": "memory.write"})).await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.echo", "approval": "ask"})).await;
    let agent = agent(&["tool.call.echo"]);
    put(&fixture, "agent__one", &agent);
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    let mut news = fixture.gate.approvals_changed();
    let waits = calling(&fixture, &run, "echo");
    news.changed().await.unwrap();
    agent.end.notify_one();
    call.await.unwrap().unwrap();
    let id = fixture.waiting().await.remove(0);
    fixture.decide(&id, true).await.unwrap();
    let ended = refusal(waits.await.unwrap());
    assert!(matches!(ended, Refusal::PendingApproval { .. } | Refusal::Cancelled { .. }), "{ended}");
    let started = |row: &Value| row["kind"] == "CallStarted" && row["agent_id"] == "tool:echo";
    assert!(!fixture.rows().iter().any(started), "nothing is done for a run that is over");
}

#[tokio::test]
async fn a_call_of_a_run_that_ends_before_it_starts_does_not_start() {
    let fixture = granted(&["memory.write", "tool.call.echo"]).await;
    let agent = agent(&["tool.call.echo"]);
    put(&fixture, "agent__one", &agent);
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    let (gate, caller) = (&fixture.gate, fixture.gate.authenticate(&run).unwrap());
    let admitted = gate.admit(&caller).unwrap();
    agent.end.notify_one();
    call.await.unwrap().unwrap();
    let request = CallRequest { name: "echo".to_owned(), arguments: Map::new() };
    let late = gate.call(admitted, request, Context::new(CancellationToken::new())).await;
    assert!(matches!(refusal(late), Refusal::Cancelled { .. }));
    assert!(caller.is_over());
}

#[tokio::test]
async fn with_a_run_end_at_once_those_it_has_begun_itself() {
    let fixture = granted(&["memory.write", "tool.call.*"]).await;
    let (one, two) = (agent(&["memory.write", "tool.call.*"]), agent(&["tool.call.*"]));
    put(&fixture, "agent__one", &one);
    put(&fixture, "agent__two", &two);
    let (outer, run) = begin(&fixture, &one, None, "agent__one").await;
    let by = fixture.gate.authenticate(&run).unwrap();
    let (inner, nested) = begin(&fixture, &two, Some(by), "agent__two").await;
    let hangs = calling(&fixture, &nested, "waits");
    while !fixture.rows().iter().any(|row| row["agent_id"] == "tool:waits" && row["kind"] == "CallStarted") {
        tokio::task::yield_now().await;
    }
    drop(one.runs.lock().pop());
    // The inner dispatch still winds down, and its run can call no more.
    assert_eq!(refusal(call_as(&fixture, &nested, "echo").await), Refusal::Unauthenticated);
    assert!(matches!(refusal(hangs.await.unwrap()), Refusal::Cancelled { .. }));
    assert!(matches!(refusal(inner.await.unwrap()), Refusal::Cancelled { .. }));
    one.end.notify_one();
    outer.await.unwrap().unwrap();
}

#[tokio::test]
async fn that_the_operator_may_send_agents_something_is_noted_as_it_is() {
    let fixture = granted(&["memory.write"]).await;
    let agent = agent(&[]);
    put(&fixture, "agent__one", &agent);
    put(&fixture, "agent__two", &agent);
    let caller = fixture.gate.authenticate(&Credential::peer(1000)).unwrap();
    assert!(fixture.gate.is_offered(&caller, "agent__two"));
    let new = json!({"subject": "agent:one@local", "action": "tool.call.agent__two"});
    let noted = fixture.gate.grant(&fixture.operator(), serde_json::from_value(new).unwrap()).await.unwrap();
    assert!(
        noted.warnings.iter().any(|told| told.contains("a grant to agent:one@local gives them nothing")),
        "{noted:?}"
    );
}

#[tokio::test]
async fn what_no_call_of_a_run_is_checked_for_is_decided_when_it_is_sent() {
    let fixture = Fixture::new().await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.web_search", "approval": "ask"})).await;
    let (begun, end) = (Notify::new(), Notify::new());
    let required = vec!["tool.web_search"];
    let asks = Agent { required, scope: Vec::new(), runs: Mutex::default(), begun, end, objects: false };
    put(&fixture, "agent__one", &Arc::new(asks));
    let refused = refusal(fixture.call("agent__one", json!({})).await);
    assert!(matches!(refused, Refusal::PendingApproval { .. }), "{refused}");
}

#[tokio::test]
async fn what_an_agent_needs_for_its_calls_is_held_when_it_is_sent_and_spent_when_it_calls() {
    let fixture = Fixture::new().await;
    let counted = json!({"max_calls": 1, "arguments": {"text": {"equals": "x"}}});
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.echo", "where": counted})).await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.who", "approval": "ask"})).await;
    let (begun, end) = (Notify::new(), Notify::new());
    let scope = ["tool.call.echo", "tool.call.who"].map(|action| action.parse().unwrap()).to_vec();
    let required = vec!["tool.call.echo", "tool.call.who"];
    let agent = Arc::new(Agent { required, scope, runs: Mutex::default(), begun, end, objects: false });
    put(&fixture, "agent__one", &agent);
    // Neither the narrow grant nor the one that asks stands in the way, and nothing is used up.
    for _ in 0..2 {
        let (call, _) = begin(&fixture, &agent, None, "agent__one").await;
        agent.end.notify_one();
        call.await.unwrap().unwrap();
    }
    let (call, run) = begin(&fixture, &agent, None, "agent__one").await;
    let echo = async |text: &str| {
        let admitted = fixture.gate.admit(&fixture.gate.authenticate(&run).unwrap()).unwrap();
        let arguments = json!({"text": text}).as_object().unwrap().clone();
        let request = CallRequest { name: "echo".to_owned(), arguments };
        fixture.gate.call(admitted, request, Context::new(CancellationToken::new())).await
    };
    assert!(matches!(refusal(echo("y").await), Refusal::NotGranted { .. }));
    assert!(echo("x").await.is_ok());
    assert!(matches!(refusal(echo("x").await), Refusal::NotGranted { .. }));
    assert!(matches!(refusal(call_as(&fixture, &run, "who").await), Refusal::PendingApproval { .. }));
    agent.end.notify_one();
    call.await.unwrap().unwrap();
    let refused = refusal(fixture.call("agent__one", json!({})).await);
    assert!(refused.to_string().contains("its calls (1) are used up"), "{refused}");
}

#[tokio::test]
async fn a_run_approves_nothing_whatever_the_client_may_that_sent_it() {
    let fixture = granted(&[]).await;
    for action in ["memory.write", "tool.call.agent__one"] {
        fixture.grant(json!({"subject": "any", "action": action})).await;
    }
    fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
    let agent = agent(&["tool.call.echo"]);
    put(&fixture, "agent__one", &agent);
    let desk = persons::add(&fixture, "desk", true).await;
    let by = fixture.gate.authenticate(&desk).unwrap();
    let (call, run) = begin(&fixture, &agent, Some(by), "agent__one").await;
    let person = persons::Person::new(persons::FORM, persons::yes());
    let admitted = fixture.gate.admit(&fixture.gate.authenticate(&run).unwrap()).unwrap();
    let request = CallRequest { name: "echo".to_owned(), arguments: Map::new() };
    let called = fixture.gate.call(admitted, request, persons::live(&person)).await;
    assert!(matches!(refusal(called), Refusal::PendingApproval { .. }));
    assert_eq!(person.asked().len(), 0);
    agent.end.notify_one();
    call.await.unwrap().unwrap();
}
