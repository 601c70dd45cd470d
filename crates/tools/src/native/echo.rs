//! `echo`: returns its text. The reference for how arguments are validated: the schema says it all, before this runs.

use std::future::ready;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};

struct Echo;

pub(super) fn make(_: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(new())
}

/// The tool, which needs nothing.
pub(super) fn new() -> Arc<dyn Tool> {
    Arc::new(Echo)
}

impl Tool for Echo {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false,
        });
        ToolSpec::new(named("echo"), "Returns the provided text argument verbatim.", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, _: &'a Context) -> Run<'a> {
        Box::pin(ready(RawOutput::from(answer(arguments.get("text")))))
    }
}

fn answer(text: Option<&Value>) -> ToolCallResult {
    match text {
        Some(Value::String(text)) => ToolCallResult::text(text.as_str()),
        // The schema refuses this before the call; a result is still better than a guess.
        _ => ToolCallResult::error("`text` must be a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back_as_it_went_in() {
        for text in ["hi", "", " \u{0}\n\"\\ ", "für 日本 \u{1F600}"] {
            let result = serde_json::to_value(answer(Some(&text.into()))).unwrap();
            assert_eq!(result, json!({"content": [{"type": "text", "text": text}], "isError": false}));
        }
    }

    #[test]
    fn anything_but_a_string_is_a_tool_error() {
        for text in [None, Some(&json!(1)), Some(&json!(null)), Some(&json!(["hi"]))] {
            assert!(answer(text).is_error, "{text:?}");
        }
    }
}
