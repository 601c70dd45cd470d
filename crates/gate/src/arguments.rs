//! Arguments that satisfy their tool's schema. Reasons name the place and the rule, and never the value, but for a short
//! word where one of a few was wanted.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use crate::refusal::Refusal;
use crate::registry::{Entry, schema};

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

/// How many steps a check may take at once, and how many beside the other calls.
const INLINE: u64 = 50_000;
const MOST: u64 = 50_000_000;

/// Validates, and only then hands out [`Arguments`]. What takes long because of a schema that somebody else wrote is
/// done where no other call waits for it; what would take too long is refused.
pub(crate) async fn validate(
    entry: &Arc<Entry>,
    arguments: Map<String, Value>,
) -> Result<Arguments, Refusal> {
    let value = Value::Object(arguments);
    if !entry.foreign || schema::within(INLINE, &entry.spec.input_schema, &value) {
        return check(entry, value);
    }
    let checked = Arc::clone(entry);
    let check = move || {
        if schema::within(MOST, &checked.spec.input_schema, &value) {
            return check(&checked, value);
        }
        Err(invalid(
            &checked,
            "they are too large or too deep for what the tool's schema asks of them: send less",
        ))
    };
    match tokio::task::spawn_blocking(check).await {
        Ok(done) => done,
        Err(_) => Err(invalid(entry, "they could not be checked: try again")),
    }
}

fn check(entry: &Entry, value: Value) -> Result<Arguments, Refusal> {
    let mut errors = entry.validator.iter_errors(&value).map(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "arguments".to_owned() } else { format!("`{place}`") };
        match error.kind() {
            ValidationErrorKind::Enum { options } => {
                format!("{place}: {}", choice(error.instance(), options))
            }
            _ => format!("{place}: {}", error.masked()),
        }
    });
    let found: Vec<String> = errors.by_ref().take(3).collect();
    drop(errors);
    match value {
        Value::Object(arguments) if found.is_empty() => Ok(Arguments(arguments)),
        _ => Err(invalid(entry, &found.join("; "))),
    }
}

/// How many of the values that would do are named, and how long each of them may be.
const CHOICES: usize = 20;
const CHOICE: usize = 60;

/// The longest word that is told again: what is longer may be something else that came to the wrong place.
const WORD: usize = 24;

/// That a value is none of those that would do, and which those are.
fn choice(given: &Value, options: &Value) -> String {
    let is_word = |word: &str| {
        (1..=WORD).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let given = match given {
        Value::String(word) if is_word(word) => format!("\"{word}\""),
        _ => "value".to_owned(),
    };
    let options: Vec<String> =
        options.as_array().map(|all| all.iter().map(Value::to_string).collect()).unwrap_or_default();
    let named: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .filter(|option| option.chars().count() <= CHOICE)
        .take(CHOICES)
        .collect();
    let more = match options.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{given} is not one of {}{more}", named.join(", "))
}

fn invalid(entry: &Entry, reason: &str) -> Refusal {
    Refusal::InvalidArguments { tool: entry.spec.name.to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use covenant_model::tool::{ToolCallResult, ToolSpec};
    use serde_json::json;

    use super::*;
    use crate::capability::Permit;
    use crate::context::Context;
    use crate::registry::ToolRegistry;
    use crate::tool::{Run, Tool};

    /// A tool of a server, with a schema that the server wrote.
    struct Foreign(Value);

    impl Tool for Foreign {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("far__tool".parse().unwrap(), "Is far.", self.0.clone())
        }

        fn kind(&self) -> &'static str {
            "external"
        }

        fn run<'a>(&'a self, _: Permit, _: Arguments, _: &'a Context) -> Run<'a> {
            Box::pin(async { ToolCallResult::text("done").into() })
        }
    }

    fn entry(schema: Value) -> Arc<Entry> {
        let mut registry = ToolRegistry::default();
        registry.register(Arc::new(Foreign(schema))).unwrap();
        Arc::clone(registry.find("far__tool").unwrap())
    }

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[tokio::test]
    async fn a_long_check_of_a_servers_schema_lets_others_go_first() {
        let entry = entry(json!({"properties": {"n": {"items": {"type": "integer"}}}}));
        let long = map(&json!({"n": (0..20_000).collect::<Vec<_>>()}));
        let mut check = std::pin::pin!(validate(&entry, long));
        let first = tokio::select! {
            biased;
            _ = &mut check => "check",
            () = std::future::ready(()) => "other",
        };
        assert_eq!(first, "other");
        assert!(check.await.is_ok());
        let wrong = map(&json!({"n": vec!["x"; 20_000]}));
        assert!(validate(&entry, wrong).await.unwrap_err().to_string().contains("`/n/0`"));
    }

    #[tokio::test]
    async fn a_value_that_is_none_of_a_few_is_told_all_of_them() {
        let words: Vec<String> = (0..20).map(|number| format!("w{number}")).collect();
        let entry =
            entry(json!({"properties": {"w": {"enum": words}, "long": {"enum": ["y".repeat(80), 7]}}}));
        let told = async |arguments: Value| validate(&entry, map(&arguments)).await.unwrap_err().to_string();
        let all = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let refusal = told(json!({"w": "nope"})).await;
        assert_eq!(refusal, format!("invalid arguments for `far__tool`: `/w`: \"nope\" is not one of {all}"));
        // What may be a secret that came to the wrong place is not told again.
        for value in [json!("cv_oksYyxTm6OHQ7wkwjHzTk7Xq"), json!("a b"), json!(""), json!({"a": 1})] {
            let refusal = told(json!({"w": value})).await;
            assert!(refusal.contains("`/w`: value is not one of \"w0\", "), "{refusal}");
        }
        let refusal = told(json!({"long": "x"})).await;
        assert!(refusal.ends_with("\"x\" is not one of 7 and 1 more"), "{refusal}");
    }

    #[tokio::test]
    async fn arguments_that_would_take_too_long_to_check_are_refused() {
        let entry = entry(json!({"properties": {"a": {"$ref": "#"}}}));
        let deep = (0..150).fold(json!({}), |inner, _| json!({ "a": inner }));
        let refusal = validate(&entry, map(&deep)).await.unwrap_err().to_string();
        assert!(refusal.contains("too large or too deep"), "{refusal}");
    }
}
