//! Tools that answer at once: one for each kind of content, and those whose schema is the point.

use covenant_gate::Context;
use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_model::tool::{Content, ToolCallResult};
use serde_json::{Value, json};

use super::Fixture;

/// One red pixel, as PNG.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// One silent sample, as WAV.
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

pub(super) fn tools() -> Vec<Fixture> {
    let text = ToolCallResult::text("This is a simple text response for testing.");
    let failure = ToolCallResult::error("This tool intentionally returns an error for testing");
    let image = || json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let embedded = json!({"type": "resource", "resource": {
        "uri": "test://embedded-resource", "mimeType": "text/plain",
        "text": "This is an embedded resource content."}});
    let mixed = json!({"type": "resource", "resource": {
        "uri": "test://mixed-content-resource", "mimeType": "application/json",
        "text": r#"{"test":"data","value":123}"#}});
    let several = [json!({"type": "text", "text": "Multiple content types test:"}), image(), mixed];
    let sound = json!({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"});
    vec![
        Fixture::answers("test_simple_text", "Answers with text.", text),
        Fixture::answers("test_image_content", "Answers with an image.", blocks([image()])),
        Fixture::answers("test_audio_content", "Answers with a sound.", blocks([sound])),
        Fixture::answers("test_embedded_resource", "Answers with a resource.", blocks([embedded])),
        Fixture::answers(
            "test_multiple_content_types",
            "Answers with several kinds of content.",
            blocks(several),
        ),
        Fixture::answers("test_error_handling", "Always fails.", failure),
        Fixture::does("json_schema_2020_12_tool", "Has a schema with everything in it.", repeat)
            .taking(everything()),
        Fixture::does("test_x_mcp_header", "Takes arguments that stand in headers too.", repeat)
            .taking(in_headers()),
    ]
}

fn blocks(blocks: impl IntoIterator<Item = Value>) -> ToolCallResult {
    let content = blocks.into_iter().map(Content::Block).collect();
    ToolCallResult { content, ..ToolCallResult::default() }
}

fn repeat(arguments: Arguments, _: &Context) -> Run<'_> {
    Box::pin(async move { ToolCallResult::json(Value::Object(arguments.into_map())).into() })
}

/// Every keyword a listing must keep.
fn everything() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// A text, a number and a flag that callers over HTTP repeat in headers.
fn in_headers() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "priority": {"type": "integer", "x-mcp-header": "Priority"},
            "urgent": {"type": "boolean", "x-mcp-header": "Urgent"},
            "query": {"type": "string"},
        },
        "required": ["region"],
        "additionalProperties": false,
    })
}
