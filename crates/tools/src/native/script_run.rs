//! `script_run`: runs a script by its name, if a person has approved its text.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::script::{Task, Workshop};

const NAME: &str = "script_run";

struct ScriptRun(Arc<Workshop>);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let workshop = Workshop::of(parts).map_err(|reason| Absent { name: NAME, reason })?;
    Ok(Arc::new(ScriptRun(Arc::new(workshop))))
}

impl Tool for ScriptRun {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 128, "description": "Name of the script (without .star extension)"},
                "function": {"type": "string", "maxLength": 128, "description": "Optional function name to call"},
                "args": {"type": "array", "maxItems": 64, "description": "Optional arguments to pass to the function"},
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        ToolSpec::new(named(NAME), "Execute a Starlark script", schema).with(
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}),
        )
    }

    fn kind(&self) -> &'static str {
        "script"
    }

    fn limit(&self) -> Duration {
        self.0.limit()
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move { answer(&self.0, &arguments, context).await })
    }
}

async fn answer(workshop: &Arc<Workshop>, arguments: &Arguments, context: &Context) -> RawOutput {
    let name = arguments.text("name").unwrap_or_default().to_owned();
    let function = arguments.text("function").map(str::to_owned);
    let given = arguments.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    if function.is_none() && !given.is_empty() {
        return ToolCallResult::error("`args` are for a function: name it in `function`").into();
    }
    let shelf = workshop.shelf().clone();
    let read = tokio::task::spawn_blocking(move || shelf.read(&name)).await;
    match read {
        Ok(Ok(script)) => workshop.attempt(&script, Task { function, arguments: given }, context).await,
        Ok(Err(missing)) => ToolCallResult::error(missing).into(),
        Err(_) => ToolCallResult::error("the daemon is stopping").into(),
    }
}
