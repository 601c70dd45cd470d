//! The arguments of a tool that does several things, as people read them: what each thing wants, and what each argument
//! is. A schema that says more than these tables can is not put into them.

use serde_json::{Map, Value};

use super::member;
use crate::exit::Failure;
use crate::print::{self, Table};

/// The arguments that say which thing is wanted.
const CHOOSERS: [&str; 2] = ["operation", "kind"];

/// What a schema may say for the tables to hold all of it.
const KEYS: [&str; 9] = [
    "$schema",
    "additionalProperties",
    "description",
    "else",
    "if",
    "properties",
    "required",
    "then",
    "type",
];

/// The things a tool does.
#[derive(Debug)]
pub(super) struct Operations<'s> {
    /// The argument that says which is wanted.
    chooser: &'s str,
    /// Each of them, with the arguments it requires.
    each: Vec<(&'s str, Vec<&'s str>)>,
    properties: &'s Map<String, Value>,
}

impl<'s> Operations<'s> {
    /// Reads them from a schema, if they are all that it speaks of.
    pub(super) fn of(schema: &'s Value) -> Option<Self> {
        if !schema.as_object()?.keys().all(|key| KEYS.contains(&key.as_str())) {
            return None;
        }
        let properties = schema.get("properties")?.as_object()?;
        let plain = |property: &Value| !["", "object"].contains(&member(property, "type"));
        if !properties.values().all(plain) {
            return None;
        }
        let chosen = |chooser: &'s str| Some((chooser, properties.get(chooser)?.get("enum")?.as_array()?));
        let (chooser, words) = CHOOSERS.into_iter().find_map(chosen)?;
        let always: Vec<&str> =
            words_of(schema.get("required"))?.into_iter().filter(|name| *name != chooser).collect();
        let conditions = conditions(schema, chooser)?;
        let mut each = Vec::with_capacity(words.len());
        for word in words {
            let word = word.as_str()?;
            let condition = conditions.iter().find(|(of, _)| *of == word).map(|(_, names)| names.iter());
            each.push((word, always.iter().chain(condition.into_iter().flatten()).copied().collect()));
        }
        Some(Self { chooser, each, properties })
    }

    /// Prints them, and then what each argument is.
    pub(super) fn show(&self) -> Result<(), Failure> {
        let mut table = match self.chooser {
            "kind" => Table::new(&["KIND", "REQUIRES"]),
            _ => Table::new(&["OPERATION", "REQUIRES"]),
        };
        for (word, names) in &self.each {
            table.row([(*word).into(), names.join(", ").into()]);
        }
        table.print()?;
        print::line("")?;
        let mut table = Table::new(&["ARGUMENT", "TAKES", "ABOUT"]);
        for (name, property) in self.properties.iter().filter(|(name, _)| *name != self.chooser) {
            table.row([name.into(), takes(property).into(), member(property, "description").into()]);
        }
        table.print()
    }

    /// What the argument that chooses says of itself.
    pub(super) fn about(&self) -> &'s str {
        self.properties.get(self.chooser).map(|chooser| member(chooser, "description")).unwrap_or_default()
    }
}

/// The texts of a list; none where there is no list, and nothing where it holds something else.
fn words_of(list: Option<&Value>) -> Option<Vec<&str>> {
    let Some(list) = list else { return Some(Vec::new()) };
    list.as_array()?.iter().map(Value::as_str).collect()
}

/// What a chain of `if`, `then` and `else` requires for each word, if it requires arguments and says nothing else.
fn conditions<'s>(mut schema: &'s Value, chooser: &str) -> Option<Vec<(&'s str, Vec<&'s str>)>> {
    let mut found = Vec::new();
    while let Some(condition) = schema.get("if") {
        let asked = condition.get("properties")?.as_object().filter(|asked| asked.len() == 1)?;
        let word = asked.get(chooser)?.get("const")?.as_str()?;
        let then = schema.get("then")?.as_object()?;
        if then.keys().any(|key| key != "required") {
            return None;
        }
        found.push((word, words_of(then.get("required"))?));
        let Some(other) = schema.get("else") else { break };
        if other.as_object()?.keys().any(|key| !["if", "then", "else"].contains(&key.as_str())) {
            return None;
        }
        schema = other;
    }
    Some(found)
}

/// What an argument takes, in words.
fn takes(property: &Value) -> String {
    let kind = member(property, "type");
    if let Some(words) = property.get("enum").and_then(|words| words_of(Some(words))) {
        return words.join(" | ");
    }
    if let Some(pattern) = property.get("pattern").and_then(Value::as_str) {
        return format!("{kind} {pattern}");
    }
    let members = property.pointer("/items/properties").and_then(Value::as_object);
    let of = members.map(|members| {
        let names: Vec<&str> = members.keys().map(String::as_str).collect();
        format!("{kind} of {{{}}}", names.join(", "))
    });
    let kind_of = of.as_deref().unwrap_or(kind);
    let bounds = |least: &str, most: &str, of: &str| match (property.get(least), property.get(most)) {
        (Some(least), Some(most)) => format!("{kind_of}, {least} to {most}{of}"),
        (None, Some(most)) => format!("{kind_of}, at most {most}{of}"),
        (Some(least), None) => format!("{kind_of}, at least {least}{of}"),
        (None, None) => kind_of.to_owned(),
    };
    match kind {
        "string" => bounds("minLength", "maxLength", " characters"),
        "array" => bounds("minItems", "maxItems", " items"),
        _ => bounds("minimum", "maximum", ""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        let when =
            |word: &str| json!({"properties": {"operation": {"const": word}}, "required": ["operation"]});
        json!({
            "type": "object",
            "properties": {
                "operation": {"type": "string", "enum": ["check", "start", "list"], "description": "What."},
                "title": {"type": "string", "minLength": 1, "maxLength": 300},
            },
            "required": ["operation"],
            "additionalProperties": false,
            "if": when("check"),
            "then": {"required": ["title"]},
            "else": {"if": when("start"), "then": {"required": ["title", "id"]}},
        })
    }

    #[test]
    fn each_operation_has_the_arguments_it_requires() {
        let schema = schema();
        let read = Operations::of(&schema).unwrap();
        assert_eq!((read.chooser, read.about()), ("operation", "What."));
        let each = [("check", vec!["title"]), ("start", vec!["title", "id"]), ("list", vec![])];
        assert_eq!(read.each, each);
        let kinds =
            json!({"properties": {"kind": {"type": "string", "enum": ["a"]}}, "required": ["kind", "text"]});
        assert_eq!(Operations::of(&kinds).unwrap().each, [("a", vec!["text"])]);
    }

    #[test]
    fn a_schema_that_says_more_is_not_put_into_tables() {
        for (place, value) in [
            ("/anyOf", json!([])),
            ("/properties/operation", json!({"type": "string"})),
            ("/properties/operation/enum", json!([1, 2])),
            ("/properties/title", json!({"type": "object"})),
            ("/properties/title", json!({"$ref": "#"})),
            ("/then/properties", json!({})),
            ("/then", json!(true)),
            ("/if", json!({"required": ["title"]})),
            ("/else/properties", json!({})),
            ("/required", json!("operation")),
        ] {
            let mut schema = schema();
            let (parent, name) = place.rsplit_once('/').unwrap();
            schema.pointer_mut(parent).unwrap()[name] = value;
            assert!(Operations::of(&schema).is_none(), "{place}");
        }
        assert!(Operations::of(&json!({"properties": {"text": {"type": "string"}}})).is_none());
        assert!(Operations::of(&json!(true)).is_none());
    }

    #[test]
    fn what_an_argument_takes_is_said_with_its_bounds() {
        for (property, said) in [
            (json!({"type": "string", "minLength": 1, "maxLength": 9}), "string, 1 to 9 characters"),
            (json!({"type": "string", "maxLength": 9}), "string, at most 9 characters"),
            (json!({"type": "string", "enum": ["a", "b"]}), "a | b"),
            (json!({"type": "string", "pattern": "^x$"}), "string ^x$"),
            (json!({"type": "integer", "minimum": 1}), "integer, at least 1"),
            (json!({"type": "array", "maxItems": 5}), "array, at most 5 items"),
            (
                json!({"type": "array", "minItems": 1, "maxItems": 5, "items": {"properties": {"a": {}, "b": {}}}}),
                "array of {a, b}, 1 to 5 items",
            ),
            (json!({"type": "boolean"}), "boolean"),
        ] {
            assert_eq!(takes(&property), said);
        }
    }
}
