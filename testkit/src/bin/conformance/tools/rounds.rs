//! Tools of which a stateless client gets the answer in rounds: what is still missing, and then the result.

use covenant_gate::arguments::Arguments;
use covenant_gate::inquiry::{Inquiry, Unanswered};
use covenant_gate::tool::Run;
use covenant_gate::{Context, RawOutput};
use covenant_model::tool::ToolCallResult;
use serde_json::json;

use super::Fixture;
use super::asking::{at, model, person};

pub(super) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::does("test_input_required_result_elicitation", "Asks for a name.", name),
        Fixture::does("test_input_required_result_sampling", "Asks the model.", capital),
        Fixture::does("test_input_required_result_list_roots", "Asks for roots.", roots),
        Fixture::does("test_input_required_result_request_state", "Remembers.", remember),
        Fixture::does("test_input_required_result_multiple_inputs", "Asks three things.", three),
        Fixture::does("test_input_required_result_multi_round", "Asks twice.", twice),
        Fixture::does("test_input_required_result_tampered_state", "Remembers.", remember),
        Fixture::does("test_input_required_result_capabilities", "Asks what it can.", whatever),
    ]
}

/// The result, or what is missing for it.
fn finished(outcome: Result<String, Unanswered>) -> RawOutput {
    match outcome {
        Ok(text) => ToolCallResult::text(text).into(),
        Err(unanswered) => unanswered.into(),
    }
}

fn name_of_person() -> Inquiry {
    person("What is your name?", &json!({"name": {"type": "string"}}))
}

fn name(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let answer = context.ask("user_name", name_of_person()).await;
        finished(answer.map(|answer| format!("Hello, {}!", at(&answer, "/content/name"))))
    })
}

fn capital(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let answer = context.ask("capital_question", model("What is the capital of France?", 100)).await;
        finished(answer.map(|answer| format!("The model said: {}", at(&answer, "/content/text"))))
    })
}

fn roots(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let answer = context.ask("client_roots", Inquiry::roots()).await;
        finished(answer.map(|answer| format!("The roots are {}", at(&answer, "/roots"))))
    })
}

/// Only who brings back what was sealed in the first round is told so.
fn remember(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let inquiry = person("Please confirm", &json!({"ok": {"type": "boolean"}}));
        let answer = context.ask("confirm", inquiry).await;
        let kept = if context.remembered() == Some(&json!("asked")) { "state-ok" } else { "in one round" };
        finished(answer.map(|_| kept.to_owned()).map_err(|unanswered| unanswered.remembering(json!("asked"))))
    })
}

fn three(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let questions = [
            ("user_name", name_of_person()),
            ("greeting", model("Generate a greeting", 50)),
            ("client_roots", Inquiry::roots()),
        ];
        let answers = context.ask_all(questions).await;
        finished(answers.map(|answers| format!("{} answers", answers.len())))
    })
}

fn twice(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let colour = || person("Step 2: What is your favorite color?", &json!({"color": {"type": "string"}}));
        let steps = async {
            let name = person("Step 1: What is your name?", &json!({"name": {"type": "string"}}));
            let name = context.ask("step1", name).await?;
            let colour = context.ask("step2", colour()).await?;
            Ok(format!("{} likes {}", at(&name, "/content/name"), at(&colour, "/content/color")))
        };
        finished(steps.await)
    })
}

/// Asks for each kind of answer the client said it has.
fn whatever(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        let kinds = context.kinds();
        let questions = [
            kinds.form.then(|| ("user_name", name_of_person())),
            kinds.sampling.then(|| ("greeting", model("Generate a greeting", 50))),
            kinds.roots.then(|| ("client_roots", Inquiry::roots())),
        ];
        let answers = context.ask_all(questions.into_iter().flatten()).await;
        finished(answers.map(|answers| format!("{} answers", answers.len())))
    })
}
