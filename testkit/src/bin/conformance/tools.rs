//! The tools of the suite. Each is a name, a schema, and what it does; the gate treats them as any other.

mod asking;
mod content;
mod rounds;
mod telling;

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolName, ToolSpec};
use serde_json::{Value, json};

use crate::stage::Stage;

pub(crate) use content::PIXEL;

/// A tool the suite calls by its name.
pub(crate) struct Fixture {
    name: &'static str,
    description: &'static str,
    schema: Value,
    act: Act,
}

enum Act {
    /// Always the same.
    Answers(ToolCallResult),
    /// Something it does with its arguments and its caller.
    Does(for<'a> fn(Arguments, &'a Context) -> Run<'a>),
    /// Something it does to the stage.
    Changes(Arc<Stage>, fn(&Arc<Stage>) -> Result<(), String>),
}

impl Fixture {
    fn new(name: &'static str, description: &'static str, act: Act) -> Self {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        Self { name, description, schema, act }
    }

    fn answers(name: &'static str, description: &'static str, result: ToolCallResult) -> Self {
        Self::new(name, description, Act::Answers(result))
    }

    fn does(
        name: &'static str,
        description: &'static str,
        act: for<'a> fn(Arguments, &'a Context) -> Run<'a>,
    ) -> Self {
        Self::new(name, description, Act::Does(act))
    }

    fn taking(mut self, schema: Value) -> Self {
        self.schema = schema;
        self
    }
}

impl Tool for Fixture {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(named(self.name), self.description, self.schema.clone())
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        match &self.act {
            Act::Answers(result) => {
                let result = result.clone();
                Box::pin(async move { result.into() })
            }
            Act::Does(act) => act(arguments, context),
            Act::Changes(stage, change) => Box::pin(async move {
                match change(stage) {
                    Ok(()) => ToolCallResult::text("Changed.").into(),
                    Err(reason) => ToolCallResult::error(reason).into(),
                }
            }),
        }
    }
}

#[expect(clippy::expect_used, reason = "the names are literals, and a test makes every tool")]
fn named(name: &'static str) -> ToolName {
    name.parse().expect("a fixture has a sound name")
}

/// Every tool that is there now.
pub(crate) fn all(stage: &Arc<Stage>) -> Vec<Arc<dyn Tool>> {
    let changes = |change: fn(&Arc<Stage>) -> Result<(), String>| Act::Changes(Arc::clone(stage), change);
    let mut fixtures = vec![
        Fixture::new("test_trigger_tool_change", "Changes the list of tools.", changes(Stage::change_tools)),
        Fixture::new(
            "test_trigger_prompt_change",
            "Changes the list of prompts.",
            changes(|stage| stage.change_prompts()),
        ),
        Fixture::new(
            "test_trigger_resource_update",
            "Updates the watched resource.",
            changes(|stage| stage.change_resource()),
        ),
    ];
    if stage.another_tool() {
        let result = ToolCallResult::text("Here for now.");
        fixtures.push(Fixture::answers("test_another_tool", "Comes and goes.", result));
    }
    fixtures.extend(content::tools());
    fixtures.extend(telling::tools());
    fixtures.extend(asking::tools());
    fixtures.extend(rounds::tools());
    fixtures.into_iter().map(|fixture| Arc::new(fixture) as Arc<dyn Tool>).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixture_can_be_registered() {
        let tools = all(&Arc::new(Stage::default()));
        let mut registry = covenant_gate::ToolRegistry::default();
        for tool in &tools {
            registry.register(Arc::clone(tool)).unwrap();
        }
        assert_eq!(registry.len(), tools.len());
    }
}
