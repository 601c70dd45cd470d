//! Calls: arguments are gathered, bound to parameters, and counted against the depth.

use super::{Arguments, Flow, Frame, Machine, Slot};
use crate::convert;
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::syntax::{Argument, Function};
use crate::value::table::Table;
use crate::value::{Closure, Value, walk};
use std::rc::Rc;
use std::sync::Arc;

impl Machine<'_> {
    /// Evaluates what stands between the parentheses.
    pub(super) fn arguments(&mut self, arguments: &[Argument]) -> Outcome<Arguments> {
        let mut gathered = Arguments::new(&self.meter)?;
        for argument in arguments {
            match argument {
                Argument::Positional(value) => {
                    let value = self.eval(value)?;
                    gathered.positional.push(value)?;
                }
                Argument::Named(name, value) => {
                    let value = self.eval(value)?;
                    gathered.name(Arc::clone(name), value)?;
                }
                Argument::Sequence(value) => {
                    let value = self.eval(value)?;
                    let items = walk::collect(&self.meter, &value)?;
                    gathered.positional.extend(&items.items)?;
                }
                Argument::Mapping(value) => {
                    let value = self.eval(value)?;
                    self.spread(&value, &mut gathered)?;
                }
            }
        }
        Ok(gathered)
    }

    fn spread(&mut self, value: &Value, into: &mut Arguments) -> Outcome<()> {
        let Value::Dict(dict) = value else {
            return Err(Fault::new(format!("`**` needs a dict, not a {}", value.kind())));
        };
        for entry in dict.read().iter() {
            self.meter.step()?;
            let Some(name) = entry.key.text() else {
                return Err(Fault::new(format!(
                    "`**` needs keys that are strings, not {}",
                    entry.key.kind()
                )));
            };
            if into.named.iter().take(256).any(|(known, _)| **known == ***name) {
                return Err(Fault::new(format!("the argument `{}` is given twice", self.brief(&entry.key))));
            }
            into.name(Arc::from(&***name), entry.value.clone())?;
        }
        Ok(())
    }

    /// Calls whatever can be called.
    pub(crate) fn call(&mut self, callee: &Value, arguments: Arguments) -> Outcome<Value> {
        self.meter.step()?;
        match callee {
            Value::Function(closure) => self.call_function(closure, arguments),
            Value::Builtin(builtin) => (builtin.run)(self, arguments),
            Value::Method(bound) => (bound.method.run)(self, &bound.receiver, arguments),
            Value::Host(number) => self.call_host(*number, arguments),
            _ => Err(Fault::new(format!("a value of type {} cannot be called", callee.kind()))),
        }
    }

    fn call_host(&mut self, number: usize, mut arguments: Arguments) -> Outcome<Value> {
        let name = self.names.function(number);
        let mut outgoing = convert::Outgoing::new(&self.meter, &self.names)?;
        let mut positional = Vec::new();
        for value in &arguments.positional.items {
            positional.push(outgoing.value(value)?);
        }
        let mut named = serde_json::Map::new();
        for (name, value) in arguments.named.drain(..) {
            named.insert(name.to_string(), outgoing.value(&value)?);
        }
        let answer = self.host.call(name, positional, named).map_err(Fault::new)?;
        convert::incoming(&self.meter, &answer)
    }

    fn call_function(&mut self, closure: &Rc<Closure>, arguments: Arguments) -> Outcome<Value> {
        let code = &closure.code;
        self.meter.descend()?;
        if self.depth >= self.meter.limits().depth {
            let most = self.meter.limits().depth;
            return Err(Fault::new(format!("more than {most} calls are within each other")));
        }
        if self.active.get(code.id).copied().unwrap_or(false) {
            return Err(Fault::new(format!("{}() calls itself; Starlark has no recursion", code.name)));
        }
        let slots = self.bind(closure, arguments)?;
        let frame = Frame { slots, closure: Some(Rc::clone(closure)) };
        let outer = std::mem::replace(&mut self.frame, frame);
        self.enter(code, true);
        let flow = self.block(&code.body);
        self.enter(code, false);
        self.frame = outer;
        match flow.map_err(|fault| fault.leaving(&code.name))? {
            Flow::Return(value) => Ok(value),
            Flow::Next | Flow::Break | Flow::Continue => Ok(Value::None),
        }
    }

    fn enter(&mut self, code: &Function, within: bool) {
        if let Some(active) = self.active.get_mut(code.id) {
            *active = within;
        }
        self.depth = if within { self.depth + 1 } else { self.depth.saturating_sub(1) };
    }

    /// Arguments into the slots of a new frame.
    fn bind(&mut self, closure: &Closure, mut arguments: Arguments) -> Outcome<Vec<Slot>> {
        let code = &*closure.code;
        let parameters = &code.parameters;
        let mut slots = self.slots(&code.scope)?;
        let mut bound = vec![None; parameters.names.len()];
        let mut rest = Gather::new(&self.meter)?;
        let given = arguments.positional.items.len();
        for (at, value) in arguments.positional.items.drain(..).enumerate() {
            match bound.get_mut(at).filter(|_| at < parameters.positional) {
                Some(slot) => *slot = Some(value),
                None => rest.push(value)?,
            }
        }
        if parameters.rest.is_none() && !rest.items.is_empty() {
            let most = parameters.positional;
            let said =
                format!("{}() takes at most {most} positional arguments, and {given} are given", code.name);
            return Err(Fault::new(said));
        }
        let keywords = self.bind_named(code, &mut bound, arguments)?;
        fill_defaults(code, &closure.defaults.items, &mut bound)?;
        let mut values = bound.into_iter().flatten().collect::<Vec<_>>();
        if parameters.rest.is_some() {
            values.push(self.meter.tuple(rest)?);
        }
        if let Some(keywords) = keywords {
            values.push(Value::Dict(self.meter.dict(keywords)?));
        }
        for (slot, value) in slots.iter_mut().zip(values) {
            match slot {
                Slot::Shared(variable) => variable.set(Some(value)),
                Slot::Empty | Slot::Value(_) => *slot = Slot::Value(value),
            }
        }
        Ok(slots)
    }

    /// Named arguments to their parameters; the answer is what `**kwargs` gets.
    fn bind_named(
        &mut self,
        code: &Function,
        bound: &mut [Option<Value>],
        mut arguments: Arguments,
    ) -> Outcome<Option<Table>> {
        let mut keywords = match code.parameters.keywords {
            Some(_) => Some(Table::new(&self.meter)?),
            None => None,
        };
        for (name, value) in arguments.named.drain(..) {
            let at = code.parameters.names.iter().position(|parameter| parameter.name == name);
            if let Some(slot) = at.and_then(|at| bound.get_mut(at)) {
                if slot.replace(value).is_some() {
                    return Err(Fault::new(format!("{}() gets two values for `{name}`", code.name)));
                }
            } else if let Some(keywords) = &mut keywords {
                let key = self.meter.text(&name)?;
                let hash = crate::value::hash::of(&self.meter, &key)?;
                keywords.insert(hash, key, value)?;
            } else {
                return Err(Fault::new(format!("{}() has no parameter `{name}`", code.name)));
            }
        }
        Ok(keywords)
    }
}

fn fill_defaults(code: &Function, defaults: &[Value], bound: &mut [Option<Value>]) -> Outcome<()> {
    let mut defaults = defaults.iter();
    for (parameter, slot) in code.parameters.names.iter().zip(bound) {
        let default = if parameter.default.is_some() { defaults.next() } else { None };
        if slot.is_none() {
            *slot = default.cloned();
        }
        if slot.is_none() {
            return Err(Fault::new(format!("{}() needs the argument `{}`", code.name, parameter.name)));
        }
    }
    Ok(())
}
