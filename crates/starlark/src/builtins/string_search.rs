//! Searching in strings; positions count code points.

use super::list_methods::within;
use super::string_methods::{text, this};
use crate::eval::arguments::{absent, given};
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::value::{Text, Value};

/// What is looked for, where it is looked for, and the code point where that begins.
struct Search<'t> {
    part: &'t str,
    from: usize,
    valid: bool,
}

/// Cuts out what the bounds name.
fn cut<'t>(
    machine: &Machine<'_>,
    whole: &'t Text,
    start: Option<Value>,
    stop: Option<Value>,
) -> Outcome<Search<'t>> {
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let (from, to) = within(whole.length(), given(start), given(stop))?;
    Ok(Search { part: whole.part(from, to.max(from)), from, valid: from <= to })
}

fn position(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
    function: &str,
    find: fn(&str, &str) -> Option<usize>,
) -> Outcome<Option<Value>> {
    let [Some(wanted), start, stop] = arguments.take(function, ["", "", ""], 1)? else {
        return Err(absent());
    };
    let whole = this(receiver)?;
    let search = cut(machine, whole, start, stop)?;
    let found = find(search.part, text(&wanted, function)?).filter(|_| search.valid);
    let found =
        found.map(|byte| search.part.get(..byte).map_or(0, |before| before.chars().count()) + search.from);
    found.map(|at| machine.meter.count(at)).transpose()
}

fn first(whole: &str, part: &str) -> Option<usize> {
    whole.find(part)
}

fn last(whole: &str, part: &str) -> Option<usize> {
    whole.rfind(part)
}

pub(super) fn find(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    Ok(position(machine, receiver, arguments, "find", first)?.unwrap_or(Value::Int(-1)))
}

pub(super) fn rfind(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    Ok(position(machine, receiver, arguments, "rfind", last)?.unwrap_or(Value::Int(-1)))
}

pub(super) fn index(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    position(machine, receiver, arguments, "index", first)?.ok_or_else(not_found)
}

pub(super) fn rindex(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    position(machine, receiver, arguments, "rindex", last)?.ok_or_else(not_found)
}

fn not_found() -> Fault {
    Fault::new("substring not found")
}

pub(super) fn count(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(wanted), start, stop] = arguments.take("count", ["", "", ""], 1)? else { return Err(absent()) };
    let search = cut(machine, this(receiver)?, start, stop)?;
    let wanted = text(&wanted, "count")?;
    let found = match (search.valid, wanted.is_empty()) {
        (false, _) => 0,
        // Nothing is between any two characters, and at both ends.
        (true, true) => search.part.chars().count() + 1,
        (true, false) => search.part.matches(&***wanted).count(),
    };
    machine.meter.count(found)
}

pub(super) fn startswith(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
) -> Outcome<Value> {
    matches(machine, receiver, arguments, "startswith", |whole, part| whole.starts_with(part))
}

pub(super) fn endswith(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    matches(machine, receiver, arguments, "endswith", |whole, part| whole.ends_with(part))
}

/// Whether one of several parts fits.
fn matches(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
    function: &str,
    fits: fn(&str, &str) -> bool,
) -> Outcome<Value> {
    let [Some(wanted), start, stop] = arguments.take(function, ["", "", ""], 1)? else {
        return Err(absent());
    };
    let search = cut(machine, this(receiver)?, start, stop)?;
    let parts = match &wanted {
        Value::Tuple(parts) => parts.items(),
        _ => std::slice::from_ref(&wanted),
    };
    for part in parts {
        machine.meter.step()?;
        let part = text(part, function)?;
        machine.meter.copies(part.len())?;
        if search.valid && fits(search.part, part) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
