//! Upper and lower case, and what a string consists of.

use super::string_methods::this;
use crate::eval::{Arguments, Machine};
use crate::fault::Outcome;
use crate::value::Value;

/// Each character made anew; whether the one before was a letter is known.
fn mapped(machine: &Machine<'_>, receiver: &Value, upper: impl Fn(bool, usize) -> bool) -> Outcome<Value> {
    let text = this(receiver)?;
    machine.meter.items(text.len() / 8)?;
    let mut writer = machine.meter.writer()?;
    let mut in_word = false;
    for (at, c) in text.chars().enumerate() {
        if upper(in_word, at) {
            for c in c.to_uppercase() {
                writer.push_char(c)?;
            }
        } else {
            for c in c.to_lowercase() {
                writer.push_char(c)?;
            }
        }
        in_word = c.is_alphabetic();
    }
    Ok(writer.finish())
}

pub(super) fn capitalize(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
) -> Outcome<Value> {
    arguments.none("capitalize")?;
    mapped(machine, receiver, |_, at| at == 0)
}

pub(super) fn lower(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("lower")?;
    mapped(machine, receiver, |_, _| false)
}

pub(super) fn upper(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("upper")?;
    mapped(machine, receiver, |_, _| true)
}

pub(super) fn title(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("title")?;
    mapped(machine, receiver, |in_word, _| !in_word)
}

/// Whether there is a character, and all are of that kind.
fn all(
    machine: &Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
    wanted: fn(char) -> bool,
) -> Outcome<Value> {
    arguments.none("this method")?;
    let text = this(receiver)?;
    machine.meter.copies(text.len().saturating_mul(8))?;
    Ok(Value::Bool(!text.is_empty() && text.chars().all(wanted)))
}

pub(super) fn isalnum(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    all(machine, receiver, arguments, char::is_alphanumeric)
}

pub(super) fn isalpha(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    all(machine, receiver, arguments, char::is_alphabetic)
}

pub(super) fn isdigit(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    all(machine, receiver, arguments, char::is_numeric)
}

pub(super) fn isspace(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    all(machine, receiver, arguments, char::is_whitespace)
}

/// Whether there is a letter with a case, and none has the other.
fn cased(
    machine: &Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
    wanted: fn(char) -> bool,
    other: fn(char) -> bool,
) -> Outcome<Value> {
    arguments.none("this method")?;
    let text = this(receiver)?;
    machine.meter.copies(text.len().saturating_mul(8))?;
    Ok(Value::Bool(text.chars().any(wanted) && !text.chars().any(other)))
}

pub(super) fn islower(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    cased(machine, receiver, arguments, char::is_lowercase, char::is_uppercase)
}

pub(super) fn isupper(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    cased(machine, receiver, arguments, char::is_uppercase, char::is_lowercase)
}

pub(super) fn istitle(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("istitle")?;
    let text = this(receiver)?;
    machine.meter.copies(text.len().saturating_mul(8))?;
    let (mut in_word, mut found) = (false, false);
    for c in text.chars() {
        let fits = if c.is_uppercase() { !in_word } else { !c.is_lowercase() || in_word };
        if !fits {
            return Ok(Value::Bool(false));
        }
        in_word = c.is_uppercase() || c.is_lowercase();
        found |= in_word;
    }
    Ok(Value::Bool(found))
}
