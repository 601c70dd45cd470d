//! Tools that answer for themselves, and whom a token among their arguments speaks for.

use std::sync::Arc;

use covenant_gate::answering::{Answering, Unserved};
use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{CallRequest, Context, Credential, Permit, Prepared, Redacted, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Fixture;
use crate::mandates::{agent, begin, granted, put};

/// Says who called it; of a call that came to nothing, whose it was.
struct Speaks;

impl Tool for Speaks {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("speaks".parse().unwrap(), "Speaks.", json!({"type": "object"}))
    }

    fn answering(&self) -> Option<Arc<dyn Answering>> {
        Some(Arc::new(Self))
    }

    fn run<'a>(&'a self, permit: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
        let more = if permit.badge().may_approve { ", who may approve" } else { "" };
        let (who, issuer) = (permit.principal(), permit.issuer());
        let whose = if who == issuer { String::new() } else { format!(" for {issuer}") };
        let said = ToolCallResult::text(format!("{who}{whose}{more}"));
        Box::pin(async move { said.into() })
    }
}

impl Answering for Speaks {
    fn unserved<'a>(&'a self, call: Unserved<'a>) -> Run<'a> {
        let who = call.principal.map_or("nobody", |principal| principal.as_str());
        Box::pin(async move { ToolCallResult::error(format!("not for {who}")).into() })
    }

    fn is_for(&self, _: &str) -> bool {
        false
    }
}

fn offer(fixture: &Fixture) {
    let tool = Prepared::new(Arc::new(Speaks)).unwrap();
    assert!(fixture.gate.exchange_tools(&[].into(), vec![tool]).is_empty());
}

async fn speak(fixture: &Fixture, by: &Credential, token: Value) -> String {
    let caller = fixture.gate.authenticate(by).unwrap();
    let admitted = fixture.gate.admit(&caller).unwrap();
    let arguments = json!({ "token": token }).as_object().unwrap().clone();
    let request = CallRequest { name: "speaks".to_owned(), arguments };
    let said: Redacted =
        fixture.gate.call(admitted, request, Context::new(CancellationToken::new())).await.unwrap();
    let said: Value = serde_json::from_str(said.json().get()).unwrap();
    said.pointer("/content/0/text").and_then(Value::as_str).unwrap().to_owned()
}

fn last_row(fixture: &Fixture) -> (String, String, String) {
    let row = fixture.rows().pop().unwrap();
    let word = |member: &str| row.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    (word("kind"), word("principal"), word("reason"))
}

#[tokio::test]
async fn a_token_that_is_of_no_use_is_on_record_with_whoever_showed_it() {
    let fixture = granted(&["tool.call.speaks"]).await;
    offer(&fixture);
    let by = Credential::peer(1000);
    assert_eq!(speak(&fixture, &by, json!(null)).await, "user@local");
    for (token, said, reason) in [
        (json!("cv_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), "Error: not for nobody", "unauthenticated"),
        (json!(7), "Error: not for user@local", "invalid_arguments"),
    ] {
        assert_eq!(speak(&fixture, &by, token).await, said);
        let row = ("CallRefused".to_owned(), "user@local".to_owned(), reason.to_owned());
        assert_eq!(last_row(&fixture), row);
    }
}

#[tokio::test]
async fn a_run_of_an_agent_leaves_its_mandate_by_no_token() {
    let fixture = granted(&["tool.call.agent__one", "memory.write", "tool.call.speaks"]).await;
    offer(&fixture);
    let one = agent(&["tool.call.echo"]);
    put(&fixture, "agent__one", &one);
    fixture.grant(json!({"subject": "client:ada", "action": "tool.call.speaks"})).await;
    let new = serde_json::from_value(json!({"name": "ada"})).unwrap();
    let token = fixture.gate.add_client(&fixture.operator(), new).await.unwrap().token;
    assert_eq!(speak(&fixture, &Credential::peer(1000), json!(token)).await, "client:ada");

    let (_call, run) = begin(&fixture, &one, None, "agent__one").await;
    assert_eq!(speak(&fixture, &run, json!(token)).await, "Error: not for user@local");
    let row = ("CallRefused".to_owned(), "agent:one@local".to_owned(), "invalid_arguments".to_owned());
    assert_eq!(last_row(&fixture), row);
}

#[tokio::test]
async fn whoever_is_spoken_for_by_a_token_does_not_approve_by_it() {
    let fixture = granted(&["tool.call.speaks"]).await;
    offer(&fixture);
    fixture.grant(json!({"subject": "client:ada", "action": "tool.call.speaks"})).await;
    let new = serde_json::from_value(json!({"name": "ada", "may_approve": true})).unwrap();
    let token = fixture.gate.add_client(&fixture.operator(), new).await.unwrap().token;
    let own = speak(&fixture, &Credential::bearer(&token), json!(null)).await;
    assert_eq!(own, "client:ada, who may approve");
    assert_eq!(speak(&fixture, &Credential::peer(1000), json!(token)).await, "client:ada");
}

#[tokio::test]
async fn a_call_of_a_run_is_made_for_whoever_sent_the_first_of_the_runs() {
    let fixture = granted(&[]).await;
    offer(&fixture);
    let one = agent(&["tool.call.speaks", "tool.call.agent__one", "memory.write"]);
    put(&fixture, "agent__one", &one);
    for action in ["tool.call.speaks", "tool.call.agent__one", "memory.write"] {
        fixture.grant(json!({"subject": "client:ada", "action": action})).await;
    }
    let new = serde_json::from_value(json!({"name": "ada"})).unwrap();
    let token = fixture.gate.add_client(&fixture.operator(), new).await.unwrap().token;
    let ada = fixture.gate.authenticate(&Credential::bearer(&token)).unwrap();

    let (_outer, run) = begin(&fixture, &one, Some(ada), "agent__one").await;
    assert_eq!(speak(&fixture, &run, json!(null)).await, "agent:one@local for client:ada");
    let by = fixture.gate.authenticate(&run).unwrap();
    let (_inner, deeper) = begin(&fixture, &one, Some(by), "agent__one").await;
    assert_eq!(speak(&fixture, &deeper, json!(null)).await, "agent:one@local for client:ada");
    assert_eq!(speak(&fixture, &deeper, json!(7)).await, "Error: not for client:ada");
}
