//! `text.format(…)`: `{}`, `{0}`, `{name}`, with `!r` and `!s`.

use super::{named, plain, repr};
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::value::{Value, Writer};

/// How fields without a name find their value: counted or numbered, never both.
#[derive(PartialEq)]
enum Numbering {
    Unknown,
    Counted(usize),
    Written,
}

pub(crate) fn braces(machine: &mut Machine<'_>, receiver: &Value, arguments: &Arguments) -> Outcome<Value> {
    let Some(text) = receiver.text() else { return Err(Fault::new("this is not a string")) };
    let mut writer = machine.meter.writer()?;
    let mut numbering = Numbering::Unknown;
    let mut rest: &str = text;
    while let Some(at) = rest.find(['{', '}']) {
        machine.meter.step()?;
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        writer.push(before)?;
        if let Some(after) = from.strip_prefix("{{") {
            writer.push("{")?;
            rest = after;
        } else if let Some(after) = from.strip_prefix("}}") {
            writer.push("}")?;
            rest = after;
        } else if let Some(inner) = from.strip_prefix('{') {
            let Some((field, after)) = inner.split_once('}') else {
                return Err(Fault::new("a `{` in the format string is never closed"));
            };
            fill(machine, &mut writer, field, arguments, &mut numbering)?;
            rest = after;
        } else {
            return Err(Fault::new("a `}` in the format string closes nothing; write `}}` for one"));
        }
    }
    writer.push(rest)?;
    Ok(writer.finish())
}

fn fill(
    machine: &Machine<'_>,
    writer: &mut Writer,
    field: &str,
    arguments: &Arguments,
    numbering: &mut Numbering,
) -> Outcome<()> {
    let (field, quoted) = match field.split_once('!') {
        None => (field, false),
        Some((field, "s")) => (field, false),
        Some((field, "r")) => (field, true),
        Some(_) => return Err(Fault::new("after `!` in a format string comes `r` or `s`")),
    };
    let value = value(field, arguments, numbering)?;
    if quoted { repr(machine, writer, value) } else { plain(machine, writer, value) }
}

fn value<'a>(field: &str, arguments: &'a Arguments, numbering: &mut Numbering) -> Outcome<&'a Value> {
    if field.is_empty() {
        let at = match numbering {
            Numbering::Unknown => 0,
            Numbering::Counted(at) => *at,
            Numbering::Written => return Err(mixed()),
        };
        *numbering = Numbering::Counted(at + 1);
        return positional(arguments, at);
    }
    if field.chars().all(|c| c.is_ascii_digit()) {
        if let Numbering::Counted(_) = numbering {
            return Err(mixed());
        }
        *numbering = Numbering::Written;
        return positional(arguments, field.parse().unwrap_or(usize::MAX));
    }
    if field.contains(['.', ',', '[', ']', ':', '{']) {
        return Err(Fault::new(
            "a field of a format string is a number or a name, without attributes, indices or widths",
        ));
    }
    named(arguments, field).ok_or_else(|| Fault::new(format!("format() has no value for `{{{field}}}`")))
}

fn positional(arguments: &Arguments, at: usize) -> Outcome<&Value> {
    let missing = || Fault::new(format!("format() has no value number {at}"));
    arguments.positional.items.get(at).ok_or_else(missing)
}

fn mixed() -> Fault {
    Fault::new("a format string numbers its fields all or none")
}
