//! When values are equal, and which comes first.

use super::Value;
use crate::fault::{Fault, Outcome};
use crate::meter::Meter;
use std::cmp::Ordering;
use std::rc::Rc;

/// Counts a step and looks at the native stack.
pub(crate) fn deeper(meter: &Meter) -> Outcome<()> {
    meter.step()?;
    meter.descend()
}

pub(crate) fn equal(meter: &Meter, a: &Value, b: &Value) -> Outcome<bool> {
    Ok(match (a, b) {
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => {
            Rc::ptr_eq(a, b) || {
                meter.copies(a.len().min(b.len()))?;
                a.len() == b.len() && ***a == ***b
            }
        }
        (
            Value::Int(_) | Value::Big(_) | Value::Float(_),
            Value::Int(_) | Value::Big(_) | Value::Float(_),
        ) => numbers(a, b) == Some(Ordering::Equal),
        (Value::List(a), Value::List(b)) => {
            let (a, b) = (a.read(), b.read());
            sequences(meter, &a, &b)?
        }
        (Value::Tuple(a), Value::Tuple(b)) => sequences(meter, a.items(), b.items())?,
        (Value::Dict(a), Value::Dict(b)) => {
            deeper(meter)?;
            let (a, b) = (a.read(), b.read());
            a.len() == b.len() && tables(meter, &a, &b)?
        }
        (Value::Set(a), Value::Set(b)) => {
            let (a, b) = (a.read(), b.read());
            a.len() == b.len() && tables(meter, &a, &b)?
        }
        (Value::Range(a), Value::Range(b)) => {
            a.length == b.length
                && (a.length == 0 || a.start == b.start)
                && (a.length < 2 || a.step == b.step)
        }
        (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
        (Value::Method(a), Value::Method(b)) => Rc::ptr_eq(a, b),
        (Value::Builtin(a), Value::Builtin(b)) => std::ptr::eq(*a, *b),
        (Value::Host(a), Value::Host(b)) | (Value::Namespace(a), Value::Namespace(b)) => a == b,
        _ => false,
    })
}

fn sequences(meter: &Meter, a: &[Value], b: &[Value]) -> Outcome<bool> {
    deeper(meter)?;
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b) {
        meter.step()?;
        if !equal(meter, a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn tables(meter: &Meter, a: &super::table::Table, b: &super::table::Table) -> Outcome<bool> {
    for entry in a.iter() {
        meter.step()?;
        match b.get(entry.hash, &entry.key)? {
            Some(other) if equal(meter, &entry.value, &other.value)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The order of two values of one kind; others have none.
pub(crate) fn compare(meter: &Meter, a: &Value, b: &Value) -> Outcome<Ordering> {
    meter.step()?;
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => {
            meter.copies(a.len().min(b.len()))?;
            Ok((***a).cmp(&***b))
        }
        (Value::List(a), Value::List(b)) => {
            let (a, b) = (a.read(), b.read());
            compare_sequences(meter, &a, &b)
        }
        (Value::Tuple(a), Value::Tuple(b)) => compare_sequences(meter, a.items(), b.items()),
        _ => numbers(a, b)
            .ok_or_else(|| Fault::new(format!("{} and {} cannot be compared by order", a.kind(), b.kind()))),
    }
}

fn compare_sequences(meter: &Meter, a: &[Value], b: &[Value]) -> Outcome<Ordering> {
    deeper(meter)?;
    for (a, b) in a.iter().zip(b) {
        if !equal(meter, a, b)? {
            return compare(meter, a, b);
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// The order of two numbers, exactly; `None` if one is none.
fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => floats(*a, *b),
        (Value::Float(a), _) => b.whole()?.compare_float(*a).reverse(),
        (_, Value::Float(b)) => a.whole()?.compare_float(*b),
        _ => a.whole()?.compare(&b.whole()?),
    })
}

/// All that is not a number is equal, and greater than all numbers; so there is a total order.
fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_is_the_greatest() {
        assert_eq!(floats(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(floats(f64::NAN, f64::NAN), Ordering::Equal);
        assert_eq!(floats(0.0, -0.0), Ordering::Equal);
    }
}
