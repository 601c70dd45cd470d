//! `format(fmt, …)`, in the manner of C and Go: `%s %d %f %v %q %x %%`, with flags, width and precision.

use super::{conversions, plain};
use crate::eval::Machine;
use crate::fault::{Fault, Outcome};
use crate::value::{Text, Value, Writer, show};

/// The widest that a value is made by a width or a precision.
const MAX_WIDTH: usize = 10_000;

/// What stands between `%` and the letter.
#[derive(Default)]
struct Shape {
    left: bool,
    plus: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

pub(crate) fn printf(machine: &mut Machine<'_>, pattern: &Text, values: &[Value]) -> Outcome<Value> {
    let mut values = values.iter();
    let mut writer = machine.meter.writer()?;
    let mut rest: &str = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        machine.meter.step()?;
        writer.push(before)?;
        let (shape, letter, after) = shape(after)?;
        if letter == '%' {
            writer.push("%")?;
        } else {
            let value = values
                .next()
                .ok_or_else(|| Fault::new("format() has too few values for its format string"))?;
            one(machine, &mut writer, &shape, letter, value)?;
        }
        rest = after;
    }
    writer.push(rest)?;
    if values.next().is_some() {
        return Err(Fault::new("format() has more values than its format string uses"));
    }
    Ok(writer.finish())
}

fn shape(text: &str) -> Outcome<(Shape, char, &str)> {
    let mut shape = Shape::default();
    let mut rest = text;
    loop {
        let mut characters = rest.chars();
        match characters.next() {
            Some('-') => shape.left = true,
            Some('+') => shape.plus = true,
            Some('0') => shape.zeros = true,
            Some(' ' | '#') => {}
            _ => break,
        }
        rest = characters.as_str();
    }
    (shape.width, rest) = digits(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = digits(after)?;
        shape.precision = Some(precision);
        rest = after;
    }
    let mut characters = rest.chars();
    let Some(letter) = characters.next() else {
        return Err(Fault::new("the format string ends with a `%`; write `%%` for one"));
    };
    Ok((shape, letter, characters.as_str()))
}

fn digits(text: &str) -> Outcome<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let number = if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    match number.filter(|number| *number <= MAX_WIDTH) {
        Some(number) => Ok((number, rest)),
        None => Err(Fault::new(format!("a width or a precision in a format string is at most {MAX_WIDTH}"))),
    }
}

/// One value, filled up to its width.
fn one(
    machine: &Machine<'_>,
    writer: &mut Writer,
    shape: &Shape,
    letter: char,
    value: &Value,
) -> Outcome<()> {
    let mut made = machine.meter.writer()?;
    match (letter, shape.precision) {
        ('v', _) => plain(machine, &mut made, value)?,
        ('s', Some(most)) => {
            plain(machine, &mut made, value)?;
            let mut cut = machine.meter.writer()?;
            for c in made.as_str().chars().take(most) {
                cut.push_char(c)?;
            }
            made = cut;
        }
        ('q', _) => {
            let mut inner = machine.meter.writer()?;
            plain(machine, &mut inner, value)?;
            show::quoted(&mut made, inner.as_str())?;
        }
        ('t', _) => match value {
            Value::Bool(value) => made.push(if *value { "true" } else { "false" })?,
            _ => return Err(Fault::new(format!("`%t` wants a bool, not a {}", value.kind()))),
        },
        ('f' | 'F' | 'e' | 'E', Some(digits)) => {
            let number = conversions::number(value, letter)?;
            let text = match letter.to_ascii_lowercase() {
                'f' => format!("{number:.digits$}"),
                _ => crate::number::exponent_of_two_digits(&format!("{number:.digits$e}")),
            };
            made.push(&text)?;
        }
        _ => conversions::convert(machine, &mut made, letter, value)?,
    }
    pad(
        writer,
        shape,
        made.as_str(),
        matches!(letter, 'd' | 'i' | 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'x' | 'X' | 'o'),
    )
}

fn pad(writer: &mut Writer, shape: &Shape, text: &str, numeric: bool) -> Outcome<()> {
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) if numeric => ("-", body),
        _ if numeric && shape.plus => ("+", text),
        _ => ("", text),
    };
    let missing = shape.width.saturating_sub(sign.len() + body.chars().count());
    let zeros = shape.zeros && numeric && !shape.left;
    if !shape.left && !zeros {
        writer.repeat(" ", missing)?;
    }
    writer.push(sign)?;
    if zeros {
        writer.repeat("0", missing)?;
    }
    writer.push(body)?;
    if shape.left {
        writer.repeat(" ", missing)?;
    }
    Ok(())
}
