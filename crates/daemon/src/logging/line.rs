//! How one event becomes one line: values redacted first, then escaped, then the whole redacted once more.

use std::fmt::{self, Write as _};

use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};
use tracing::Event;
use tracing::field::{Field, Visit};

/// `TIME LEVEL target: message key=value …`
pub(super) fn text(line: &mut String, event: &Event<'_>, now: Timestamp, redactor: &Redactor) {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    let _ = write!(line, "{now} {} {}:", metadata.level(), metadata.target());
    let start = line.len();
    if !fields.message.is_empty() {
        line.push(' ');
        escape(line, &redactor.redact(&fields.message));
    }
    for (name, value) in &fields.others {
        let _ = write!(line, " {name}=");
        match value {
            Value::String(text) => write_text(line, &redactor.redact(text)),
            other => {
                let _ = write!(line, "{other}");
            }
        }
    }
    if let std::borrow::Cow::Owned(hidden) = redactor.redact(line.get(start..).unwrap_or_default()) {
        line.truncate(start);
        line.push_str(&hidden);
    }
    line.push('\n');
}

/// `{"ts":…,"level":…,"target":…,"message":…,"fields":{…}}`
pub(super) fn json(line: &mut String, event: &Event<'_>, now: Timestamp, redactor: &Redactor) {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    let members: Map<String, Value> =
        fields.others.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut record = serde_json::json!({
        "ts": now, "level": metadata.level().as_str().to_ascii_lowercase(), "target": metadata.target(),
        "message": fields.message, "fields": members,
    });
    redactor.redact_value(&mut record);
    let _ = write!(line, "{record}");
    line.push('\n');
}

/// A value: bare where it is one word, quoted where it could pass for more than one.
fn write_text(line: &mut String, value: &str) {
    let bare = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"');
    if bare {
        return escape(line, value);
    }
    line.push('"');
    for (index, part) in value.split('"').enumerate() {
        if index > 0 {
            line.push_str("\\\"");
        }
        escape(line, part);
    }
    line.push('"');
}

/// Appends the text with every character escaped that could end the line or steer a terminal.
fn escape(line: &mut String, text: &str) {
    for c in text.chars() {
        let steers = c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        if steers {
            let _ = write!(line, "{}", c.escape_default());
        } else {
            line.push(c);
        }
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::String(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.put(field, Value::String(value.to_string()));
    }
}
