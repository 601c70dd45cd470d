//! A tool and a provider that ask their client for a name and then for a colour.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::inquiry::{Inquiry, Unanswered};
use covenant_gate::provider::{Completions, Prompts, Provided, Resources};
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Map, Value, json};

use crate::tools::gate;
use crate::world::{Beginning, World};

/// The capabilities of a client that can be asked all of it.
pub(crate) fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}})
}

/// Asks for both, and gives what was said and what was remembered in between.
async fn inquire(context: &Context, message: &str) -> Result<String, Unanswered> {
    let name = context.ask("name", Inquiry::elicit(json!({"message": message}))).await?;
    let colour = context.ask("colour", Inquiry::sample(json!({"messages": [], "maxTokens": 9}))).await;
    let colour = colour.map_err(|unanswered| unanswered.remembering(json!("kept")))?;
    let kept = context.remembered().cloned().unwrap_or_default();
    Ok(format!("{} {} {kept}", name["content"], colour["content"]))
}

/// Asks at once, or once the gate named by `at` is open; then it says that it has asked, and that it heard.
pub(crate) struct Curious {
    pub(crate) name: &'static str,
    pub(crate) limit: Duration,
}

impl Tool for Curious {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name.parse().unwrap(), "Asks.", json!({"type": "object"}))
    }

    fn limit(&self) -> Duration {
        self.limit
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let asking = inquire(context, arguments.text("say").unwrap_or("your name?"));
            let answered = match arguments.text("at") {
                None => asking.await,
                Some(at) => {
                    gate(&format!("{at} waits")).notify_one();
                    gate(at).notified().await;
                    let asked = async { gate(&format!("{at} asked")).notify_one() };
                    let (answered, ()) = tokio::join!(biased; asking, asked);
                    gate(&format!("{at} heard")).notify_one();
                    answered
                }
            };
            answered.map_or_else(Into::into, |text| ToolCallResult::text(text).into())
        })
    }
}

/// Asks whatever is wanted of it.
struct Riddle;

fn provided(context: &Context, result: fn(String) -> Value) -> Provided<'_> {
    Box::pin(async move {
        let text = inquire(context, "your name?").await?;
        Ok(serde_json::from_value(result(text)).unwrap())
    })
}

impl Resources for Riddle {
    fn name(&self) -> &'static str {
        "riddle"
    }
    fn list(&self) -> Vec<Value> {
        Vec::new()
    }
    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }
    fn serves(&self, uri: &str) -> bool {
        uri.starts_with("riddle:")
    }
    fn read<'a>(&'a self, _: &'a str, context: &'a Context) -> Provided<'a> {
        provided(context, |text| json!({"contents": [{"uri": "riddle:a", "text": text}]}))
    }
}

impl Prompts for Riddle {
    fn list(&self) -> Vec<Value> {
        vec![json!({"name": "riddle__ask"})]
    }
    fn get<'a>(&'a self, _: &'a str, _: &'a Map<String, Value>, context: &'a Context) -> Provided<'a> {
        provided(context, |text| json!({"messages": [], "description": text}))
    }
}

impl Completions for Riddle {
    fn complete<'a>(&'a self, _: &'a Map<String, Value>, context: &'a Context) -> Provided<'a> {
        provided(context, |text| json!({"completion": {"values": [text]}}))
    }
}

/// A world in which everything asks, and everyone may have it.
pub(crate) async fn asking_world() -> World {
    World::begin(Beginning {
        granted: vec!["tool.call.*", "tool.prompt.*", "tool.resource.riddle"],
        resources: vec![Arc::new(Riddle)],
        prompts: vec![Arc::new(Riddle)],
        completions: Some(Arc::new(Riddle)),
        ..Beginning::default()
    })
    .await
}

/// Every request that may lead to a question: its method, its parameters, and where its result says what was answered.
pub(crate) fn requests() -> [(&'static str, Value, &'static str); 3] {
    [
        ("tools/call", json!({"name": "curious"}), "/content/0/text"),
        ("prompts/get", json!({"name": "riddle__ask"}), "/description"),
        ("resources/read", json!({"uri": "riddle:a"}), "/contents/0/text"),
    ]
}
