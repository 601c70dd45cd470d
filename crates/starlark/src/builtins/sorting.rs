//! `sorted`, `min`, `max`: a stable merge sort whose comparisons may fail.

use crate::eval::arguments::{absent, given};
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::{Value, order, walk};
use std::cmp::Ordering;

pub(super) fn sorted(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), key, reverse] = arguments.take("sorted", ["", "key", "reverse"], 1)? else {
        return Err(absent());
    };
    let reverse = match reverse {
        None => false,
        Some(Value::Bool(reverse)) => reverse,
        Some(other) => {
            return Err(Fault::new(format!("sorted() needs a bool for `reverse`, not a {}", other.kind())));
        }
    };
    let mut items = walk::collect(&machine.meter, &value)?;
    let keys = keys(machine, &items, given(key))?;
    let keys = keys.as_ref().unwrap_or(&items);
    let order = arranged(machine, &keys.items, reverse)?;
    let mut result = Gather::with_room(&machine.meter, order.len())?;
    for at in order {
        result.push(items.items.get(at).cloned().unwrap_or(Value::None))?;
    }
    items.items.clear();
    machine.meter.list(result)
}

/// The keys of values, if there is a function for them.
fn keys(machine: &mut Machine<'_>, items: &Gather, key: Option<Value>) -> Outcome<Option<Gather>> {
    let Some(key) = key else { return Ok(None) };
    let mut keys = Gather::with_room(&machine.meter, items.items.len())?;
    for item in &items.items {
        let argument = Arguments::single(&machine.meter, item.clone())?;
        keys.push(machine.call(&key, argument)?)?;
    }
    Ok(Some(keys))
}

/// The positions of values in their order, by merging ever longer runs.
fn arranged(machine: &Machine<'_>, values: &[Value], reverse: bool) -> Outcome<Vec<usize>> {
    let _hold = machine.meter.hold(values.len().saturating_mul(2 * size_of::<usize>()))?;
    let mut from: Vec<usize> = (0..values.len()).collect();
    let mut width = 1;
    while width < values.len() {
        let mut to = Vec::with_capacity(values.len());
        for run in from.chunks(width * 2) {
            let (left, right) = run.split_at(width.min(run.len()));
            merge(machine, values, (left, right), reverse, &mut to)?;
        }
        from = to;
        width *= 2;
    }
    Ok(from)
}

fn merge(
    machine: &Machine<'_>,
    values: &[Value],
    (left, right): (&[usize], &[usize]),
    reverse: bool,
    into: &mut Vec<usize>,
) -> Outcome<()> {
    let (mut left, mut right) = (left, right);
    while let (Some((a, rest_left)), Some((b, rest_right))) = (left.split_first(), right.split_first()) {
        let (Some(first), Some(second)) = (values.get(*a), values.get(*b)) else { break };
        let order = order::compare(&machine.meter, first, second)?;
        let order = if reverse { order.reverse() } else { order };
        if order == Ordering::Greater {
            into.push(*b);
            right = rest_right;
        } else {
            into.push(*a);
            left = rest_left;
        }
    }
    into.extend_from_slice(left);
    into.extend_from_slice(right);
    Ok(())
}

pub(super) fn min(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    extreme(machine, arguments, "min", Ordering::Less)
}

pub(super) fn max(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    extreme(machine, arguments, "max", Ordering::Greater)
}

fn extreme(
    machine: &mut Machine<'_>,
    mut arguments: Arguments,
    function: &str,
    wanted: Ordering,
) -> Outcome<Value> {
    let key = given(arguments.take_named("key"));
    let values = arguments.only_positional(function)?;
    let items = match values.items.as_slice() {
        [] => return Err(Fault::new(format!("{function}() needs an argument"))),
        [only] => walk::collect(&machine.meter, only)?,
        _ => values,
    };
    let keys = keys(machine, &items, key)?;
    let keys = keys.as_ref().unwrap_or(&items);
    let mut best: Option<(&Value, &Value)> = None;
    for (item, key) in items.items.iter().zip(&keys.items) {
        let better = match best {
            None => true,
            Some((_, known)) => order::compare(&machine.meter, key, known)? == wanted,
        };
        if better {
            best = Some((item, key));
        }
    }
    best.map(|(item, _)| item.clone())
        .ok_or_else(|| Fault::new(format!("{function}() needs at least one element")))
}
