//! Tools that do what tools may do: answer, fail, panic, hang, leak, report progress.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::arguments::Arguments;
use covenant_gate::context::Progress;
use covenant_gate::provider::{NotProvided, Provided, Resources};
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool, ToolRegistry};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One tool for every way a tool can behave, by its name.
struct Behaves(&'static str);

impl Tool for Behaves {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": false});
        ToolSpec::new(self.0.parse().unwrap(), "Behaves.", schema)
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(if self.0 == "slow" { 50 } else { 60_000 })
    }

    fn run<'a>(&'a self, permit: Permit, mut arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            match self.0 {
                "panics" => panic!("as told"),
                "slow" | "waits" => {
                    context.cancelled().cancelled().await;
                    ToolCallResult::text("wound down").into()
                }
                "forever" => std::future::pending().await,
                "fails" => ToolCallResult::error("as told").into(),
                "raw" => RawOutput::raw(RawValue::from_string(
                    r#"{"content":[{"type":"text","text":"s\u0033cret-one"}],"s\u0033cret-one":1,"vendor":{"x":1.50}}"#.to_owned(),
                ).unwrap()),
                "who" => ToolCallResult::text(permit.principal().as_str()).into(),
                "parent" => ToolCallResult::text(context.traceparent().unwrap_or_default()).into(),
                "progress" => {
                    context.progress(Progress { progress: 1.0, total: Some(2.0), message: Some("at s3cret-one".to_owned()) });
                    ToolCallResult::text("done").into()
                }
                _ => ToolCallResult::text(arguments.take_text("text").unwrap_or_default()).into(),
            }
        })
    }
}

pub(crate) fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    for name in ["echo", "panics", "slow", "waits", "forever", "fails", "raw", "who", "progress", "parent"] {
        registry.register(Arc::new(Behaves(name))).unwrap();
    }
    registry.register(Arc::new(crate::inquiries::Curious)).unwrap();
    registry.register(Arc::new(crate::approvals::Relay)).unwrap();
    registry
}

/// Resources with one text.
pub(crate) struct Shelf;

impl Resources for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn list(&self) -> Vec<Value> {
        vec![json!({"uri": "test://one", "name": "one"})]
    }

    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    fn serves(&self, uri: &str) -> bool {
        uri.starts_with("test://")
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a Context) -> Provided<'a> {
        Box::pin(async move {
            if uri != "test://one" {
                return Err(NotProvided::NotFound(format!("resource `{uri}`")));
            }
            let contents = json!({"contents": [{"uri": uri, "text": "s3cret-one inside"}]});
            Ok(contents.as_object().unwrap().clone())
        })
    }
}

#[test]
fn two_tools_of_one_name_and_schemas_that_reach_out_are_refused() {
    struct Reaches(Value);
    impl Tool for Reaches {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("reaches".parse().unwrap(), "", self.0.clone())
        }
        fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
            Box::pin(async { ToolCallResult::text("").into() })
        }
    }
    let mut registry = registry();
    assert!(registry.register(Arc::new(Behaves("echo"))).is_err());
    for schema in [
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}),
        json!({"type": "no such type"}),
    ] {
        assert!(registry.register(Arc::new(Reaches(schema.clone()))).is_err(), "{schema}");
    }
    assert!(
        registry
            .register(Arc::new(Reaches(json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}}))))
            .is_ok()
    );
}
