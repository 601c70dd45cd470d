//! Going over a value, element by element. What is gone over cannot change meanwhile.

use super::{Dict, List, Range, Set, Tuple, Value};
use crate::fault::{Fault, Outcome};
use crate::meter::{Gather, Meter};
use std::rc::Rc;

pub(crate) struct Walk {
    over: Over,
    at: usize,
}

enum Over {
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<Set>),
    Range(Rc<Range>),
}

impl Walk {
    /// Begins, or says what cannot be gone over.
    pub(crate) fn over(value: &Value) -> Outcome<Self> {
        let over = match value {
            Value::List(list) => {
                list.walked.begin();
                Over::List(Rc::clone(list))
            }
            Value::Tuple(tuple) => Over::Tuple(Rc::clone(tuple)),
            Value::Dict(dict) => {
                dict.walked.begin();
                Over::Dict(Rc::clone(dict))
            }
            Value::Set(set) => {
                set.walked.begin();
                Over::Set(Rc::clone(set))
            }
            Value::Range(range) => Over::Range(Rc::clone(range)),
            Value::Text(_) => {
                return Err(Fault::new("a string is not iterable; use .elems() or .splitlines()"));
            }
            _ => return Err(Fault::new(format!("a value of type {} is not iterable", value.kind()))),
        };
        Ok(Self { over, at: 0 })
    }

    pub(crate) fn next(&mut self) -> Option<Value> {
        let at = self.at;
        self.at += 1;
        match &self.over {
            Over::List(list) => list.get(at),
            Over::Tuple(tuple) => tuple.items().get(at).cloned(),
            Over::Dict(dict) => {
                let table = dict.read();
                let (found, entry) = table.next(at)?;
                self.at = found + 1;
                Some(entry.key.clone())
            }
            Over::Set(set) => {
                let table = set.read();
                let (found, entry) = table.next(at)?;
                self.at = found + 1;
                Some(entry.key.clone())
            }
            Over::Range(range) => (at < range.length).then(|| Value::Int(range.get(at))),
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        match &self.over {
            Over::List(list) => list.walked.end(),
            Over::Dict(dict) => dict.walked.end(),
            Over::Set(set) => set.walked.end(),
            Over::Tuple(_) | Over::Range(_) => {}
        }
    }
}

/// All elements of a value.
pub(crate) fn collect(meter: &Rc<Meter>, value: &Value) -> Outcome<Gather> {
    let mut walk = Walk::over(value)?;
    let mut gather = Gather::with_room(meter, value.length().unwrap_or(0))?;
    while let Some(item) = walk.next() {
        meter.step()?;
        gather.push(item)?;
    }
    Ok(gather)
}
