//! Text with gaps: `%`, `.format()` and `format()`, each filled in as it is written.

use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::value::{Text, Value, Writer, show};

mod braces;
mod conversions;
mod printf;

pub(crate) use braces::braces;
pub(crate) use printf::printf;

/// `text % values`.
pub(crate) fn percent(machine: &mut Machine<'_>, text: &Text, values: &Value) -> Outcome<Value> {
    let single = std::slice::from_ref(values);
    let mut values = match values {
        Value::Tuple(tuple) => tuple.items(),
        _ => single,
    }
    .iter();
    let mut writer = machine.meter.writer()?;
    let mut rest: &str = text;
    while let Some((before, after)) = rest.split_once('%') {
        machine.meter.step()?;
        writer.push(before)?;
        let mut following = after.chars();
        match following.next() {
            Some('%') => writer.push("%")?,
            Some(letter) => {
                let value = values
                    .next()
                    .ok_or_else(|| Fault::new("there are too few values for the format string"))?;
                conversions::convert(machine, &mut writer, letter, value)?;
            }
            None => return Err(Fault::new("the format string ends with a `%`; write `%%` for one")),
        }
        rest = following.as_str();
    }
    writer.push(rest)?;
    if values.next().is_some() {
        return Err(Fault::new("there are more values than the format string uses"));
    }
    Ok(writer.finish())
}

/// As `str` shows it.
fn plain(machine: &Machine<'_>, writer: &mut Writer, value: &Value) -> Outcome<()> {
    show::plain(writer, &machine.names, value)
}

/// As `repr` shows it.
fn repr(machine: &Machine<'_>, writer: &mut Writer, value: &Value) -> Outcome<()> {
    show::repr(writer, &machine.names, value)
}

/// The arguments of `.format()` that have a name.
fn named<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Value> {
    arguments.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
}
