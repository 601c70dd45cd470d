//! Comprehensions: loops that give a list or a dict. Their variables are made anew each time.

use super::{Machine, Slot};
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::syntax::{Body, Capture, Clause, Comprehension};
use crate::value::table::Table;
use crate::value::walk::Walk;
use crate::value::{Dict, Value, Variable};
use std::rc::Rc;

/// What a comprehension fills.
enum Filled {
    List(Gather),
    Dict(Rc<Dict>),
}

impl Machine<'_> {
    pub(super) fn comprehension(&mut self, comprehension: &Comprehension) -> Outcome<Value> {
        let mut filled = match comprehension.body {
            Body::Item(_) => Filled::List(Gather::new(&self.meter)?),
            Body::Entry(..) => Filled::Dict(self.meter.dict(Table::new(&self.meter)?)?),
        };
        // What it goes over first belongs to what is around it.
        let Some((Clause::For(target, over), rest)) = comprehension.clauses.split_first() else {
            return Err(Fault::new("a comprehension begins with `for`"));
        };
        let over_span = over.span;
        let over = self.eval(over)?;
        let kept = self.renew(comprehension.slots)?;
        let walk = Walk::over(&over).map_err(|fault| fault.passing(over_span));
        let result = walk.and_then(|mut walk| {
            while let Some(item) = walk.next() {
                self.meter.step()?;
                self.assign(target, item)?;
                self.clauses(rest, &comprehension.body, &mut filled)?;
            }
            Ok(())
        });
        self.restore(comprehension.slots, kept);
        result?;
        match filled {
            Filled::List(items) => self.meter.list(items),
            Filled::Dict(dict) => Ok(Value::Dict(dict)),
        }
    }

    fn clauses(&mut self, clauses: &[Clause], body: &Body, filled: &mut Filled) -> Outcome<()> {
        self.meter.descend()?;
        match clauses.split_first() {
            Some((Clause::If(condition), rest)) => {
                if self.eval(condition)?.truth() {
                    self.clauses(rest, body, filled)?;
                }
            }
            Some((Clause::For(target, over), rest)) => {
                let span = over.span;
                let over = self.eval(over)?;
                let mut walk = Walk::over(&over).map_err(|fault| fault.passing(span))?;
                while let Some(item) = walk.next() {
                    self.meter.step()?;
                    self.assign(target, item)?;
                    self.clauses(rest, body, filled)?;
                }
            }
            None => self.fill(body, filled)?,
        }
        Ok(())
    }

    fn fill(&mut self, body: &Body, filled: &mut Filled) -> Outcome<()> {
        match (body, filled) {
            (Body::Item(item), Filled::List(items)) => items.push(self.eval(item)?),
            (Body::Entry(key, value), Filled::Dict(dict)) => {
                let span = key.span;
                let key = self.eval(key)?;
                let value = self.eval(value)?;
                dict.insert(key, value).map_err(|fault| fault.passing(span))
            }
            _ => Ok(()),
        }
    }

    /// Empties slots and makes their shared variables anew; the answer is what was in them.
    fn renew(&mut self, (from, to): (usize, usize)) -> Outcome<Vec<Slot>> {
        let mut kept = Vec::new();
        for slot in self.frame.slots.iter_mut().take(to).skip(from) {
            let fresh = match slot {
                Slot::Shared(_) => Slot::Shared(Variable::new(&self.meter)?),
                Slot::Empty | Slot::Value(_) => Slot::Empty,
            };
            kept.push(std::mem::replace(slot, fresh));
        }
        Ok(kept)
    }

    fn restore(&mut self, (from, to): (usize, usize), kept: Vec<Slot>) {
        let slots = self.frame.slots.iter_mut().take(to).skip(from);
        for (slot, kept) in slots.zip(kept) {
            *slot = kept;
        }
    }

    /// The variables that a function takes from the current frame.
    pub(super) fn capture(&mut self, captures: &[Capture]) -> Outcome<Vec<Rc<Variable>>> {
        let mut variables = Vec::with_capacity(captures.len());
        for capture in captures {
            let variable = match capture {
                Capture::Local(slot, _) => match self.frame.slots.get(*slot) {
                    Some(Slot::Shared(variable)) => Some(variable),
                    _ => None,
                },
                Capture::Free(number, _) => self.captured(*number),
            };
            let missing = || Fault::new(format!("`{}` cannot be captured", capture.name()));
            variables.push(Rc::clone(variable.ok_or_else(missing)?));
        }
        Ok(variables)
    }
}
