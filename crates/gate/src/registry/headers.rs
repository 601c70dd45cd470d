//! Which arguments of a tool its callers over HTTP repeat in a header: those its schema marks `x-mcp-header`.

use serde_json::{Map, Value};

/// How deep a schema is searched.
const DEPTH: usize = 8;

/// How many arguments of one tool may stand in headers.
const MOST: usize = 32;

/// An argument that stands in a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderArgument {
    /// The part of the header's name after `Mcp-Param-`, in lower case.
    pub header: String,
    path: Vec<String>,
}

impl HeaderArgument {
    /// The argument as the header must have it; `None` if it is absent or null.
    pub fn text(&self, arguments: &Map<String, Value>) -> Option<String> {
        let (first, rest) = self.path.split_first()?;
        let value = rest.iter().try_fold(arguments.get(first)?, |value, step| value.get(step))?;
        match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }
}

/// Finds them: by `properties` only, of type string, integer or boolean, each header once.
pub fn of(schema: &Value) -> Box<[HeaderArgument]> {
    let mut found = Vec::new();
    search(schema, &mut Vec::new(), &mut found);
    found.into()
}

fn search(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderArgument>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str).map(str::to_ascii_lowercase);
        let kind = property.get("type").and_then(Value::as_str);
        let sound = |header: &String| {
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            (1..=128).contains(&header.len())
                && header.bytes().all(token)
                && matches!(kind, Some("string" | "integer" | "boolean"))
                && found.len() < MOST
                && !found.iter().any(|other| other.header == *header)
        };
        if let Some(header) = header.filter(sound) {
            found.push(HeaderArgument { header, path: path.clone() });
        } else if path.len() < DEPTH {
            search(property, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_arguments_are_found_where_properties_lead_and_nowhere_else() {
        let found = of(&json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
            "again": {"type": "string", "x-mcp-header": "region"},
            "list": {"type": "array", "x-mcp-header": "List"},
            "bad": {"type": "string", "x-mcp-header": "a b"},
        }, "allOf": [{"properties": {"hidden": {"type": "string", "x-mcp-header": "Hidden"}}}]}));
        let mut names: Vec<_> = found.iter().map(|found| found.header.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.contains(&"count") && names.contains(&"region"));
    }

    #[test]
    fn an_argument_is_written_as_its_header_must_be() {
        let found = of(
            &json!({"properties": {"a": {"properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}}}),
        );
        let text = |arguments: Value| found[0].text(arguments.as_object().unwrap());
        assert_eq!(text(json!({"a": {"b": 7}})), Some("7".to_owned()));
        assert_eq!(text(json!({"a": {"b": null}})), None);
        assert_eq!(text(json!({"a": 1})), None);
    }
}
