//! Words of the document as HTML: always text, never markup of its own.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::super::{list, text};

/// Text that is text wherever it stands in HTML.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

/// Text that is code.
#[derive(Clone, Copy)]
pub(super) struct Code<'a>(pub(super) &'a str);

/// A sentence in which code stands between backticks.
pub(super) struct Rich<'a>(pub(super) &'a str);

/// Paragraphs of such sentences.
pub(super) struct Prose<'a>(pub(super) &'a str);

/// What a value of that schema may be, in few words.
pub(super) struct Kind<'a>(pub(super) &'a Value);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            other => f.write_char(other),
        })
    }
}

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<code>{}</code>", Text(self.0))
    }
}

impl fmt::Display for Rich<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split('`');
        while let Some(plain) = parts.next() {
            write!(f, "{}", Text(plain))?;
            if let Some(code) = parts.next() {
                write!(f, "{}", Code(code))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut paragraphs = self.0.split("\n\n").filter(|paragraph| !paragraph.is_empty());
        paragraphs.try_for_each(|paragraph| writeln!(f, "<p>{}</p>", Rich(paragraph)))
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(schema) = self;
        if let Some(name) = text(schema, "$ref").rsplit('/').next().filter(|name| !name.is_empty()) {
            return write!(f, "<a href=\"#shape-{0}\">{0}</a>", Text(name));
        }
        if schema.get("oneOf").is_some() {
            return either(f, list(schema, "oneOf").map(Kind));
        }
        let fixed: Vec<String> =
            list(schema, "enum").chain(schema.get("const")).map(Value::to_string).collect();
        if !fixed.is_empty() {
            return either(f, fixed.iter().map(|value| Code(value)));
        }
        match schema.get("type") {
            Some(Value::String(word)) if word == "array" => {
                write!(f, "list of {}", Kind(schema.get("items").unwrap_or(&Value::Null)))?;
            }
            Some(Value::String(word)) => write!(f, "{}", Text(word))?,
            Some(Value::Array(words)) => either(f, words.iter().filter_map(Value::as_str).map(Text))?,
            _ => f.write_str("anything")?,
        }
        limits(f, schema)
    }
}

fn either<T: fmt::Display>(f: &mut fmt::Formatter<'_>, choices: impl Iterator<Item = T>) -> fmt::Result {
    choices.enumerate().try_for_each(|(place, choice)| {
        let or = if place == 0 { "" } else { " or " };
        write!(f, "{or}{choice}")
    })
}

fn limits(f: &mut fmt::Formatter<'_>, schema: &Value) -> fmt::Result {
    for (key, before) in [
        ("format", ""),
        ("minimum", "at least "),
        ("maximum", "at most "),
        ("minLength", "characters: at least "),
        ("maxLength", "characters: at most "),
        ("default", "default "),
        ("pattern", ""),
    ] {
        match schema.get(key) {
            Some(Value::String(text)) => write!(f, ", {before}{}", Code(text))?,
            Some(value) => write!(f, ", {before}{}", Text(&value.to_string()))?,
            None => {}
        }
    }
    Ok(())
}
