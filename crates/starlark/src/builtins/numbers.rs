//! `abs`, `int`, `float`.

use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::number::{self, Whole};
use crate::value::Value;

pub(super) fn abs(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("abs")?;
    if let Value::Float(value) = value {
        return Ok(Value::Float(value.abs()));
    }
    match value.whole() {
        Some(whole) if whole.is_negative() => machine.meter.whole(Whole::Small(0).subtract(&whole)?),
        Some(_) => Ok(value),
        None => Err(Fault::new(format!("abs() needs a number, not a {}", value.kind()))),
    }
}

pub(super) fn float(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [value] = arguments.take("float", [""], 0)?;
    let value = value.unwrap_or(Value::Float(0.0));
    let float = match &value {
        Value::Float(value) => *value,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Int(_) | Value::Big(_) => value.whole().ok_or_else(absent)?.float()?,
        Value::Text(text) => {
            machine.meter.copies(text.len().saturating_mul(16))?;
            let read = read_float(text);
            read.ok_or_else(|| Fault::new(format!("float() cannot read {}", machine.brief(&value))))?
        }
        _ => return Err(Fault::new(format!("float() needs a number or a string, not a {}", value.kind()))),
    };
    Ok(Value::Float(float))
}

fn read_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    let named = matches!(lower.as_str(), "inf" | "infinity" | "nan");
    if !named && !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value = text.parse::<f64>().ok()?;
    (named || value.is_finite()).then_some(value)
}

pub(super) fn int(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [value, base] = arguments.take("int", ["", "base"], 0)?;
    let value = value.unwrap_or(Value::Int(0));
    if base.is_some() && !matches!(value, Value::Text(_)) {
        return Err(Fault::new("int() takes a base only with a string"));
    }
    let whole = match &value {
        Value::Int(_) | Value::Big(_) => return Ok(value),
        Value::Bool(value) => Whole::Small(i64::from(*value)),
        Value::Float(float) => number::truncated(*float)
            .ok_or_else(|| Fault::new(format!("int() cannot convert {}", number::show_float(*float))))?,
        Value::Text(text) => {
            let base = match base {
                None => 10,
                Some(Value::Int(base @ (0 | 2..=36))) => u32::try_from(base).unwrap_or(10),
                Some(_) => return Err(Fault::new("the base of int() is 0 or from 2 to 36")),
            };
            machine.meter.copies(text.len().saturating_mul(64))?;
            let read = read_int(text, base)?;
            read.ok_or_else(|| {
                Fault::new(format!("int() cannot read {} in base {base}", machine.brief(&value)))
            })?
        }
        _ => return Err(Fault::new(format!("int() needs a number or a string, not a {}", value.kind()))),
    };
    machine.meter.whole(whole)
}

/// Reads a sign, a prefix that fits the base, and digits.
fn read_int(text: &str, base: u32) -> Outcome<Option<Whole>> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed =
        |letters: [char; 2]| unsigned.strip_prefix('0').and_then(|rest| rest.strip_prefix(letters));
    let (base, digits) = match base {
        16 => (16, prefixed(['x', 'X']).unwrap_or(unsigned)),
        8 => (8, prefixed(['o', 'O']).unwrap_or(unsigned)),
        2 => (2, prefixed(['b', 'B']).unwrap_or(unsigned)),
        0 => {
            let known = [(16, ['x', 'X']), (8, ['o', 'O']), (2, ['b', 'B'])];
            let found = known.into_iter().find_map(|(base, letters)| Some((base, prefixed(letters)?)));
            match found {
                Some(found) => found,
                // `010` is ambiguous, so it is nothing.
                None if unsigned.len() > 1 && unsigned.starts_with('0') => return Ok(None),
                None => (10, unsigned),
            }
        }
        other => (other, unsigned),
    };
    let whole = number::parse(digits, base)?;
    match whole {
        Some(whole) if negative => Ok(Some(Whole::Small(0).subtract(&whole)?)),
        whole => Ok(whole),
    }
}
