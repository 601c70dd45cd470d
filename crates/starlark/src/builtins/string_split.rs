//! Taking strings apart.

use super::string_methods::{limit, text, this};
use crate::eval::arguments::given;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::value::Value;

/// Pieces as a list of strings.
fn listed<'t>(machine: &Machine<'_>, pieces: impl Iterator<Item = &'t str>) -> Outcome<Gather> {
    let mut items = Gather::new(&machine.meter)?;
    for piece in pieces {
        machine.meter.step()?;
        items.push(machine.meter.text(piece)?)?;
    }
    Ok(items)
}

/// What `split` and `rsplit` are given.
fn splitting(arguments: Arguments, function: &str) -> Outcome<(Option<Value>, usize)> {
    let [separator, most] = arguments.take(function, ["sep", "maxsplit"], 0)?;
    let separator = given(separator);
    if let Some(separator) = &separator
        && text(separator, function)?.is_empty()
    {
        return Err(Fault::new(format!("{function}() needs a separator that is not empty")));
    }
    Ok((separator, limit(most, function)?))
}

pub(super) fn split(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let (separator, most) = splitting(arguments, "split")?;
    let whole = this(receiver)?;
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let items = match &separator {
        Some(separator) => {
            listed(machine, whole.splitn(most.saturating_add(1), &***text(separator, "split")?))?
        }
        None => listed(machine, Words { rest: whole.trim_start(), left: most })?,
    };
    machine.meter.list(items)
}

pub(super) fn rsplit(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let (separator, most) = splitting(arguments, "rsplit")?;
    let whole = this(receiver)?;
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let mut items = match &separator {
        Some(separator) => {
            listed(machine, whole.rsplitn(most.saturating_add(1), &***text(separator, "rsplit")?))?
        }
        None => listed(machine, LastWords { rest: whole.trim_end(), left: most })?,
    };
    items.items.reverse();
    machine.meter.list(items)
}

/// Words between white space, and what is left after so many splits.
struct Words<'t> {
    rest: &'t str,
    left: usize,
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = if self.left == 0 { None } else { self.rest.split_once(char::is_whitespace) };
        let (word, rest) = end.unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        self.left = self.left.saturating_sub(1);
        Some(word)
    }
}

/// The same, from the end.
struct LastWords<'t> {
    rest: &'t str,
    left: usize,
}

impl<'t> Iterator for LastWords<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = if self.left == 0 { None } else { self.rest.rsplit_once(char::is_whitespace) };
        let (rest, word) = end.unwrap_or(("", self.rest));
        self.rest = rest.trim_end();
        self.left = self.left.saturating_sub(1);
        Some(word)
    }
}

pub(super) fn splitlines(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let [keep] = arguments.take("splitlines", ["keepends"], 0)?;
    let keep = match keep {
        None => false,
        Some(Value::Bool(keep)) => keep,
        Some(other) => {
            return Err(Fault::new(format!("splitlines() needs a bool, not a {}", other.kind())));
        }
    };
    let whole = this(receiver)?;
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let items = listed(machine, Lines { rest: whole, keep })?;
    machine.meter.list(items)
}

/// Lines that end with `\n`, `\r` or both.
struct Lines<'t> {
    rest: &'t str,
    keep: bool,
}

impl<'t> Iterator for Lines<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(end)?;
        let width = if rest.starts_with("\r\n") { 2 } else { rest.len().min(1) };
        let kept = self.rest.get(..end + width)?;
        self.rest = self.rest.get(end + width..)?;
        Some(if self.keep { kept } else { line })
    }
}

pub(super) fn partition(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    let separator = separator(arguments, "partition")?;
    let whole = this(receiver)?;
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let found = whole.split_once(&***text(&separator, "partition")?);
    three(machine, found, receiver, separator, |whole, empty, other| [whole, empty, other])
}

pub(super) fn rpartition(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
) -> Outcome<Value> {
    let separator = separator(arguments, "rpartition")?;
    let whole = this(receiver)?;
    machine.meter.copies(whole.len().saturating_mul(8))?;
    let found = whole.rsplit_once(&***text(&separator, "rpartition")?);
    three(machine, found, receiver, separator, |whole, empty, other| [empty, other, whole])
}

fn separator(arguments: Arguments, function: &str) -> Outcome<Value> {
    let separator = arguments.one(function)?;
    if text(&separator, function)?.is_empty() {
        return Err(Fault::new(format!("{function}() needs a separator that is not empty")));
    }
    Ok(separator)
}

/// The tuple of three parts.
fn three(
    machine: &Machine<'_>,
    found: Option<(&str, &str)>,
    receiver: &Value,
    separator: Value,
    otherwise: fn(Value, Value, Value) -> [Value; 3],
) -> Outcome<Value> {
    let parts = match found {
        Some((before, after)) => [machine.meter.text(before)?, separator, machine.meter.text(after)?],
        None => otherwise(receiver.clone(), machine.meter.text("")?, machine.meter.text("")?),
    };
    let mut items = Gather::with_room(&machine.meter, 3)?;
    for part in parts {
        items.push(part)?;
    }
    machine.meter.tuple(items)
}

pub(super) fn strip(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    stripped(machine, receiver, arguments, "strip", (true, true))
}

pub(super) fn lstrip(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    stripped(machine, receiver, arguments, "lstrip", (true, false))
}

pub(super) fn rstrip(machine: &mut Machine<'_>, receiver: &Value, arguments: Arguments) -> Outcome<Value> {
    stripped(machine, receiver, arguments, "rstrip", (false, true))
}

fn stripped(
    machine: &mut Machine<'_>,
    receiver: &Value,
    arguments: Arguments,
    function: &str,
    (start, end): (bool, bool),
) -> Outcome<Value> {
    let [cut] = arguments.take(function, [""], 0)?;
    let cut = given(cut);
    let cut = cut.as_ref().map(|cut| text(cut, function)).transpose()?;
    let mut rest: &str = this(receiver)?;
    // Every character is held against every character of the set.
    let width = cut.map_or(1, |cut| cut.len());
    machine.meter.copies(rest.len().saturating_mul(width))?;
    let drops = |c: char| cut.map_or_else(|| c.is_whitespace(), |cut| cut.contains(c));
    if start {
        rest = rest.trim_start_matches(drops);
    }
    if end {
        rest = rest.trim_end_matches(drops);
    }
    machine.meter.text(rest)
}
