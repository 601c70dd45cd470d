//! `str`, `repr`, `print`, `fail`, `format`.

use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome, whole};
use crate::meter::Gather;
use crate::value::{Value, Writer, show};

pub(super) fn str(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("str")?;
    if let Value::Text(_) = value {
        return Ok(value);
    }
    let mut writer = machine.meter.writer()?;
    show::plain(&mut writer, &machine.names, &value)?;
    Ok(writer.finish())
}

pub(super) fn repr(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("repr")?;
    let mut writer = machine.meter.writer()?;
    show::repr(&mut writer, &machine.names, &value)?;
    Ok(writer.finish())
}

/// Values as text with something between them.
fn joined(machine: &Machine<'_>, mut arguments: Arguments, function: &str) -> Outcome<Writer> {
    let separator = arguments.take_named("sep");
    let separator = separator.as_ref().map_or(Ok(" "), |value| {
        let text = value.text().map(|text| &***text);
        text.ok_or_else(|| Fault::new(format!("{function}() needs `sep` as a string")))
    })?;
    let values: Gather = arguments.only_positional(function)?;
    let mut writer = machine.meter.writer()?;
    for (at, value) in values.items.iter().enumerate() {
        writer.push(if at > 0 { separator } else { "" })?;
        show::plain(&mut writer, &machine.names, value)?;
    }
    Ok(writer)
}

pub(super) fn print(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let writer = joined(machine, arguments, "print")?;
    machine.host.print(writer.as_str());
    Ok(Value::None)
}

pub(super) fn fail(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let writer = joined(machine, arguments, "fail")?;
    Err(Fault::new(format!("fail: {}", whole(writer.as_str()))))
}

pub(super) fn format(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let values = arguments.only_positional("format")?;
    let Some((pattern, values)) = values.items.split_first() else {
        return Err(Fault::new("format() needs a format string"));
    };
    let Some(pattern) = pattern.text() else {
        return Err(Fault::new(format!("format() needs a format string, not a {}", pattern.kind())));
    };
    crate::format::printf(machine, pattern, values)
}
