//! One value as the letter after `%` wants it.

use super::{plain, repr};
use crate::eval::Machine;
use crate::fault::{Fault, Outcome};
use crate::number::{Whole, exponent_of_two_digits, show_float, truncated};
use crate::value::{Value, Writer};

pub(super) fn convert(
    machine: &Machine<'_>,
    writer: &mut Writer,
    letter: char,
    value: &Value,
) -> Outcome<()> {
    match letter {
        's' => plain(machine, writer, value),
        'r' => repr(machine, writer, value),
        'd' | 'i' => whole(machine, writer, value, 10, false),
        'o' => whole(machine, writer, value, 8, false),
        'x' => whole(machine, writer, value, 16, false),
        'X' => whole(machine, writer, value, 16, true),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let text = float(letter, number(value, letter)?);
            writer.push(&text)
        }
        'c' => character(writer, value),
        _ => Err(Fault::new(format!("the format string has `%{letter}`, which means nothing"))),
    }
}

/// A whole number in some base; floats lose their fraction.
pub(super) fn whole(
    machine: &Machine<'_>,
    writer: &mut Writer,
    value: &Value,
    base: u32,
    upper: bool,
) -> Outcome<()> {
    let found = match value {
        Value::Float(value) => truncated(*value),
        _ => value.whole(),
    };
    let Some(found) = found else {
        return Err(Fault::new(format!("the format string wants an int, not {}", machine.brief(value))));
    };
    machine.meter.steps(found.words() * found.words() / 16)?;
    let text = match (&found, base) {
        (Whole::Small(value), 10) => value.to_string(),
        _ => found.big().to_str_radix(base),
    };
    writer.push(&if upper { text.to_uppercase() } else { text })
}

pub(super) fn number(value: &Value, letter: char) -> Outcome<f64> {
    match value {
        Value::Float(value) => Ok(*value),
        _ => match value.whole() {
            Some(whole) => whole.float(),
            None => Err(Fault::new(format!("`%{letter}` wants a number, not a {}", value.kind()))),
        },
    }
}

pub(super) fn float(letter: char, value: f64) -> String {
    if !value.is_finite() {
        return show_float(value);
    }
    let text = match letter.to_ascii_lowercase() {
        'e' => exponent_of_two_digits(&format!("{value:.6e}")),
        'f' => format!("{value:.6}"),
        _ => show_float(value),
    };
    if letter.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

fn character(writer: &mut Writer, value: &Value) -> Outcome<()> {
    match value {
        Value::Text(text) if text.length() == 1 => writer.push(text),
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => writer.push_char(c),
            None => Err(Fault::new("`%c` wants the number of a character")),
        },
        _ => Err(Fault::new("`%c` wants a character or its number")),
    }
}
