//! `type`, `dir`, `getattr`, `hasattr`, `hash`.

use super::methods;
use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::Value;

pub(super) fn type_of(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("type")?;
    machine.meter.text(value.kind())
}

pub(super) fn dir(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("dir")?;
    let names: Vec<&str> = match &value {
        Value::Namespace(number) => machine.names.members(*number),
        _ => methods(&value).iter().map(|method| method.name).collect(),
    };
    let mut items = Gather::new(&machine.meter)?;
    for name in names {
        items.push(machine.meter.text(name)?)?;
    }
    machine.meter.list(items)
}

pub(super) fn hasattr(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), Some(name)] = arguments.take("hasattr", ["", ""], 2)? else { return Err(absent()) };
    let Some(name) = name.text() else { return Err(Fault::new("hasattr() needs the name as a string")) };
    Ok(Value::Bool(machine.find_attribute(&value, name)?.is_some()))
}

pub(super) fn getattr(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), Some(name), default] = arguments.take("getattr", ["", "", ""], 2)? else {
        return Err(absent());
    };
    let Some(text) = name.text() else { return Err(Fault::new("getattr() needs the name as a string")) };
    if let Some(found) = machine.find_attribute(&value, text)? {
        return Ok(found);
    }
    let missing =
        || Fault::new(format!("a value of type {} has no attribute {}", value.kind(), machine.brief(&name)));
    default.ok_or_else(missing)
}

/// The hash of a string as Java computes it, which the language prescribes; dicts use another.
pub(super) fn hash(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("hash")?;
    let Some(text) = value.text() else {
        return Err(Fault::new(format!("hash() needs a string, not a {}", value.kind())));
    };
    machine.meter.copies(text.len().saturating_mul(8))?;
    let hash =
        text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    Ok(Value::Int(i64::from(hash)))
}
