//! `script_reload`: looks at the scripts on disk again and says how many there are. They are read anew for every run in any
//! case; nobody runs an old copy.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};
use crate::apart::apart;
use crate::script::shelf::Shelf;

struct ScriptReload(Shelf);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(Arc::new(ScriptReload(Shelf::new(&parts.settings.scripts.path))))
}

impl Tool for ScriptReload {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        ToolSpec::new(named("script_reload"), "Reload the scripts from disk", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, context: &'a Context) -> Run<'a> {
        let scripts = self.0.clone();
        Box::pin(apart(context, move |_| {
            let all = scripts.all()?;
            let count = all.iter().filter(|script| script.is_ok()).count();
            let unusable: Vec<String> =
                all.iter().filter_map(|script| script.as_ref().err().map(ToString::to_string)).collect();
            let message = format!("Reloaded {count} scripts");
            Ok::<_, String>(ToolCallResult::json(
                json!({"message": message, "count": count, "unusable": unusable}),
            ))
        }))
    }
}
