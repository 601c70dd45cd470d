//! The tools that are part of the daemon. Adding one is a file in `native/`, its `mod`, and its line in [`NATIVE`].

use std::sync::Arc;

use covenant_gate::{Clock, Tool};
use covenant_model::tool::ToolName;

mod clock;
mod echo;

/// What native tools are made from: each takes the parts it needs and nothing else.
pub struct Parts {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// How one native tool is made.
pub type Make = fn(&Parts) -> Arc<dyn Tool>;

/// Every native tool, by name.
pub const NATIVE: &[Make] = &[clock::make, echo::make];

/// The native tools, ready for the registry.
pub fn native(clock: Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    let parts = Parts { clock };
    NATIVE.iter().map(|make| make(&parts)).collect()
}

/// A name written in this crate.
#[expect(clippy::expect_used, reason = "the names are literals, and a test makes every tool of the table")]
fn named(name: &'static str) -> ToolName {
    name.parse().expect("a native tool has a sound name")
}

#[cfg(test)]
mod tests {
    use covenant_gate::clock::HandClock;
    use covenant_model::time::Timestamp;
    use covenant_model::tool::ToolSpec;
    use serde_json::{Value, json};

    use super::*;

    fn specs() -> Vec<ToolSpec> {
        let clock = Arc::new(HandClock::at(Timestamp::from_millis(1)));
        native(clock).iter().map(|tool| tool.spec()).collect()
    }

    #[test]
    fn the_bundled_tools_are_listed_once_and_by_name() {
        let names: Vec<_> = specs().iter().map(|spec| spec.name.to_string()).collect();
        assert_eq!(names, ["clock", "echo"]);
    }

    #[test]
    fn every_tool_has_a_description_and_an_object_schema() {
        for ToolSpec { name, description, input_schema, .. } in specs() {
            assert!(description.is_some_and(|text| text.ends_with('.')), "{name}: a sentence");
            assert_eq!(input_schema["type"], "object", "{name}");
            let properties = input_schema["properties"].as_object().expect("properties");
            for required in input_schema["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(required.as_str().expect("a name")), "{name}: {required}");
            }
        }
    }

    /// PACT-17; `echo` keeps the schema its document gives, which has no description.
    #[test]
    fn every_property_has_a_type_and_a_description() {
        for ToolSpec { name, input_schema, .. } in specs() {
            for (property, schema) in input_schema["properties"].as_object().expect("properties") {
                assert!(schema["type"].is_string(), "{name}.{property}");
                assert!(schema["description"].is_string() || name.as_str() == "echo", "{name}.{property}");
            }
        }
    }

    #[test]
    fn every_tool_says_whether_it_changes_anything() {
        for ToolSpec { name, extra, .. } in specs() {
            for hint in ["readOnlyHint", "openWorldHint"] {
                assert!(extra["annotations"][hint].is_boolean(), "{name}: {hint}");
            }
        }
    }

    #[test]
    fn echo_is_described_as_documented() {
        let echo = specs().into_iter().find(|spec| spec.name.as_str() == "echo").expect("echo");
        assert_eq!(echo.description.as_deref(), Some("Returns the provided text argument verbatim."));
        let documented: Value = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false
        });
        assert_eq!(echo.input_schema, documented);
    }

    #[test]
    fn a_call_needs_the_capability_named_after_the_tool() {
        for tool in native(Arc::new(HandClock::at(Timestamp::from_millis(1)))) {
            let name = tool.spec().name;
            assert_eq!(tool.required(), [format!("tool.call.{name}")]);
            assert_eq!(tool.agent_id(), format!("tool:{name}"));
        }
    }
}
