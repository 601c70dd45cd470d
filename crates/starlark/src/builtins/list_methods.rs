//! The methods of lists.

use super::{Method, method};
use crate::eval::arguments::{absent, given};
use crate::eval::index::bound;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::value::{List, Value, order, walk};
use std::rc::Rc;

pub(super) static METHODS: &[Method] = &[
    method("append", append),
    method("clear", clear),
    method("extend", extend),
    method("index", index),
    method("insert", insert),
    method("pop", pop),
    method("remove", remove),
];

fn this(receiver: &Value) -> Outcome<&Rc<List>> {
    match receiver {
        Value::List(list) => Ok(list),
        _ => Err(Fault::new("this is not a list")),
    }
}

fn append(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("append")?;
    this(receiver)?.edit()?.push(value)?;
    Ok(Value::None)
}

fn clear(_: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("clear")?;
    this(receiver)?.clear()?;
    Ok(Value::None)
}

fn extend(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("extend")?;
    let items = walk::collect(&machine.meter, &value)?;
    this(receiver)?.edit()?.extend(&items.items)?;
    Ok(Value::None)
}

fn insert(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(at), Some(value)] = arguments.take("insert", ["", ""], 2)? else { return Err(absent()) };
    let list = this(receiver)?;
    let at = bound(&at)?.ok_or_else(|| Fault::new("insert() needs an int as position"))?;
    let length = list.len();
    let back = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
    let at = if at < 0 { length.saturating_sub(back) } else { back.min(length) };
    machine.meter.items((length - at) / 4)?;
    let mut items = list.edit()?;
    let items = &mut *items;
    items.hold.room(&mut items.items, 1)?;
    items.items.insert(at, value);
    Ok(Value::None)
}

fn pop(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [at] = arguments.take("pop", [""], 0)?;
    let list = this(receiver)?;
    if list.is_empty() {
        return Err(Fault::new("pop() needs a list that is not empty"));
    }
    let at = machine.element(&at.unwrap_or(Value::Int(-1)), list.len(), "list")?;
    take(machine, list, at)
}

fn take(machine: &Machine<'_>, list: &List, at: usize) -> Outcome<Value> {
    let mut items = list.edit()?;
    if at >= items.items.len() {
        return Err(Fault::new("the list has no such element"));
    }
    machine.meter.items((items.items.len() - at) / 4)?;
    Ok(items.items.remove(at))
}

fn position(
    machine: &Machine<'_>,
    list: &List,
    wanted: &Value,
    from: usize,
    to: usize,
) -> Outcome<Option<usize>> {
    for (at, item) in list.read().iter().enumerate().take(to).skip(from) {
        machine.meter.step()?;
        if order::equal(&machine.meter, item, wanted)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn remove(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("remove")?;
    let list = this(receiver)?;
    match position(machine, list, &value, 0, usize::MAX)? {
        Some(at) => {
            let removed = take(machine, list, at)?;
            drop(removed);
            Ok(Value::None)
        }
        None => Err(Fault::new(format!("the list has no element {}", machine.brief(&value)))),
    }
}

fn index(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), start, stop] = arguments.take("index", ["", "", ""], 1)? else { return Err(absent()) };
    let list = this(receiver)?;
    let (from, to) = within(list.len(), given(start), given(stop))?;
    match position(machine, list, &value, from, to)? {
        Some(at) => machine.meter.count(at),
        None => Err(Fault::new(format!("the list has no element {}", machine.brief(&value)))),
    }
}

/// Two bounds, which may count from the end, as positions.
pub(super) fn within(length: usize, start: Option<Value>, stop: Option<Value>) -> Outcome<(usize, usize)> {
    let place = |value: Option<Value>, otherwise: usize| -> Outcome<usize> {
        let Some(value) = value else { return Ok(otherwise) };
        let Some(value) = bound(&value)? else { return Ok(otherwise) };
        let size = usize::try_from(value.unsigned_abs()).unwrap_or(usize::MAX);
        Ok(if value < 0 { length.saturating_sub(size) } else { size.min(length) })
    };
    Ok((place(start, 0)?, place(stop, length)?))
}
