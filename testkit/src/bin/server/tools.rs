//! Which tools there are, as lists show them.

use serde_json::{Value, json};

use crate::manner::Manner;

/// The tools of that server, in a fixed order, with more of these names.
pub(crate) fn all(manner: &Manner, more: &[String]) -> Vec<Value> {
    let mut tools = plain();
    tools.extend(curious());
    tools.extend(harmful());
    let only = manner.list("offers");
    tools.retain(|tool| {
        only.is_empty() || tool.get("name").and_then(Value::as_str).is_some_and(|name| only.contains(&name))
    });
    tools.extend(manner.list("plus").into_iter().map(whose));
    tools.extend(more.iter().map(|name| whose(name)));
    if let Some(reference) = manner.value("ref") {
        tools.extend(schemas(reference));
    }
    if manner.is("malformed") {
        tools.extend(malformed());
    }
    tools
}

fn tool(name: &str, description: &str, properties: &Value) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}})
}

fn with(mut tool: Value, more: &Value) -> Value {
    if let (Some(tool), Some(more)) = (tool.as_object_mut(), more.as_object()) {
        tool.extend(more.clone());
    }
    tool
}

/// A tool that says whose it is.
fn whose(name: &str) -> Value {
    tool(name, "Says which server it belongs to.", &json!({}))
}

/// Tools as everybody has them.
fn plain() -> Vec<Value> {
    let text = json!({"text": {"type": "string"}});
    let numbers = json!({"a": {"type": "number"}, "b": {"type": "number"}});
    let name = json!({"name": {"type": "string"}});
    vec![
        with(tool("echo", "Says what it is told.", &text), &json!({"annotations": {"readOnlyHint": true}})),
        with(
            tool("add", "Adds two numbers.", &numbers),
            &json!({"outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}}),
        ),
        tool(
            "slow",
            "Takes its time, and says how far it is.",
            &json!({"steps": {"type": "integer"}, "ms": {"type": "integer"}}),
        ),
        tool("env", "A variable of its environment.", &name),
        tool("self", "Which process it is, where it runs and what it was told.", &json!({})),
        tool("more", "Adds a tool of that name, or takes it away.", &name),
        tool("whose", "Says which server it belongs to.", &json!({})),
    ]
}

/// Tools with everything that may stand in a definition or a result.
fn curious() -> Vec<Value> {
    let region = json!({"region": {"type": "string", "x-mcp-header": "Region"}, "text": {"type": "string"}});
    vec![
        json!({"name": "bare", "inputSchema": {"type": "object"}}),
        with(
            tool(
                "rich",
                "Has all that a tool may have.",
                &json!({"q": {"type": "string", "description": "Anything."}}),
            ),
            &json!({
                "title": "A rich tool",
                "annotations": {"title": "Rich", "readOnlyHint": true, "openWorldHint": false},
                "icons": [{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png", "sizes": ["48x48"]}],
                "outputSchema": {"type": "object", "properties": {"answer": {"type": "integer"}}},
                "_meta": {"example.org/kept": {"as": ["it", "is"]}},
                "execution": {"taskSupport": "forbidden"},
            }),
        ),
        tool("blocks", "A result with every kind of content.", &json!({})),
        tool("region", "Says a region that stands in a header too.", &region),
        tool("fail", "Fails, as tools do.", &json!({})),
        tool("refuse", "Answers with an error of the protocol.", &json!({})),
        tool("ask", "Asks its client two things, and says what it was told.", &json!({})),
    ]
}

/// Tools that end the server, or never end themselves.
fn harmful() -> Vec<Value> {
    vec![
        tool("crash", "Ends the server.", &json!({})),
        tool("hang", "Never answers.", &json!({})),
        tool("read", "What a file holds.", &json!({"path": {"type": "string"}})),
        tool("huge", "Answers with very much.", &json!({"megabytes": {"type": "integer"}})),
        tool("leak", "Says what its environment holds, everywhere.", &json!({"name": {"type": "string"}})),
        with(
            tool("flaky_read", "Ends the server the first time.", &json!({})),
            &json!({"annotations": {"readOnlyHint": true}}),
        ),
        tool("flaky_write", "Ends the server the first time.", &json!({})),
    ]
}

/// Tools whose schemas point elsewhere, or at themselves.
fn schemas(reference: &str) -> Vec<Value> {
    let mut remote = whose("remote");
    let mut recursive = whose("recursive");
    if let Some(schema) = remote.get_mut("inputSchema") {
        *schema = json!({"type": "object", "properties": {"x": {"$ref": reference}}});
    }
    if let Some(schema) = recursive.get_mut("inputSchema") {
        *schema = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/tree"}},
            "$defs": {"tree": {
                "type": "object",
                "properties": {"left": {"$ref": "#/$defs/tree"}, "value": {"type": "integer"}},
                "additionalProperties": false,
            }},
        });
    }
    let mut endless = whose("endless");
    if let Some(schema) = endless.get_mut("inputSchema") {
        *schema = json!({"$ref": "#"});
    }
    vec![remote, recursive, endless]
}

/// What stands in lists and is no tool.
fn malformed() -> Vec<Value> {
    vec![
        json!("a word"),
        json!({"description": "It has no name."}),
        json!({"name": 5, "inputSchema": {"type": "object"}}),
        json!({"name": "", "inputSchema": {"type": "object"}}),
        json!({"name": "schema_is_text", "inputSchema": "object"}),
        json!({"name": "schema_is_wrong", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}),
        json!({"name": "no_schema"}),
    ]
}
