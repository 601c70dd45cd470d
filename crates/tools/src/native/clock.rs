//! `clock`: what time the daemon thinks it is, and thereby that it lives.

use std::future::ready;
use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Clock, Context, Permit, RawOutput, Tool};
use covenant_model::time::Timestamp;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::json;

use super::{Absent, Parts, named};

struct ClockTool {
    clock: Arc<dyn Clock>,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    Ok(of(&parts.clock))
}

/// The tool of that clock.
pub(super) fn of(clock: &Arc<dyn Clock>) -> Arc<dyn Tool> {
    Arc::new(ClockTool { clock: Arc::clone(clock) })
}

impl Tool for ClockTool {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        ToolSpec::new(named("clock"), "Returns the daemon's time in milliseconds since 1970 (UTC).", schema)
            .with(
                "outputSchema",
                json!({
                    "type": "object",
                    "properties": {"epoch_ms": {"type": "integer", "minimum": 0}},
                    "required": ["epoch_ms"],
                }),
            )
            .with("annotations", json!({"readOnlyHint": true, "openWorldHint": false}))
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
        Box::pin(ready(RawOutput::from(answer(self.clock.now()))))
    }
}

fn answer(now: Timestamp) -> ToolCallResult {
    ToolCallResult::json(json!({"epoch_ms": now.millis()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_a_whole_number_of_milliseconds() {
        let result = serde_json::to_value(answer(Timestamp::from_millis(1_763_251_200_123))).unwrap();
        assert_eq!(result["structuredContent"], json!({"epoch_ms": 1_763_251_200_123_u64}));
        assert_eq!(result["content"][0]["text"], r#"{"epoch_ms":1763251200123}"#);
        assert_eq!(result["isError"], false);
    }
}
