//! Asking the client while a call runs: of one that answers at once, and of one that calls again with the answer.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::inquiry::{Asking, Client, Inquiry, Kinds, Round};
use covenant_gate::tool::Run;
use covenant_gate::{CallError, Context, Permit, Refusal, Tool};
use covenant_model::redact::Redactor;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::Fixture;

/// Asks for a name, then for a colour, then answers with both and with what it remembered.
pub(crate) struct Curious;

impl Tool for Curious {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("curious".parse().unwrap(), "asks", json!({"type": "object"}))
    }

    fn run<'a>(&'a self, _permit: Permit, _arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let message = json!({"message": "your name? (secret-value-1)"});
            let name = match context.ask("name", Inquiry::elicit(message)).await {
                Ok(name) => name,
                Err(unanswered) => return unanswered.into(),
            };
            let colour = match context.ask("colour", Inquiry::sample(json!({}))).await {
                Ok(colour) => colour,
                Err(unanswered) => return unanswered.remembering(json!("kept")).into(),
            };
            let kept = context.remembered().cloned().unwrap_or_default();
            let said = |answer: &Value| answer.get("content").cloned().unwrap_or_default();
            ToolCallResult::text(format!("{} {} {kept}", said(&name), said(&colour))).into()
        })
    }
}

struct Answers(Kinds);

impl Client for Answers {
    fn kinds(&self) -> Kinds {
        self.0
    }

    fn ask<'a>(&'a self, inquiry: &'a Inquiry) -> Asking<'a> {
        Box::pin(async move { Ok(json!({"content": inquiry.params().to_string()})) })
    }

    fn tell(&self, _: &Inquiry) {}
}

const ALL: Kinds = Kinds { form: true, url: true, sampling: true, roots: true };

fn live(kinds: Kinds) -> Context {
    Context::new(CancellationToken::new()).answered_by(Arc::new(Answers(kinds)))
}

fn round(responses: &Value, state: Option<&str>) -> Context {
    let responses = responses.as_object().cloned().unwrap_or_else(Map::new);
    let round = Round { kinds: ALL, responses, state: state.map(str::to_owned) };
    Context::new(CancellationToken::new()).repeated(round)
}

async fn fixture() -> Fixture {
    let config = covenant_gate::config::Config { rate: 0.0, ..covenant_gate::config::Config::default() };
    let fixture = Fixture::with(config, Redactor::new([("KEY", "secret-value-1")])).await;
    fixture.grant(json!({"subject": "user@local", "action": "tool.call.curious"})).await;
    fixture
}

async fn ask(fixture: &Fixture, context: Context) -> Value {
    let result = fixture.call_in("curious", json!({}), context).await.unwrap();
    serde_json::from_str(result.json().get()).unwrap()
}

#[tokio::test]
async fn a_client_that_answers_at_once_is_asked_without_secrets_and_each_question_is_recorded() {
    let fixture = fixture().await;
    let result = ask(&fixture, live(ALL)).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("[REDACTED:KEY]") && !text.contains("secret-value-1"), "{text}");
    let rows = fixture.rows();
    let asked: Vec<_> = rows.iter().filter(|row| row["kind"] == "ClientAsked").collect();
    assert_eq!(asked.len(), 2);
    assert_eq!((&asked[0]["reason"], &asked[0]["decision"]), (&json!("elicitation/create"), &json!("ok")));
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_refused_with_what_is_missing() {
    let fixture = fixture().await;
    for context in [live(Kinds { form: false, ..ALL }), Context::new(CancellationToken::new())] {
        let refused = fixture.call_in("curious", json!({}), context).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(Refusal::ClientCannot { .. })), "{refused}");
    }
}

#[tokio::test]
async fn a_client_that_calls_again_is_asked_round_by_round_and_carries_what_is_known() {
    let fixture = fixture().await;
    let first = ask(&fixture, round(&json!({}), None)).await;
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(first["inputRequests"]["name"]["params"]["message"], "your name? ([REDACTED:KEY])");
    let state = first["requestState"].as_str().unwrap();

    let second = ask(&fixture, round(&json!({"name": {"content": "Ada"}, "more": {}}), Some(state))).await;
    assert_eq!(second["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["colour"]);
    let state = second["requestState"].as_str().unwrap();
    assert!(!state.contains("Ada"));

    let third = ask(&fixture, round(&json!({"colour": {"content": "blue"}}), Some(state))).await;
    assert_eq!(third["content"][0]["text"], r#""Ada" "blue" "kept""#);
    let ends: Vec<_> = fixture.kinds().into_iter().filter(|(kind, _)| kind == "CallFinished").collect();
    let decisions: Vec<_> = ends.iter().map(|(_, decision)| decision.as_str()).collect();
    assert_eq!(decisions, ["input_required", "input_required", "ok"]);
}

#[tokio::test]
async fn what_is_no_answer_is_asked_again() {
    let fixture = fixture().await;
    for responses in [json!({"name": 12345}), json!({"other": {"content": "x"}}), json!({"name": null})] {
        let again = ask(&fixture, round(&responses, None)).await;
        assert_eq!(again["resultType"], "input_required", "{responses}");
    }
}

#[tokio::test]
async fn a_state_that_was_changed_belongs_to_another_call_or_is_old_is_refused() {
    let fixture = fixture().await;
    let first = ask(&fixture, round(&json!({}), None)).await;
    let state = first["requestState"].as_str().unwrap().to_owned();
    let tried = async |arguments: Value, state: &str| {
        let context = round(&json!({"name": {"content": "Ada"}}), Some(state));
        fixture.call_in("curious", arguments, context).await
    };
    for (arguments, state) in [(json!({}), format!("{state}-TAMPERED")), (json!({"a": 1}), state.clone())] {
        let refused = tried(arguments, &state).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(Refusal::InvalidArguments { .. })), "{refused}");
    }
    assert!(tried(json!({}), &state).await.is_ok());
    fixture.clock.advance(std::time::Duration::from_secs(601));
    assert!(tried(json!({}), &state).await.is_err());
}
