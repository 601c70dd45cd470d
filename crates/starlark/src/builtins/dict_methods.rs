//! The methods of dicts.

use super::{Method, conversions, method};
use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::{Dict, Value};
use std::rc::Rc;

pub(super) static METHODS: &[Method] = &[
    method("clear", clear),
    method("get", get),
    method("items", items),
    method("keys", keys),
    method("pop", pop),
    method("popitem", popitem),
    method("setdefault", setdefault),
    method("update", update),
    method("values", values),
];

fn this(receiver: &Value) -> Outcome<&Rc<Dict>> {
    match receiver {
        Value::Dict(dict) => Ok(dict),
        _ => Err(Fault::new("this is not a dict")),
    }
}

fn clear(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("clear")?;
    this(receiver)?.clear()?;
    Ok(Value::None)
}

fn get(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(key), default] = arguments.take("get", ["", ""], 1)? else { return Err(absent()) };
    Ok(this(receiver)?.get(&key)?.or(default).unwrap_or(Value::None))
}

fn items(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("items")?;
    let dict = this(receiver)?;
    let mut items = Gather::with_room(&machine.meter, dict.len())?;
    for entry in dict.read().iter() {
        machine.meter.step()?;
        items.push(machine.meter.pair(entry.key.clone(), entry.value.clone())?)?;
    }
    machine.meter.list(items)
}

fn keys(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("keys")?;
    let dict = this(receiver)?;
    let mut items = Gather::with_room(&machine.meter, dict.len())?;
    for entry in dict.read().iter() {
        machine.meter.step()?;
        items.push(entry.key.clone())?;
    }
    machine.meter.list(items)
}

fn values(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("values")?;
    let dict = this(receiver)?;
    let mut items = Gather::with_room(&machine.meter, dict.len())?;
    for entry in dict.read().iter() {
        machine.meter.step()?;
        items.push(entry.value.clone())?;
    }
    machine.meter.list(items)
}

fn pop(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(key), default] = arguments.take("pop", ["", ""], 1)? else { return Err(absent()) };
    let removed = this(receiver)?.remove(&key)?;
    let missing = || Fault::new(format!("the dict has no key {}", machine.brief(&key)));
    removed.or(default).ok_or_else(missing)
}

fn popitem(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("popitem")?;
    let mut table = this(receiver)?.edit()?;
    let Some((hash, key)) = table.next(0).map(|(_, entry)| (entry.hash, entry.key.clone())) else {
        return Err(Fault::new("popitem() needs a dict that is not empty"));
    };
    match table.remove(hash, &key)? {
        Some(entry) => machine.meter.pair(entry.key, entry.value),
        None => Err(Fault::new("the dict has no such key")),
    }
}

fn setdefault(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(key), default] = arguments.take("setdefault", ["", ""], 1)? else { return Err(absent()) };
    let dict = this(receiver)?;
    dict.edit()?;
    if let Some(found) = dict.get(&key)? {
        return Ok(found);
    }
    let default = default.unwrap_or(Value::None);
    dict.insert(key, default.clone())?;
    Ok(default)
}

fn update(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    conversions::update(machine, this(receiver)?, arguments, "update")?;
    Ok(Value::None)
}
