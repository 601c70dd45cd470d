//! The methods of sets.

use super::conversions::unique;
use super::{Method, method};
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::syntax::Binary;
use crate::value::table::Table;
use crate::value::{Set, Value};
use std::rc::Rc;

pub(super) static METHODS: &[Method] = &[
    method("add", add),
    method("clear", clear),
    method("difference", |machine, set, others| combined(machine, set, others, Binary::Subtract)),
    method("difference_update", |machine, set, others| updated(machine, set, others, Binary::Subtract)),
    method("discard", discard),
    method("intersection", |machine, set, others| combined(machine, set, others, Binary::BitAnd)),
    method("intersection_update", |machine, set, others| updated(machine, set, others, Binary::BitAnd)),
    method("isdisjoint", isdisjoint),
    method("issubset", issubset),
    method("issuperset", issuperset),
    method("pop", pop),
    method("remove", remove),
    method("symmetric_difference", |machine, set, other| {
        combined(machine, set, exactly_one(other)?, Binary::BitXor)
    }),
    method("symmetric_difference_update", |machine, set, other| {
        updated(machine, set, exactly_one(other)?, Binary::BitXor)
    }),
    method("union", |machine, set, others| combined(machine, set, others, Binary::BitOr)),
    method("update", |machine, set, others| updated(machine, set, others, Binary::BitOr)),
];

fn this(receiver: &Value) -> Outcome<&Rc<Set>> {
    match receiver {
        Value::Set(set) => Ok(set),
        _ => Err(Fault::new("this is not a set")),
    }
}

fn exactly_one(arguments: Arguments) -> Outcome<Arguments> {
    if arguments.positional.items.len() == 1 {
        Ok(arguments)
    } else {
        Err(Fault::new("symmetric_difference() needs exactly one argument"))
    }
}

fn add(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("add")?;
    this(receiver)?.add(value)?;
    Ok(Value::None)
}

fn clear(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("clear")?;
    this(receiver)?.replace(Table::new(&machine.meter)?)?;
    Ok(Value::None)
}

fn discard(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("discard")?;
    this(receiver)?.remove(&value)?;
    Ok(Value::None)
}

fn remove(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("remove")?;
    if this(receiver)?.remove(&value)? {
        return Ok(Value::None);
    }
    Err(Fault::new(format!("the set has no element {}", machine.brief(&value))))
}

fn pop(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("pop")?;
    let mut table = this(receiver)?.edit()?;
    let Some((hash, key)) = table.next(0).map(|(_, entry)| (entry.hash, entry.key.clone())) else {
        return Err(Fault::new("pop() needs a set that is not empty"));
    };
    table.remove(hash, &key)?;
    Ok(key)
}

/// A new set from this one and others, which may be anything that has elements.
fn combined(machine: &mut Machine<'_>, receiver: &Value, others: Arguments, how: Binary) -> Outcome<Value> {
    let others = others.only_positional("a method of a set")?;
    let mut copy = Table::new(&machine.meter)?;
    copy.extend(&this(receiver)?.read())?;
    let mut result = machine.meter.set(copy)?;
    for other in &others.items {
        let other = as_set(machine, other)?;
        let table = machine.combine_sets(how, &result, &other)?;
        result = machine.meter.set(table)?;
    }
    Ok(result)
}

fn updated(machine: &mut Machine<'_>, receiver: &Value, others: Arguments, how: Binary) -> Outcome<Value> {
    this(receiver)?.edit()?;
    let result = combined(machine, receiver, others, how)?;
    let mut table = Table::new(&machine.meter)?;
    table.extend(&this(&result)?.read())?;
    this(receiver)?.replace(table)?;
    Ok(Value::None)
}

fn as_set(machine: &Machine<'_>, value: &Value) -> Outcome<Value> {
    match value {
        Value::Set(_) => Ok(value.clone()),
        _ => machine.meter.set(unique(machine, value)?),
    }
}

/// Whether a combination with another leaves nothing.
fn empty(machine: &mut Machine<'_>, how: Binary, a: &Value, b: &Value) -> Outcome<Value> {
    Ok(Value::Bool(machine.combine_sets(how, a, b)?.len() == 0))
}

fn isdisjoint(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let other = as_set(machine, &arguments.one("isdisjoint")?)?;
    empty(machine, Binary::BitAnd, receiver, &other)
}

fn issubset(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let other = as_set(machine, &arguments.one("issubset")?)?;
    empty(machine, Binary::Subtract, receiver, &other)
}

fn issuperset(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let other = as_set(machine, &arguments.one("issuperset")?)?;
    empty(machine, Binary::Subtract, &other, receiver)
}
