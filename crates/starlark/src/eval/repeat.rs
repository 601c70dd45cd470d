//! `x * n`: repetition of strings, lists and tuples, and ranges, which repeat nothing.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::meter::{Gather, Meter};
use crate::value::{Range, Value};
use std::rc::Rc;

impl Machine<'_> {
    /// A sequence so many times; `None` if it is no sequence.
    pub(super) fn repeated(&mut self, value: &Value, times: &Value) -> Outcome<Option<Value>> {
        if !matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_)) {
            return Ok(None);
        }
        let times = match times.whole() {
            Some(whole) if whole.is_negative() => 0,
            Some(crate::number::Whole::Small(times)) => usize::try_from(times).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        Ok(Some(match value {
            Value::Text(text) => {
                let mut writer = self.meter.writer()?;
                writer.repeat(text, times)?;
                writer.finish()
            }
            Value::List(list) => {
                let items = self.multiplied(&list.read(), times)?;
                self.meter.list(items)?
            }
            Value::Tuple(tuple) => {
                let items = self.multiplied(tuple.items(), times)?;
                self.meter.tuple(items)?
            }
            _ => return Ok(None),
        }))
    }

    fn multiplied(&self, items: &[Value], times: usize) -> Outcome<Gather> {
        let mut gather = Gather::with_room(&self.meter, items.len().saturating_mul(times))?;
        if !items.is_empty() {
            for _ in 0..times {
                gather.extend(items)?;
            }
        }
        Ok(gather)
    }
}

impl Meter {
    /// A range, which holds no numbers but the first, the end and the step.
    pub(crate) fn range(self: &Rc<Self>, start: i64, end: i64, step: i64) -> Outcome<Value> {
        if step == 0 {
            return Err(Fault::new("the step of a range cannot be zero"));
        }
        let distance = i128::from(end) - i128::from(start);
        let stride = i128::from(step);
        let length = if (distance > 0) == (stride > 0) && distance != 0 {
            (distance.unsigned_abs() - 1) / stride.unsigned_abs() + 1
        } else {
            0
        };
        let Some(length) = usize::try_from(length).ok().filter(|length| i64::try_from(*length).is_ok())
        else {
            return Err(Fault::new("the range is too long"));
        };
        let hold = self.hold(96)?;
        Ok(Value::Range(Rc::new(Range { start, end, step, length, _hold: hold })))
    }
}
