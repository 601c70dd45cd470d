//! Values across the border of the interpreter, as JSON.

use crate::eval::Names;
use crate::fault::{Fault, Outcome};
use crate::meter::{Gather, Hold, Meter};
use crate::value::table::Table;
use crate::value::{Value, hash, show};
use serde_json::{Map, Number};
use std::rc::Rc;

/// How deep JSON may be nested: as deep as others read it.
pub(crate) const MAX_DEPTH: usize = 100;

/// What a JSON value costs at least.
const NODE: usize = 96;

/// Values on their way out; what they become is paid for until this is dropped.
pub(crate) struct Outgoing<'a> {
    meter: &'a Rc<Meter>,
    names: &'a Names,
    hold: Hold,
    depth: usize,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn new(meter: &'a Rc<Meter>, names: &'a Names) -> Outcome<Self> {
        Ok(Self { meter, names, hold: meter.hold(0)?, depth: 0 })
    }

    pub(crate) fn value(&mut self, value: &Value) -> Outcome<serde_json::Value> {
        self.meter.step()?;
        self.hold.grow(NODE)?;
        Ok(match value {
            Value::None => serde_json::Value::Null,
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Int(value) => serde_json::Value::from(*value),
            Value::Big(big) => match u64::try_from(&big.value) {
                Ok(value) => serde_json::Value::from(value),
                Err(_) => return Err(Fault::new("an int is too large for JSON: it has more than 64 bits")),
            },
            Value::Float(value) => match Number::from_f64(*value) {
                Some(number) => serde_json::Value::Number(number),
                None => return Err(not_finite()),
            },
            Value::Text(text) => serde_json::Value::String(self.text(text)?),
            Value::List(list) => self.deeper(|out| out.items(list.read().iter()))?,
            Value::Tuple(tuple) => self.deeper(|out| out.items(tuple.items().iter()))?,
            Value::Set(set) => self.deeper(|out| out.items(set.read().iter().map(|entry| &entry.key)))?,
            Value::Range(range) => self.deeper(|out| {
                let numbers = (0..range.length).map(|at| Value::Int(range.get(at)));
                let mut array = Vec::new();
                for number in numbers {
                    array.push(out.value(&number)?);
                }
                Ok(serde_json::Value::Array(array))
            })?,
            Value::Dict(dict) => self.deeper(|out| out.object(&dict.read()))?,
            Value::Function(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Host(_)
            | Value::Namespace(_) => {
                return Err(Fault::new(format!("a {} is no JSON", value.kind())));
            }
        })
    }

    fn text(&mut self, text: &str) -> Outcome<String> {
        self.meter.copies(text.len())?;
        self.hold.grow(text.len())?;
        Ok(text.to_owned())
    }

    fn deeper(
        &mut self,
        convert: impl FnOnce(&mut Self) -> Outcome<serde_json::Value>,
    ) -> Outcome<serde_json::Value> {
        self.meter.descend()?;
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        let converted = convert(self);
        self.depth -= 1;
        converted
    }

    fn items<'v>(&mut self, items: impl Iterator<Item = &'v Value>) -> Outcome<serde_json::Value> {
        let mut array = Vec::new();
        for item in items {
            array.push(self.value(item)?);
        }
        Ok(serde_json::Value::Array(array))
    }

    fn object(&mut self, table: &Table) -> Outcome<serde_json::Value> {
        let mut object = Map::new();
        for entry in table.iter() {
            let Some(key) = entry.key.text() else { return Err(bad_key(self.meter, self.names, &entry.key)) };
            let key = self.text(key)?;
            object.insert(key, self.value(&entry.value)?);
        }
        Ok(serde_json::Value::Object(object))
    }
}

pub(crate) fn not_finite() -> Fault {
    Fault::new("a float that is not finite is no JSON")
}

pub(crate) fn too_deep() -> Fault {
    Fault::new(format!("a value nested more than {MAX_DEPTH} deep, or in itself, is no JSON"))
}

pub(crate) fn bad_key(meter: &Rc<Meter>, names: &Names, key: &Value) -> Fault {
    let key = format!("{} ({})", show::brief(meter, names, key), key.kind());
    Fault::new(format!("the keys of a JSON object are strings, and a dict has the key {key}"))
}

/// JSON on its way in.
pub(crate) fn incoming(meter: &Rc<Meter>, value: &serde_json::Value) -> Outcome<Value> {
    nested(meter, value, 0)
}

fn nested(meter: &Rc<Meter>, value: &serde_json::Value, depth: usize) -> Outcome<Value> {
    meter.step()?;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(match value {
        serde_json::Value::Null => Value::None,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => self::number(meter, number)?,
        serde_json::Value::String(text) => meter.text(text)?,
        serde_json::Value::Array(items) => {
            let mut gather = Gather::with_room(meter, items.len())?;
            for item in items {
                gather.push(nested(meter, item, depth + 1)?)?;
            }
            meter.list(gather)?
        }
        serde_json::Value::Object(entries) => {
            let mut table = Table::new(meter)?;
            for (key, value) in entries {
                let key = meter.text(key)?;
                let hash = hash::of(meter, &key)?;
                table.insert(hash, key, nested(meter, value, depth + 1)?)?;
            }
            Value::Dict(meter.dict(table)?)
        }
    })
}

fn number(meter: &Rc<Meter>, number: &Number) -> Outcome<Value> {
    if let Some(value) = number.as_i64() {
        return Ok(Value::Int(value));
    }
    if let Some(value) = number.as_u64() {
        return meter.whole(crate::number::Whole::from(num_bigint::BigInt::from(value)));
    }
    number.as_f64().map(Value::Float).ok_or_else(|| Fault::new("a JSON number fits no number"))
}
