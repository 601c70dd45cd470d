//! Elements by number or key, and slices.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::number::Whole;
use crate::value::{Range, Value};
use std::rc::Rc;

impl Machine<'_> {
    pub(crate) fn index(&mut self, object: &Value, index: &Value) -> Outcome<Value> {
        match object {
            Value::List(list) => {
                let at = self.element(index, list.len(), "list")?;
                list.get(at).ok_or_else(|| Fault::new("the list has no such element"))
            }
            Value::Tuple(tuple) => {
                let at = self.element(index, tuple.items().len(), "tuple")?;
                tuple.items().get(at).cloned().ok_or_else(|| Fault::new("the tuple has no such element"))
            }
            Value::Text(text) => {
                let at = self.element(index, text.length(), "string")?;
                if !text.is_plain() {
                    self.meter.copies(text.len())?;
                }
                self.meter.text(text.part(at, at + 1))
            }
            Value::Range(range) => {
                let at = self.element(index, range.length, "range")?;
                Ok(Value::Int(range.get(at)))
            }
            Value::Dict(dict) => dict
                .get(index)?
                .ok_or_else(|| Fault::new(format!("the dict has no key {}", self.brief(index)))),
            _ => Err(Fault::new(format!("a value of type {} has no elements by index", object.kind()))),
        }
    }

    /// An index, which may count from the end, as a position.
    pub(crate) fn element(&self, index: &Value, length: usize, kind: &str) -> Outcome<usize> {
        let Some(whole) = index.whole() else {
            return Err(Fault::new(format!("the index of a {kind} is an int, not a {}", index.kind())));
        };
        let position = match whole {
            Whole::Small(at) if at < 0 => {
                usize::try_from(at.unsigned_abs()).ok().and_then(|back| length.checked_sub(back))
            }
            Whole::Small(at) => usize::try_from(at).ok().filter(|at| *at < length),
            Whole::Big(_) => None,
        };
        position.ok_or_else(|| {
            Fault::new(format!(
                "the index {} is outside the {kind}, which has {length} elements",
                self.brief(index)
            ))
        })
    }

    pub(crate) fn slice(
        &mut self,
        object: &Value,
        start: &Value,
        end: &Value,
        step: &Value,
    ) -> Outcome<Value> {
        let Some(length) = object.length().filter(|_| !matches!(object, Value::Dict(_) | Value::Set(_)))
        else {
            return Err(Fault::new(format!("a value of type {} cannot be sliced", object.kind())));
        };
        let slice = Slice::new(length, start, end, step)?;
        match object {
            Value::List(list) => {
                let items = list.read();
                let gather = self.pick(&items, &slice)?;
                drop(items);
                self.meter.list(gather)
            }
            Value::Tuple(tuple) => {
                let gather = self.pick(tuple.items(), &slice)?;
                self.meter.tuple(gather)
            }
            Value::Text(text) => {
                self.meter.copies(text.len())?;
                if slice.step == 1 {
                    let from = usize::try_from(slice.start).unwrap_or(0);
                    return self.meter.text(text.part(from, from + slice.count));
                }
                let mut writer = self.meter.writer()?;
                let hold = self.meter.hold(text.length().saturating_mul(size_of::<char>()))?;
                let characters: Vec<char> = text.chars().collect();
                for at in slice.positions() {
                    self.meter.step()?;
                    writer.push_char(characters.get(at).copied().unwrap_or(' '))?;
                }
                drop(hold);
                Ok(writer.finish())
            }
            Value::Range(range) => self.slice_range(range, &slice),
            _ => Err(Fault::new("this cannot be sliced")),
        }
    }

    fn pick(&self, items: &[Value], slice: &Slice) -> Outcome<Gather> {
        let mut gather = Gather::with_room(&self.meter, slice.count)?;
        self.meter.items(slice.count / 4)?;
        for at in slice.positions() {
            gather.push(items.get(at).cloned().unwrap_or(Value::None))?;
        }
        Ok(gather)
    }

    fn slice_range(&mut self, range: &Rc<Range>, slice: &Slice) -> Outcome<Value> {
        let start = usize::try_from(slice.start).map_or(range.start, |at| range.get(at));
        let step = range.step.saturating_mul(slice.step);
        let count = i64::try_from(slice.count).unwrap_or(i64::MAX);
        let end = start.saturating_add(step.saturating_mul(count));
        let hold = self.meter.hold(96)?;
        Ok(Value::Range(Rc::new(Range { start, end, step, length: slice.count, _hold: hold })))
    }
}

/// Which positions a slice takes.
struct Slice {
    start: i64,
    step: i64,
    count: usize,
}

impl Slice {
    fn new(length: usize, start: &Value, end: &Value, step: &Value) -> Outcome<Self> {
        let step = bound(step)?.unwrap_or(1);
        if step == 0 {
            return Err(Fault::new("the step of a slice cannot be zero"));
        }
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let place = |value: Option<i64>, otherwise: i64| match value {
            None => otherwise,
            Some(value) if value < 0 => value.saturating_add(length).clamp(low, high),
            Some(value) => value.clamp(low, high),
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let start = place(bound(start)?, first);
        let end = place(bound(end)?, last);
        let distance = if step > 0 { end.saturating_sub(start) } else { start.saturating_sub(end) };
        let count = if distance <= 0 {
            0
        } else {
            let stride = step.unsigned_abs();
            usize::try_from((distance.unsigned_abs() - 1) / stride + 1).unwrap_or(usize::MAX)
        };
        Ok(Self { start, step, count })
    }

    fn positions(&self) -> impl Iterator<Item = usize> {
        let (start, step) = (self.start, self.step);
        (0..self.count).map(move |at| {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            usize::try_from(start.saturating_add(at.saturating_mul(step))).unwrap_or(usize::MAX)
        })
    }
}

/// A bound of a slice; one beyond any length is as good as the end.
pub(crate) fn bound(value: &Value) -> Outcome<Option<i64>> {
    match value {
        Value::None => Ok(None),
        Value::Int(value) => Ok(Some(*value)),
        Value::Big(_) => {
            let negative = value.whole().is_some_and(|whole| whole.is_negative());
            Ok(Some(if negative { i64::MIN } else { i64::MAX }))
        }
        _ => Err(Fault::new(format!("the bounds of a slice are ints, not {}", value.kind()))),
    }
}
