//! Values as text: `str` and `repr`.

use super::{Value, Writer};
use crate::eval::Names;
use crate::fault::Outcome;
use crate::meter::Meter;
use crate::number::show_float;
use std::rc::Rc;

/// The most characters of a text in a message.
const SHOWN: usize = 80;

/// As `str` shows it.
pub(crate) fn plain(writer: &mut Writer, names: &Names, value: &Value) -> Outcome<()> {
    match value {
        Value::Text(text) => writer.push(text),
        _ => repr(writer, names, value),
    }
}

/// As `repr` shows it; a value within itself is shown as `...`.
pub(crate) fn repr(writer: &mut Writer, names: &Names, value: &Value) -> Outcome<()> {
    Shower { writer, names, open: Vec::new() }.value(value)
}

/// A short `repr`, for messages. What is long is counted and not begun: a part of a secret would not be known as one.
pub(crate) fn brief(meter: &Rc<Meter>, names: &Names, value: &Value) -> String {
    match value {
        Value::Text(text) => match text.chars().count() {
            0..=SHOWN => format!("{:?}", &***text),
            count => format!("a string of {count} characters"),
        },
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::None => {
            let written = meter.writer().and_then(|mut writer| {
                repr(&mut writer, names, value)?;
                Ok(writer.as_str().to_owned())
            });
            written.unwrap_or_default()
        }
        _ => format!("a {}", value.kind()),
    }
}

struct Shower<'a> {
    writer: &'a mut Writer,
    names: &'a Names,
    /// The lists and dicts that are being shown.
    open: Vec<usize>,
}

impl Shower<'_> {
    fn value(&mut self, value: &Value) -> Outcome<()> {
        self.writer.meter().step()?;
        match value {
            Value::None => self.writer.push("None"),
            Value::Bool(value) => self.writer.push(if *value { "True" } else { "False" }),
            Value::Int(value) => self.writer.push(&value.to_string()),
            Value::Big(big) => {
                let words = big.value.bits() / 64;
                self.writer.meter().steps(words * words / 16)?;
                self.writer.push(&big.value.to_string())
            }
            Value::Float(value) => self.writer.push(&show_float(*value)),
            Value::Text(text) => quoted(self.writer, text),
            Value::List(list) => self.within(Rc::as_ptr(list).addr(), ["[", "[...]", "]"], |shower| {
                let items = list.read();
                shower.items(&items)
            }),
            Value::Tuple(tuple) => {
                self.writer.meter().descend()?;
                self.writer.push("(")?;
                self.items(tuple.items())?;
                self.writer.push(if tuple.items().len() == 1 { ",)" } else { ")" })
            }
            Value::Dict(dict) => self.within(Rc::as_ptr(dict).addr(), ["{", "{...}", "}"], |shower| {
                for (at, entry) in dict.read().iter().enumerate() {
                    shower.writer.push(if at > 0 { ", " } else { "" })?;
                    shower.value(&entry.key)?;
                    shower.writer.push(": ")?;
                    shower.value(&entry.value)?;
                }
                Ok(())
            }),
            Value::Set(set) => {
                self.writer.push("set([")?;
                for (at, entry) in set.read().iter().enumerate() {
                    self.writer.push(if at > 0 { ", " } else { "" })?;
                    self.value(&entry.key)?;
                }
                self.writer.push("])")
            }
            Value::Range(range) => {
                let (start, end, step) = (range.start, range.end, range.step);
                let text = match (start, step) {
                    (0, 1) => format!("range({end})"),
                    (_, 1) => format!("range({start}, {end})"),
                    _ => format!("range({start}, {end}, {step})"),
                };
                self.writer.push(&text)
            }
            Value::Function(function) => {
                self.writer.push("<function ")?;
                self.writer.push(&function.code.name)?;
                self.writer.push(">")
            }
            Value::Builtin(builtin) => self.builtin(builtin.name),
            Value::Method(method) => self.builtin(method.method.name),
            Value::Host(number) => self.builtin(self.names.function(*number)),
            Value::Namespace(number) => {
                self.writer.push("<module ")?;
                self.writer.push(self.names.namespace(*number))?;
                self.writer.push(">")
            }
        }
    }

    fn builtin(&mut self, name: &str) -> Outcome<()> {
        self.writer.push("<built-in function ")?;
        self.writer.push(name)?;
        self.writer.push(">")
    }

    fn items(&mut self, items: &[Value]) -> Outcome<()> {
        for (at, item) in items.iter().enumerate() {
            self.writer.push(if at > 0 { ", " } else { "" })?;
            self.value(item)?;
        }
        Ok(())
    }

    /// Shows the inside of something, unless it is being shown already.
    fn within(
        &mut self,
        address: usize,
        [open, again, close]: [&str; 3],
        show: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        self.writer.meter().descend()?;
        if self.open.contains(&address) {
            return self.writer.push(again);
        }
        self.open.push(address);
        self.writer.push(open)?;
        show(self)?;
        self.open.pop();
        self.writer.push(close)
    }
}

/// A string as a literal in double quotes.
pub(crate) fn quoted(writer: &mut Writer, text: &str) -> Outcome<()> {
    writer.meter().items(text.len() / 8)?;
    writer.push("\"")?;
    for c in text.chars() {
        match c {
            '"' => writer.push("\\\"")?,
            '\\' => writer.push("\\\\")?,
            '\n' => writer.push("\\n")?,
            '\r' => writer.push("\\r")?,
            '\t' => writer.push("\\t")?,
            c if c.is_ascii_control() => writer.push(&format!("\\x{:02x}", u32::from(c)))?,
            c if c.is_control() => writer.push(&format!("\\u{:04x}", u32::from(c)))?,
            c => writer.push_char(c)?,
        }
    }
    writer.push("\"")
}
