//! The prompts of the suite, and words that complete their arguments.

use std::sync::Arc;

use covenant_gate::Context;
use covenant_gate::inquiry::Inquiry;
use covenant_gate::provider::{Completions, NotProvided, Prompts, Provided};
use serde_json::{Map, Value, json};

use crate::stage::Stage;
use crate::tools::PIXEL;

/// All of them.
pub(crate) struct Fixtures(pub(crate) Arc<Stage>);

impl Prompts for Fixtures {
    fn list(&self) -> Vec<Value> {
        let argument =
            |name: &str| json!({"name": name, "description": "Stands in the text", "required": true});
        let prompt = |name: &str, arguments: &[&str]| {
            let arguments: Vec<Value> = arguments.iter().map(|name| argument(name)).collect();
            json!({"name": name, "description": format!("The fixture {name}"), "arguments": arguments})
        };
        let mut prompts = vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ];
        prompts.extend(self.0.another_prompt().then(|| prompt("test_another_prompt", &[])));
        prompts
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        context: &'a Context,
    ) -> Provided<'a> {
        let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        Box::pin(async move {
            Ok(match name {
                "test_simple_prompt" => messages([text("This is a simple prompt for testing.")]),
                "test_prompt_with_arguments" => {
                    let (one, two) = (given("arg1"), given("arg2"));
                    messages([text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
                }
                "test_prompt_with_embedded_resource" => {
                    let resource = json!({"uri": given("resourceUri"), "mimeType": "text/plain",
                        "text": "Embedded resource content for testing."});
                    let resource = json!({"type": "resource", "resource": resource});
                    messages([resource, text("Please process the embedded resource above.")])
                }
                "test_prompt_with_image" => {
                    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
                    messages([image, text("Please analyze the image above.")])
                }
                "test_input_required_result_prompt" => {
                    let answer = context.ask("user_context", form()).await?;
                    let given =
                        answer.pointer("/content/context").and_then(Value::as_str).unwrap_or_default();
                    messages([text(&format!("Use this context: {given}"))])
                }
                "test_another_prompt" => messages([text("Here for now.")]),
                _ => return Err(NotProvided::NotFound(format!("prompt `{name}`"))),
            })
        })
    }
}

fn form() -> Inquiry {
    let schema =
        json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
    Inquiry::elicit(json!({"message": "What context should the prompt use?", "requestedSchema": schema}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn messages(contents: impl IntoIterator<Item = Value>) -> Map<String, Value> {
    let messages = contents.into_iter().map(|content| json!({"role": "user", "content": content}));
    Map::from_iter([("messages".to_owned(), messages.collect())])
}

/// Completes any argument with the words that begin as it does.
pub(crate) struct Words;

const WORDS: [&str; 4] = ["paris", "park", "test", "testing"];

impl Completions for Words {
    fn complete<'a>(&'a self, params: &'a Map<String, Value>, _: &'a Context) -> Provided<'a> {
        let begun = params.get("argument").and_then(|argument| argument.get("value")).and_then(Value::as_str);
        let begun = begun.unwrap_or_default();
        Box::pin(async move {
            let values: Vec<&str> = WORDS.into_iter().filter(|word| word.starts_with(begun)).collect();
            let completion = json!({"total": values.len(), "hasMore": false, "values": values});
            Ok(Map::from_iter([("completion".to_owned(), completion)]))
        })
    }
}
