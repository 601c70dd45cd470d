//! The methods of strings: their table, and those that make new strings.

use super::string_case as case;
use super::string_search as search;
use super::string_split as split;
use super::{Method, method};
use crate::eval::arguments::{absent, given};
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::walk::Walk;
use crate::value::{Text, Value};
use std::rc::Rc;

pub(super) static METHODS: &[Method] = &[
    method("capitalize", case::capitalize),
    method("codepoint_ords", ordinals),
    method("codepoints", characters),
    method("count", search::count),
    method("elem_ords", ordinals),
    method("elems", characters),
    method("endswith", search::endswith),
    method("find", search::find),
    method("format", |machine, text, values| crate::format::braces(machine, text, &values)),
    method("index", search::index),
    method("isalnum", case::isalnum),
    method("isalpha", case::isalpha),
    method("isdigit", case::isdigit),
    method("islower", case::islower),
    method("isspace", case::isspace),
    method("istitle", case::istitle),
    method("isupper", case::isupper),
    method("join", join),
    method("lower", case::lower),
    method("lstrip", split::lstrip),
    method("partition", split::partition),
    method("removeprefix", removeprefix),
    method("removesuffix", removesuffix),
    method("replace", replace),
    method("rfind", search::rfind),
    method("rindex", search::rindex),
    method("rpartition", split::rpartition),
    method("rsplit", split::rsplit),
    method("rstrip", split::rstrip),
    method("split", split::split),
    method("splitlines", split::splitlines),
    method("startswith", search::startswith),
    method("strip", split::strip),
    method("title", case::title),
    method("upper", case::upper),
];

pub(super) fn this(receiver: &Value) -> Outcome<&Rc<Text>> {
    receiver.text().ok_or_else(|| Fault::new("this is not a string"))
}

/// An argument that is a string.
pub(super) fn text<'v>(value: &'v Value, function: &str) -> Outcome<&'v Rc<Text>> {
    let kind = value.kind();
    value.text().ok_or_else(|| Fault::new(format!("{function}() needs a string, not a {kind}")))
}

/// A count or a limit; a negative one, or none, is no limit.
pub(super) fn limit(value: Option<Value>, function: &str) -> Outcome<usize> {
    match given(value) {
        None => Ok(usize::MAX),
        Some(Value::Int(limit)) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
        Some(other) => Err(Fault::new(format!("{function}() needs an int as limit, not a {}", other.kind()))),
    }
}

fn characters(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("elems")?;
    let mut items = Gather::with_room(&machine.meter, this(receiver)?.length())?;
    for c in this(receiver)?.chars() {
        machine.meter.step()?;
        items.push(machine.meter.text(c.encode_utf8(&mut [0; 4]))?)?;
    }
    machine.meter.list(items)
}

fn ordinals(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    arguments.none("elem_ords")?;
    let mut items = Gather::with_room(&machine.meter, this(receiver)?.length())?;
    for c in this(receiver)?.chars() {
        machine.meter.step()?;
        items.push(Value::Int(i64::from(u32::from(c))))?;
    }
    machine.meter.list(items)
}

fn join(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("join")?;
    let mut walk = Walk::over(&value)?;
    let mut writer = machine.meter.writer()?;
    let mut first = true;
    while let Some(item) = walk.next() {
        machine.meter.step()?;
        if !std::mem::take(&mut first) {
            writer.push(this(receiver)?)?;
        }
        let part = item.text();
        writer.push(part.ok_or_else(|| {
            Fault::new(format!("join() needs strings, and there is a {}; use str()", item.kind()))
        })?)?;
    }
    Ok(writer.finish())
}

fn removeprefix(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let prefix = arguments.one("removeprefix")?;
    match this(receiver)?.strip_prefix(&***text(&prefix, "removeprefix")?) {
        Some(rest) => machine.meter.text(rest),
        None => Ok(receiver.clone()),
    }
}

fn removesuffix(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let suffix = arguments.one("removesuffix")?;
    match this(receiver)?.strip_suffix(&***text(&suffix, "removesuffix")?) {
        Some(rest) => machine.meter.text(rest),
        None => Ok(receiver.clone()),
    }
}

fn replace(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let [Some(old), Some(new), count] = arguments.take("replace", ["", "", "count"], 2)? else {
        return Err(absent());
    };
    let (whole, old, new) = (this(receiver)?, text(&old, "replace")?, text(&new, "replace")?);
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let mut writer = machine.meter.writer()?;
    let mut last = 0;
    for (at, found) in whole.match_indices(&***old).take(limit(count, "replace")?) {
        machine.meter.step()?;
        writer.push(whole.get(last..at).unwrap_or_default())?;
        writer.push(new)?;
        last = at + found.len();
    }
    writer.push(whole.get(last..).unwrap_or_default())?;
    Ok(writer.finish())
}
