//! Tools that ask their client one thing: its person, or its model.

use covenant_gate::arguments::Arguments;
use covenant_gate::inquiry::Inquiry;
use covenant_gate::tool::Run;
use covenant_gate::{Context, RawOutput};
use covenant_model::tool::ToolCallResult;
use serde_json::{Value, json};

use super::Fixture;

pub(super) fn tools() -> Vec<Fixture> {
    let one_text =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        Fixture::does("test_sampling", "Asks the model.", sampling).taking(one_text("prompt")),
        Fixture::does("test_elicitation", "Asks the person.", elicitation).taking(one_text("message")),
        Fixture::does("test_elicitation_sep1034_defaults", "Asks with defaults.", defaults),
        Fixture::does("test_elicitation_sep1330_enums", "Asks for choices.", choices),
        Fixture::does("test_missing_capability", "Needs a client with a model.", needs_a_model),
        Fixture::does("test_streaming_elicitation", "Asks the person.", streaming),
    ]
}

/// Asks, and answers with what was said.
async fn relay(context: &Context, inquiry: Inquiry, words: fn(&Value) -> String) -> RawOutput {
    match context.ask("answer", inquiry).await {
        Ok(answer) => ToolCallResult::text(words(&answer)).into(),
        Err(unanswered) => unanswered.into(),
    }
}

/// The request for a text by the client's model.
pub(super) fn model(prompt: &str, tokens: u32) -> Inquiry {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    Inquiry::sample(json!({"messages": [message], "maxTokens": tokens}))
}

/// The request for a form with these fields, all of which are needed.
pub(super) fn person(message: &str, fields: &Value) -> Inquiry {
    let required: Vec<&String> = fields.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    form(message, &json!({"type": "object", "properties": fields, "required": required}))
}

fn form(message: &str, schema: &Value) -> Inquiry {
    Inquiry::elicit(json!({"message": message, "requestedSchema": schema}))
}

/// A member of an answer, as text.
pub(super) fn at(answer: &Value, path: &str) -> String {
    match answer.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn completed(answer: &Value) -> String {
    format!("Elicitation completed: action={}, content={}", at(answer, "/action"), at(answer, "/content"))
}

fn said(answer: &Value) -> String {
    format!("LLM response: {}", at(answer, "/content/text"))
}

fn sampling(mut arguments: Arguments, context: &Context) -> Run<'_> {
    let prompt = arguments.take_text("prompt").unwrap_or_default();
    Box::pin(async move { relay(context, model(&prompt, 100), said).await })
}

fn elicitation(mut arguments: Arguments, context: &Context) -> Run<'_> {
    let message = arguments.take_text("message").unwrap_or_default();
    let fields = json!({
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    });
    Box::pin(async move {
        let words = |answer: &Value| {
            format!("User response: action={}, content={}", at(answer, "/action"), at(answer, "/content"))
        };
        relay(context, person(&message, &fields), words).await
    })
}

fn defaults(_: Arguments, context: &Context) -> Run<'_> {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }});
    Box::pin(async move { relay(context, form("Please review these values", &schema), completed).await })
}

fn choices(_: Arguments, context: &Context) -> Run<'_> {
    let titled = |noun: &str| -> Vec<Value> {
        let words = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
        words.map(|(value, word)| json!({"const": value, "title": format!("{word} {noun}")})).to_vec()
    };
    let options = json!(["option1", "option2", "option3"]);
    let schema = json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }});
    Box::pin(async move { relay(context, form("Please choose", &schema), completed).await })
}

fn needs_a_model(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move { relay(context, model("Say anything", 10), said).await })
}

fn streaming(_: Arguments, context: &Context) -> Run<'_> {
    let fields = json!({"ok": {"type": "boolean"}});
    Box::pin(async move { relay(context, person("May it go on?", &fields), completed).await })
}
