//! `script_exec`: runs a text, if a person has approved that very text. It waits for approval as any script does.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::tool::ToolSpec;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Absent, Parts, named};
use crate::script::shelf::{SENT, Script};
use crate::script::{Task, Workshop};

const NAME: &str = "script_exec";

struct ScriptExec(Workshop);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let workshop = Workshop::of(parts).map_err(|reason| Absent { name: NAME, reason })?;
    Ok(Arc::new(ScriptExec(workshop)))
}

impl Tool for ScriptExec {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "minLength": 1, "maxLength": 65_536, "description": "The Starlark code to execute"},
            },
            "required": ["code"],
            "additionalProperties": false,
        });
        ToolSpec::new(named(NAME), "Execute arbitrary Starlark code, once an administrator has approved it", schema)
            .with(
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
        let script = named_by_text(arguments.text("code").unwrap_or_default());
        Box::pin(async move { self.0.attempt(&script, Task::default(), context).await })
    }
}

/// The text under the name it is known by: `exec-` and the beginning of its hash.
fn named_by_text(code: &str) -> Script {
    let hash = Sha256::digest(code.as_bytes());
    let start = hash.iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Script { name: format!("{SENT}{start}"), text: code.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_hash() {
        assert_eq!(named_by_text("result = 1").file(), named_by_text("result = 1").file());
        assert_ne!(named_by_text("result = 1").file(), named_by_text("result = 2").file());
        let file = named_by_text("").file();
        assert_eq!(file, "exec-e3b0c44298fc.star");
    }
}
