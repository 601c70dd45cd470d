//! `bool`, `list`, `tuple`, `dict`, `set`, `chr`, `ord`.

use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::table::Table;
use crate::value::walk::{self, Walk};
use crate::value::{Dict, Value, hash};

pub(super) fn bool(_: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [value] = arguments.take("bool", [""], 0)?;
    Ok(Value::Bool(value.is_some_and(|value| value.truth())))
}

fn collected(machine: &Machine<'_>, arguments: Arguments, function: &str) -> Outcome<Gather> {
    let [value] = arguments.take(function, [""], 0)?;
    match value {
        Some(value) => walk::collect(&machine.meter, &value),
        None => Gather::new(&machine.meter),
    }
}

pub(super) fn list(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let items = collected(machine, arguments, "list")?;
    machine.meter.list(items)
}

pub(super) fn tuple(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let items = collected(machine, arguments, "tuple")?;
    machine.meter.tuple(items)
}

pub(super) fn set(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [value] = arguments.take("set", [""], 0)?;
    let table = match value {
        Some(value) => unique(machine, &value)?,
        None => Table::new(&machine.meter)?,
    };
    machine.meter.set(table)
}

/// The elements of a value, each once.
pub(super) fn unique(machine: &Machine<'_>, value: &Value) -> Outcome<Table> {
    let mut table = Table::new(&machine.meter)?;
    let mut walk = Walk::over(value)?;
    while let Some(item) = walk.next() {
        machine.meter.step()?;
        let hash = hash::of(&machine.meter, &item)?;
        if table.get(hash, &item)?.is_none() {
            table.insert(hash, item, Value::None)?;
        }
    }
    Ok(table)
}

pub(super) fn dict(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let dict = machine.meter.dict(Table::new(&machine.meter)?)?;
    update(machine, &dict, arguments, "dict")?;
    Ok(Value::Dict(dict))
}

/// Puts pairs or another dict, then named arguments, into a dict.
pub(super) fn update(
    machine: &Machine<'_>,
    dict: &Dict,
    mut arguments: Arguments,
    function: &str,
) -> Outcome<()> {
    if arguments.positional.items.len() > 1 {
        return Err(Fault::new(format!("{function}() takes at most one positional argument")));
    }
    match arguments.positional.items.first() {
        None => {}
        Some(Value::Dict(other)) => {
            // A copy, because both may be one dict.
            let mut copy = Table::new(&machine.meter)?;
            copy.extend(&other.read())?;
            dict.edit()?.extend(&copy)?;
        }
        Some(pairs) => put_pairs(machine, dict, pairs, function)?,
    }
    dict.edit()?;
    for (name, value) in arguments.named.drain(..) {
        dict.insert(machine.meter.text(&name)?, value)?;
    }
    Ok(())
}

fn put_pairs(machine: &Machine<'_>, dict: &Dict, pairs: &Value, function: &str) -> Outcome<()> {
    let pairs = walk::collect(&machine.meter, pairs)?;
    for (at, pair) in pairs.items.iter().enumerate() {
        machine.meter.step()?;
        let found = pair.length();
        if found != Some(2) || matches!(pair, Value::Text(_)) {
            return Err(Fault::new(format!("{function}() needs pairs, and the element at {at} is none")));
        }
        let mut pair = walk::collect(&machine.meter, pair)?;
        let (Some(value), Some(key)) = (pair.items.pop(), pair.items.pop()) else { continue };
        dict.insert(key, value)?;
    }
    Ok(())
}

pub(super) fn chr(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("chr")?;
    let c = match value {
        Value::Int(code) => u32::try_from(code).ok().and_then(char::from_u32),
        _ => None,
    };
    let Some(c) = c else {
        return Err(Fault::new(format!(
            "chr() needs the number of a character, not {}",
            machine.brief(&value)
        )));
    };
    machine.meter.text(c.encode_utf8(&mut [0; 4]))
}

pub(super) fn ord(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("ord")?;
    let c = value.text().filter(|text| text.length() == 1).and_then(|text| text.chars().next());
    let Some(c) = c else {
        return Err(Fault::new(format!(
            "ord() needs a string of one character, not {}",
            machine.brief(&value)
        )));
    };
    Ok(Value::Int(i64::from(u32::from(c))))
}
