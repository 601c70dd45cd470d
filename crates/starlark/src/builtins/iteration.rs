//! `all`, `any`, `enumerate`, `len`, `range`, `reversed`, `zip`.

use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::number::Whole;
use crate::value::Value;
use crate::value::walk::{self, Walk};

pub(super) fn all(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("all")?;
    Ok(Value::Bool(!some(machine, &value, false)?))
}

pub(super) fn any(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("any")?;
    Ok(Value::Bool(some(machine, &value, true)?))
}

/// Whether some element has that truth.
fn some(machine: &Machine<'_>, value: &Value, wanted: bool) -> Outcome<bool> {
    let mut walk = Walk::over(value)?;
    while let Some(item) = walk.next() {
        machine.meter.step()?;
        if item.truth() == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn len(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("len")?;
    match value.length() {
        Some(length) => machine.meter.count(length),
        None => Err(Fault::new(format!("a value of type {} has no length", value.kind()))),
    }
}

pub(super) fn enumerate(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), start] = arguments.take("enumerate", ["", "start"], 1)? else { return Err(absent()) };
    let start = start.unwrap_or(Value::Int(0));
    let Some(mut number) = start.whole() else {
        return Err(Fault::new(format!("enumerate() needs an int to start with, not a {}", start.kind())));
    };
    let mut items = Gather::new(&machine.meter)?;
    let mut walk = Walk::over(&value)?;
    while let Some(item) = walk.next() {
        machine.meter.step()?;
        let at = machine.meter.whole(number.clone())?;
        items.push(machine.meter.pair(at, item)?)?;
        number = number.add(&Whole::Small(1))?;
    }
    machine.meter.list(items)
}

pub(super) fn range(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(first), second, step] = arguments.take("range", ["", "", ""], 1)? else { return Err(absent()) };
    let first = whole(&first)?;
    let step = step.map_or(Ok(1), |step| whole(&step))?;
    let (start, end) = match second {
        Some(second) => (first, whole(&second)?),
        None => (0, first),
    };
    machine.meter.range(start, end, step)
}

fn whole(value: &Value) -> Outcome<i64> {
    match value {
        Value::Int(value) => Ok(*value),
        Value::Big(_) => Err(Fault::new("range() needs ints of at most 64 bits")),
        _ => Err(Fault::new(format!("range() needs ints, not a {}", value.kind()))),
    }
}

pub(super) fn reversed(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("reversed")?;
    let mut items = walk::collect(&machine.meter, &value)?;
    items.items.reverse();
    machine.meter.list(items)
}

pub(super) fn zip(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let values = arguments.only_positional("zip")?;
    let mut walks = values.items.iter().map(Walk::over).collect::<Outcome<Vec<_>>>()?;
    let mut items = Gather::new(&machine.meter)?;
    if !walks.is_empty() {
        while let Some(row) = row(machine, &mut walks)? {
            items.push(machine.meter.tuple(row)?)?;
        }
    }
    machine.meter.list(items)
}

/// The next of each, unless one has none.
fn row(machine: &Machine<'_>, walks: &mut [Walk]) -> Outcome<Option<Gather>> {
    machine.meter.items(walks.len())?;
    let mut row = Gather::with_room(&machine.meter, walks.len())?;
    for walk in walks {
        match walk.next() {
            Some(item) => row.push(item)?,
            None => return Ok(None),
        }
    }
    Ok(Some(row))
}
