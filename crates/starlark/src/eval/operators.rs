//! Operators on values.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::format;
use crate::meter::Gather;
use crate::number::{Whole, divide_floats, truncated};
use crate::syntax::Binary;
use crate::value::table::Table;
use crate::value::{Value, order};
use std::cmp::Ordering;

impl Machine<'_> {
    pub(crate) fn binary(&mut self, operator: Binary, a: &Value, b: &Value) -> Outcome<Value> {
        if let (Value::Int(a), Value::Int(b)) = (a, b)
            && let Some(value) = small(operator, *a, *b)
        {
            return Ok(value);
        }
        match operator {
            Binary::Equal => Ok(Value::Bool(order::equal(&self.meter, a, b)?)),
            Binary::Differ => Ok(Value::Bool(!order::equal(&self.meter, a, b)?)),
            Binary::Less => self.ordered(a, b, Ordering::is_lt),
            Binary::Greater => self.ordered(a, b, Ordering::is_gt),
            Binary::AtMost => self.ordered(a, b, Ordering::is_le),
            Binary::AtLeast => self.ordered(a, b, Ordering::is_ge),
            Binary::In => Ok(Value::Bool(self.contains(b, a)?)),
            Binary::NotIn => Ok(Value::Bool(!self.contains(b, a)?)),
            _ => match self.joined(operator, a, b)? {
                Some(value) => Ok(value),
                None => self.arithmetic(operator, a, b),
            },
        }
    }

    fn ordered(&self, a: &Value, b: &Value, wanted: fn(Ordering) -> bool) -> Outcome<Value> {
        Ok(Value::Bool(wanted(order::compare(&self.meter, a, b)?)))
    }

    /// `item in container`.
    fn contains(&mut self, container: &Value, item: &Value) -> Outcome<bool> {
        match (container, item) {
            (Value::Dict(dict), _) => Ok(dict.get(item)?.is_some()),
            (Value::Set(set), _) => set.contains(item),
            (Value::Text(text), Value::Text(part)) => {
                self.meter.copies(text.len().saturating_mul(8))?;
                Ok(text.contains(&***part))
            }
            (Value::Text(_), _) => {
                Err(Fault::new(format!("`in` a string needs a string, not a {}", item.kind())))
            }
            (Value::List(list), _) => self.among(&list.read(), item),
            (Value::Tuple(tuple), _) => self.among(tuple.items(), item),
            (Value::Range(range), Value::Int(item)) => {
                let within = if range.step > 0 {
                    *item >= range.start && *item < range.end
                } else {
                    *item <= range.start && *item > range.end
                };
                let distance = i128::from(*item) - i128::from(range.start);
                Ok(within && distance % i128::from(range.step) == 0)
            }
            (Value::Range(_), Value::Float(item)) => match truncated(*item) {
                Some(Whole::Small(whole)) if item.fract() == 0.0 => {
                    self.contains(container, &Value::Int(whole))
                }
                _ => Ok(false),
            },
            (Value::Range(_), Value::Big(_)) => Ok(false),
            _ => Err(unsupported(Binary::In, item, container)),
        }
    }

    fn among(&self, items: &[Value], wanted: &Value) -> Outcome<bool> {
        for item in items {
            self.meter.step()?;
            if order::equal(&self.meter, item, wanted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Operators that join, repeat or fill in; `None` if the values are not of that kind.
    fn joined(&mut self, operator: Binary, a: &Value, b: &Value) -> Outcome<Option<Value>> {
        Ok(Some(match (operator, a, b) {
            (Binary::Add, Value::Text(a), Value::Text(b)) => {
                let mut writer = self.meter.writer()?;
                writer.room(a.len().saturating_add(b.len()))?;
                writer.push(a)?;
                writer.push(b)?;
                writer.finish()
            }
            (Binary::Add, Value::List(a), Value::List(b)) => {
                let mut items = Gather::with_room(&self.meter, a.len() + b.len())?;
                items.extend(&a.read())?;
                items.extend(&b.read())?;
                self.meter.list(items)?
            }
            (Binary::Add, Value::Tuple(a), Value::Tuple(b)) => {
                let mut items = Gather::with_room(&self.meter, a.items().len() + b.items().len())?;
                items.extend(a.items())?;
                items.extend(b.items())?;
                self.meter.tuple(items)?
            }
            (Binary::Multiply, _, Value::Int(_) | Value::Big(_)) => return self.repeated(a, b),
            (Binary::Multiply, Value::Int(_) | Value::Big(_), _) => return self.repeated(b, a),
            (Binary::Remainder, Value::Text(text), _) => format::percent(self, text, b)?,
            (Binary::BitOr, Value::Dict(a), Value::Dict(b)) => {
                let mut table = Table::new(&self.meter)?;
                table.extend(&a.read())?;
                table.extend(&b.read())?;
                Value::Dict(self.meter.dict(table)?)
            }
            (
                Binary::BitOr | Binary::BitAnd | Binary::Subtract | Binary::BitXor,
                Value::Set(_),
                Value::Set(_),
            ) => {
                let table = self.combine_sets(operator, a, b)?;
                self.meter.set(table)?
            }
            _ => return Ok(None),
        }))
    }

    /// Union, intersection, difference or symmetric difference.
    pub(crate) fn combine_sets(&mut self, operator: Binary, a: &Value, b: &Value) -> Outcome<Table> {
        let mut table = Table::new(&self.meter)?;
        let (Value::Set(a), Value::Set(b)) = (a, b) else { return Err(unsupported(operator, a, b)) };
        let (a, b) = (a.read(), b.read());
        for entry in a.iter() {
            self.meter.step()?;
            let both = b.get(entry.hash, &entry.key)?.is_some();
            let wanted = match operator {
                Binary::BitOr => true,
                Binary::BitAnd => both,
                _ => !both,
            };
            if wanted {
                table.insert(entry.hash, entry.key.clone(), Value::None)?;
            }
        }
        if matches!(operator, Binary::BitOr | Binary::BitXor) {
            for entry in b.iter() {
                self.meter.step()?;
                if a.get(entry.hash, &entry.key)?.is_none() {
                    table.insert(entry.hash, entry.key.clone(), Value::None)?;
                }
            }
        }
        Ok(table)
    }

    fn arithmetic(&mut self, operator: Binary, a: &Value, b: &Value) -> Outcome<Value> {
        if let (Some(a), Some(b)) = (a.whole(), b.whole()) {
            let cost = match operator {
                Binary::Multiply | Binary::Divide | Binary::FloorDivide | Binary::Remainder => {
                    a.words() * b.words()
                }
                _ => a.words() + b.words(),
            };
            self.meter.steps(cost / 16)?;
            return self.wholes(operator, &a, &b);
        }
        let (Some(left), Some(right)) = (float(a)?, float(b)?) else {
            return Err(unsupported(operator, a, b));
        };
        floats(operator, left, right).unwrap_or_else(|| Err(unsupported(operator, a, b)))
    }

    fn wholes(&mut self, operator: Binary, a: &Whole, b: &Whole) -> Outcome<Value> {
        let result = match operator {
            Binary::Add => a.add(b),
            Binary::Subtract => a.subtract(b),
            Binary::Multiply => a.multiply(b),
            Binary::Divide => {
                return floats(operator, a.float()?, b.float()?)
                    .unwrap_or_else(|| Err(Fault::new("ints cannot be divided like that")));
            }
            Binary::FloorDivide => a.divide(b).map(|(quotient, _)| quotient),
            Binary::Remainder => a.divide(b).map(|(_, remainder)| remainder),
            Binary::BitOr => a.bitwise(b, |a, b| a | b, |a, b| a | b),
            Binary::BitXor => a.bitwise(b, |a, b| a ^ b, |a, b| a ^ b),
            Binary::BitAnd => a.bitwise(b, |a, b| a & b, |a, b| a & b),
            Binary::ShiftLeft => a.shift_left(b),
            Binary::ShiftRight => a.shift_right(b),
            _ => Err(Fault::new(format!("`{}` is no arithmetic", operator.sign()))),
        };
        self.meter.whole(result?)
    }
}

/// The common case, without the detour.
fn small(operator: Binary, a: i64, b: i64) -> Option<Value> {
    match operator {
        Binary::Add => a.checked_add(b).map(Value::Int),
        Binary::Subtract => a.checked_sub(b).map(Value::Int),
        Binary::Multiply => a.checked_mul(b).map(Value::Int),
        Binary::Equal => Some(Value::Bool(a == b)),
        Binary::Differ => Some(Value::Bool(a != b)),
        Binary::Less => Some(Value::Bool(a < b)),
        Binary::Greater => Some(Value::Bool(a > b)),
        Binary::AtMost => Some(Value::Bool(a <= b)),
        Binary::AtLeast => Some(Value::Bool(a >= b)),
        Binary::BitAnd => Some(Value::Int(a & b)),
        Binary::BitOr => Some(Value::Int(a | b)),
        Binary::BitXor => Some(Value::Int(a ^ b)),
        _ => None,
    }
}

fn float(value: &Value) -> Outcome<Option<f64>> {
    match value {
        Value::Float(value) => Ok(Some(*value)),
        _ => value.whole().map(|whole| whole.float()).transpose(),
    }
}

/// Arithmetic on floats; `None` if the operator has no meaning for them.
fn floats(operator: Binary, a: f64, b: f64) -> Option<Outcome<Value>> {
    let divides = matches!(operator, Binary::Divide | Binary::FloorDivide | Binary::Remainder);
    if divides && b == 0.0 {
        return Some(Err(Fault::new("division by zero")));
    }
    let value = match operator {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::FloorDivide => divide_floats(a, b).0,
        Binary::Remainder => divide_floats(a, b).1,
        _ => return None,
    };
    Some(Ok(Value::Float(value)))
}

fn unsupported(operator: Binary, a: &Value, b: &Value) -> Fault {
    Fault::new(format!("`{}` cannot be applied to {} and {}", operator.sign(), a.kind(), b.kind()))
}
