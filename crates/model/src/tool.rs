//! Tools as the published MCP shapes have them: names, specs, content blocks, results.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// The most characters of an exposed tool name: with a host's `mcp__covenant__` before it, it still fits in 64.
pub const NAME_LIMIT: usize = 47;

/// The name a tool is called by: `[A-Za-z0-9_-]`, at most [`NAME_LIMIT`] characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(Arc<str>);

/// A text no tool can be called by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tool name: use at most {NAME_LIMIT} letters, digits, `_` and `-`")]
pub struct BadToolName(String);

impl ToolName {
    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For a text that was made to be one.
    pub(crate) fn of_plain(text: &str) -> Self {
        debug_assert!(text.parse::<Self>().is_ok(), "{text} is no tool name");
        Self(text.into())
    }
}

impl FromStr for ToolName {
    type Err = BadToolName;
    fn from_str(text: &str) -> Result<Self, BadToolName> {
        let sound = (1..=NAME_LIMIT).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if sound { Ok(Self(text.into())) } else { Err(BadToolName(text.chars().take(64).collect())) }
    }
}

impl TryFrom<String> for ToolName {
    type Error = BadToolName;
    fn try_from(text: String) -> Result<Self, BadToolName> {
        text.parse()
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a catalogue says of a tool: `name`, `description`, `inputSchema`, and whatever else the protocol or a
/// server adds (`title`, `annotations`, `outputSchema`, `icons`, `_meta`, …), kept as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// What it is called by.
    pub name: ToolName,
    /// What it does, for models and people. A server may leave it out.
    pub description: Option<String>,
    /// The JSON Schema its arguments must satisfy.
    pub input_schema: Value,
    /// Every further member of the published shape, in order.
    pub extra: Map<String, Value>,
}

impl ToolSpec {
    /// A spec of the three members every tool has.
    pub fn new(name: ToolName, description: &str, input_schema: Value) -> Self {
        Self { name, description: Some(description.to_owned()), input_schema, extra: Map::new() }
    }

    /// Adds a further member of the published shape.
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.extra.insert(member.to_owned(), value);
        self
    }
}

impl Serialize for ToolSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("inputSchema", &self.input_schema)?;
        for (member, value) in &self.extra {
            map.serialize_entry(member, value)?;
        }
        map.end()
    }
}

/// One block of a result, in a shape the protocol publishes.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value. On the wire it is `structuredContent` and its text: the protocol has no JSON block.
    Json {
        /// The value.
        value: Value,
    },
    /// What programs read beside the text: `structuredContent` alone, where the text says the same to people.
    Structured {
        /// The value.
        value: Value,
    },
    /// Any other published block (image, audio, resource, link), as the protocol writes it.
    Block(Value),
}

/// What a call gives back: blocks, and whether the tool itself failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallResult {
    /// The blocks, in order.
    pub content: Vec<Content>,
    /// True where the tool ran and failed.
    pub is_error: bool,
    /// What the result says beside its blocks.
    pub meta: Map<String, Value>,
}

impl ToolCallResult {
    /// A successful result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], ..Self::default() }
    }

    /// A successful result of one JSON value.
    pub fn json(value: Value) -> Self {
        Self { content: vec![Content::Json { value }], ..Self::default() }
    }

    /// The same result, with that value for programs.
    pub fn with_structured(mut self, value: Value) -> Self {
        self.content.push(Content::Structured { value });
        self
    }

    /// A failure of an external server: a result, not an error of the protocol. The text begins `MCP error: `.
    pub fn external_error(reason: impl fmt::Display) -> Self {
        let text = format!("MCP error: {reason}");
        Self { content: vec![Content::Text { text }], is_error: true, ..Self::default() }
    }

    /// A failure of the tool: a result, not an error of the protocol. The text begins `Error: `.
    pub fn error(reason: impl fmt::Display) -> Self {
        let text = format!("Error: {reason}");
        Self { content: vec![Content::Text { text }], is_error: true, ..Self::default() }
    }
}

impl Serialize for ToolCallResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let structured = self.content.iter().find_map(|content| match content {
            Content::Json { value } | Content::Structured { value } => Some(value),
            Content::Text { .. } | Content::Block(_) => None,
        });
        let is_block = |content: &&Content| !matches!(content, Content::Structured { .. });
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("content", &self.content.iter().filter(is_block).collect::<Vec<_>>())?;
        if let Some(value) = structured {
            map.serialize_entry("structuredContent", value)?;
        }
        map.serialize_entry("isError", &self.is_error)?;
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        map.end()
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text_block = |serializer: S, text: &str| {
            let mut map = serializer.serialize_map(Some(2))?;
            map.serialize_entry("type", "text")?;
            map.serialize_entry("text", text)?;
            map.end()
        };
        match self {
            Self::Text { text } => text_block(serializer, text),
            Self::Json { value } | Self::Structured { value } => text_block(serializer, &value.to_string()),
            Self::Block(block) => block.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_spec_has_the_published_members_in_their_order() {
        let spec = ToolSpec::new("echo".parse().unwrap(), "Says it.", json!({"type": "object"}))
            .with("annotations", json!({"readOnlyHint": true}));
        assert_eq!(
            serde_json::to_string(&spec).unwrap(),
            r#"{"name":"echo","description":"Says it.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#
        );
    }

    #[test]
    fn a_json_value_is_structured_content_and_its_text() {
        let result = ToolCallResult::json(json!({"epoch_ms": 1}));
        assert_eq!(
            serde_json::to_string(&result).unwrap(),
            r#"{"content":[{"type":"text","text":"{\"epoch_ms\":1}"}],"structuredContent":{"epoch_ms":1},"isError":false}"#
        );
    }

    #[test]
    fn a_text_can_have_a_value_beside_it() {
        let result = ToolCallResult::text("one").with_structured(json!({"count": 1}));
        assert_eq!(
            serde_json::to_string(&result).unwrap(),
            r#"{"content":[{"type":"text","text":"one"}],"structuredContent":{"count":1},"isError":false}"#
        );
    }

    #[test]
    fn names_fit_the_strictest_host() {
        assert!("a".repeat(47).parse::<ToolName>().is_ok());
        for text in ["", "a.b", "a b", "ä", &"a".repeat(48)] {
            assert!(text.parse::<ToolName>().is_err(), "{text}");
        }
    }
}
