//! Hashes of keys, with a key of their own for every run.

use super::{Value, order};
use crate::fault::{Fault, Outcome};
use crate::meter::Meter;
use crate::number::{Whole, truncated};
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

/// The hash of a key; equal keys have equal hashes. What can change is no key.
pub(crate) fn of(meter: &Meter, key: &Value) -> Outcome<u64> {
    let mut hasher = meter.hashing.build_hasher();
    feed(meter, key, &mut hasher)?;
    Ok(hasher.finish())
}

fn feed(meter: &Meter, key: &Value, hasher: &mut impl Hasher) -> Outcome<()> {
    match key {
        Value::None => 0_u8.hash(hasher),
        Value::Bool(value) => value.hash(hasher),
        Value::Int(value) => value.hash(hasher),
        Value::Big(big) => big.value.hash(hasher),
        Value::Float(value) => match truncated(*value).filter(|_| value.fract() == 0.0) {
            Some(Whole::Small(whole)) => whole.hash(hasher),
            Some(Whole::Big(whole)) => whole.hash(hasher),
            None if value.is_nan() => 1_u8.hash(hasher),
            None => value.to_bits().hash(hasher),
        },
        Value::Text(text) => {
            meter.copies(text.len())?;
            hasher.write(text.as_bytes());
        }
        Value::Tuple(tuple) => {
            order::deeper(meter)?;
            tuple.items().len().hash(hasher);
            for item in tuple.items() {
                meter.step()?;
                feed(meter, item, hasher)?;
            }
        }
        Value::Function(function) => Rc::as_ptr(function).addr().hash(hasher),
        Value::Builtin(builtin) => builtin.name.hash(hasher),
        Value::Method(method) => Rc::as_ptr(method).addr().hash(hasher),
        Value::Host(number) | Value::Namespace(number) => number.hash(hasher),
        Value::List(_) | Value::Dict(_) | Value::Set(_) | Value::Range(_) => {
            return Err(Fault::new(format!("a {} cannot be a key: it is not hashable", key.kind())));
        }
    }
    Ok(())
}
