//! Arguments that satisfy their tool's schema. Reasons name the place and the rule, never the value.

use serde_json::{Map, Value};

use crate::refusal::Refusal;
use crate::registry::Entry;

/// Arguments that were validated.
#[derive(Debug)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// The value of a property.
    pub fn get(&self, property: &str) -> Option<&Value> {
        self.0.get(property)
    }

    /// The text of a property, where it is one.
    pub fn text(&self, property: &str) -> Option<&str> {
        self.get(property)?.as_str()
    }

    /// All of them.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Takes all of them.
    pub fn into_map(self) -> Map<String, Value> {
        self.0
    }

    /// Takes a text property out.
    pub fn take_text(&mut self, property: &str) -> Option<String> {
        match self.0.remove(property)? {
            Value::String(text) => Some(text),
            other => {
                self.0.insert(property.to_owned(), other);
                None
            }
        }
    }
}

/// Validates, and only then hands out [`Arguments`].
pub(crate) fn validate(entry: &Entry, arguments: Map<String, Value>) -> Result<Arguments, Refusal> {
    let value = Value::Object(arguments);
    let mut errors = entry.validator.iter_errors(&value).map(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "arguments".to_owned() } else { format!("`{place}`") };
        format!("{place}: {}", error.masked())
    });
    let found: Vec<String> = errors.by_ref().take(3).collect();
    drop(errors);
    match value {
        Value::Object(arguments) if found.is_empty() => Ok(Arguments(arguments)),
        _ => Err(Refusal::InvalidArguments { tool: entry.spec.name.to_string(), reason: found.join("; ") }),
    }
}
