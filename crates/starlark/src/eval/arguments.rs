//! The arguments of a call, and how a built-in function takes them.

use crate::fault::{Fault, Outcome};
use crate::meter::{Gather, Hold, Meter};
use crate::value::Value;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) struct Arguments {
    pub(crate) positional: Gather,
    pub(crate) named: Vec<(Arc<str>, Value)>,
    hold: Hold,
}

impl Arguments {
    pub(crate) fn new(meter: &Rc<Meter>) -> Outcome<Self> {
        Ok(Self { positional: Gather::new(meter)?, named: Vec::new(), hold: meter.hold(0)? })
    }

    /// One positional argument.
    pub(crate) fn single(meter: &Rc<Meter>, value: Value) -> Outcome<Self> {
        let mut arguments = Self::new(meter)?;
        arguments.positional.push(value)?;
        Ok(arguments)
    }

    /// Adds a named one; the name is paid for, because it may come from a dict.
    pub(crate) fn name(&mut self, name: Arc<str>, value: Value) -> Outcome<()> {
        self.hold.grow(name.len().saturating_add(64))?;
        self.named.push((name, value));
        Ok(())
    }

    /// The positional arguments, for a function that takes no named ones.
    pub(crate) fn only_positional(mut self, function: &str) -> Outcome<Gather> {
        if let Some((name, _)) = self.named.first() {
            return Err(Fault::new(format!("{function}() has no parameter `{name}`")));
        }
        let empty = Gather::new(self.hold.meter())?;
        Ok(std::mem::replace(&mut self.positional, empty))
    }

    /// Removes a named argument.
    pub(crate) fn take_named(&mut self, wanted: &str) -> Option<Value> {
        let at = self.named.iter().position(|(name, _)| &**name == wanted)?;
        Some(self.named.swap_remove(at).1)
    }

    /// No argument at all.
    pub(crate) fn none(self, function: &str) -> Outcome<()> {
        let [] = self.take(function, [], 0)?;
        Ok(())
    }

    /// Exactly one argument.
    pub(crate) fn one(self, function: &str) -> Outcome<Value> {
        let [value] = self.take(function, [""], 1)?;
        value.ok_or_else(absent)
    }

    /// Arguments by parameter, of which the first are required; a parameter without a name is given by position only.
    pub(crate) fn take<const N: usize>(
        mut self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Outcome<[Option<Value>; N]> {
        let given = self.positional.items.len();
        if given > N {
            return Err(Fault::new(format!(
                "{function}() takes at most {N} arguments, and {given} are given"
            )));
        }
        let mut taken = [const { None }; N];
        for (slot, value) in taken.iter_mut().zip(self.positional.items.drain(..)) {
            *slot = Some(value);
        }
        for (name, value) in self.named.drain(..) {
            let at = names.iter().position(|known| !known.is_empty() && **known == *name);
            let slot = at.and_then(|at| taken.get_mut(at));
            let Some(slot) = slot else {
                return Err(Fault::new(format!("{function}() has no parameter `{name}`")));
            };
            if slot.replace(value).is_some() {
                return Err(Fault::new(format!("{function}() gets two values for `{name}`")));
            }
        }
        let found = taken.iter().take(required).filter(|slot| slot.is_some()).count();
        if found < required {
            return Err(Fault::new(format!(
                "{function}() needs {required} arguments, and {found} are given"
            )));
        }
        Ok(taken)
    }
}

/// For a pattern that cannot fail once the count was checked.
pub(crate) fn absent() -> Fault {
    Fault::new("an argument is missing")
}

/// Whether an argument was left out or is `None`.
pub(crate) fn given(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !matches!(value, Value::None))
}
