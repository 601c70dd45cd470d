//! `json.encode`, `json.decode`, `json.indent`.

use crate::convert::{MAX_DEPTH, bad_key, not_finite, too_deep};
use crate::eval::arguments::absent;
use crate::eval::{Arguments, Machine};
use crate::fault::{Fault, Outcome};
use crate::number::show_float;
use crate::value::{Value, Writer};

mod indent;
mod read;

pub(crate) use indent::indent;

pub(crate) fn encode(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let value = arguments.one("json.encode")?;
    let mut writer = machine.meter.writer()?;
    write(machine, &mut writer, &value, 0)?;
    Ok(writer.finish())
}

fn write(machine: &Machine<'_>, writer: &mut Writer, value: &Value, depth: usize) -> Outcome<()> {
    machine.meter.step()?;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    match value {
        Value::None => writer.push("null"),
        Value::Bool(value) => writer.push(if *value { "true" } else { "false" }),
        Value::Int(value) => writer.push(&value.to_string()),
        Value::Big(big) => {
            let words = big.value.bits() / 64;
            machine.meter.steps(words * words / 16)?;
            writer.push(&big.value.to_string())
        }
        Value::Float(value) if value.is_finite() => writer.push(&show_float(*value)),
        Value::Float(_) => Err(not_finite()),
        Value::Text(text) => quoted(writer, text),
        Value::List(list) => array(machine, writer, list.read().iter(), depth),
        Value::Tuple(tuple) => array(machine, writer, tuple.items().iter(), depth),
        Value::Set(set) => array(machine, writer, set.read().iter().map(|entry| &entry.key), depth),
        Value::Range(range) => {
            writer.push("[")?;
            for at in 0..range.length {
                writer.push(if at > 0 { "," } else { "" })?;
                write(machine, writer, &Value::Int(range.get(at)), depth)?;
            }
            writer.push("]")
        }
        Value::Dict(dict) => {
            writer.push("{")?;
            for (at, entry) in dict.read().iter().enumerate() {
                writer.push(if at > 0 { "," } else { "" })?;
                let Some(key) = entry.key.text() else {
                    return Err(bad_key(&machine.meter, &machine.names, &entry.key));
                };
                quoted(writer, key)?;
                writer.push(":")?;
                write(machine, writer, &entry.value, depth + 1)?;
            }
            writer.push("}")
        }
        _ => Err(Fault::new(format!("a {} is no JSON", value.kind()))),
    }
}

fn array<'v>(
    machine: &Machine<'_>,
    writer: &mut Writer,
    items: impl Iterator<Item = &'v Value>,
    depth: usize,
) -> Outcome<()> {
    writer.push("[")?;
    for (at, item) in items.enumerate() {
        writer.push(if at > 0 { "," } else { "" })?;
        write(machine, writer, item, depth + 1)?;
    }
    writer.push("]")
}

fn quoted(writer: &mut Writer, text: &str) -> Outcome<()> {
    writer.meter().items(text.len() / 8)?;
    writer.push("\"")?;
    for c in text.chars() {
        match c {
            '"' => writer.push("\\\"")?,
            '\\' => writer.push("\\\\")?,
            '\n' => writer.push("\\n")?,
            '\r' => writer.push("\\r")?,
            '\t' => writer.push("\\t")?,
            c if c.is_control() => writer.push(&format!("\\u{:04x}", u32::from(c)))?,
            c => writer.push_char(c)?,
        }
    }
    writer.push("\"")
}

pub(crate) fn decode(machine: &mut Machine<'_>, arguments: Arguments) -> Outcome<Value> {
    let [Some(value), default] = arguments.take("json.decode", ["x", "default"], 1)? else {
        return Err(absent());
    };
    let Some(text) = value.text() else {
        return Err(Fault::new(format!("json.decode() needs a string, not a {}", value.kind())));
    };
    match read::whole(&machine.meter, text)? {
        Ok(value) => Ok(value),
        Err(wrong) => default.ok_or_else(|| Fault::new(format!("json.decode: {wrong}"))),
    }
}
