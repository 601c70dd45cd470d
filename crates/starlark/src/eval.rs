//! The machine that runs a program: its variables, its names from outside, its frame.

use crate::Host;
use crate::builtins;
use crate::fault::{Fault, Outcome};
use crate::meter::Meter;
use crate::number::Whole;
use crate::resolve::Code;
use crate::syntax::{Literal, Name, Place, Scope, Span};
use crate::value::{Closure, Value, Variable};
use std::rc::Rc;
use std::sync::Arc;

mod access;
pub(crate) mod arguments;
mod assign;
mod calls;
mod comprehensions;
mod expressions;
pub(crate) mod index;
mod names;
pub(crate) mod operators;
mod repeat;
mod statements;

pub(crate) use arguments::Arguments;
pub(crate) use names::Names;

/// A running program.
pub(crate) struct Machine<'h> {
    pub(crate) meter: Rc<Meter>,
    pub(crate) names: Rc<Names>,
    pub(crate) host: &'h mut dyn Host,
    literals: Vec<Value>,
    globals: Vec<Option<Value>>,
    outside: Vec<Value>,
    frame: Frame,
    /// The functions that are being called, by number.
    active: Vec<bool>,
    depth: u32,
}

/// The variables of one call.
#[derive(Default)]
struct Frame {
    slots: Vec<Slot>,
    closure: Option<Rc<Closure>>,
}

#[derive(Clone)]
enum Slot {
    Empty,
    Value(Value),
    /// A variable that an inner function uses too.
    Shared(Rc<Variable>),
}

/// How a block ended.
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

impl<'h> Machine<'h> {
    /// Makes the machine; a name that neither program nor host knows is a fault before anything runs.
    pub(crate) fn new(code: &Code, host: &'h mut dyn Host, meter: &Rc<Meter>) -> Outcome<Self> {
        let names = Rc::new(Names::new(host.functions()));
        let mut outside = Vec::new();
        for (name, span) in &code.outside {
            outside.push(outside_value(&names, name).ok_or_else(|| undefined(name, *span))?);
        }
        let mut machine = Self {
            meter: Rc::clone(meter),
            names,
            host,
            literals: Vec::new(),
            globals: vec![None; code.globals.len()],
            outside,
            frame: Frame::default(),
            active: vec![false; code.functions],
            depth: 0,
        };
        for literal in &code.literals {
            let value = match literal {
                Literal::Text(text) => meter.text(text)?,
                Literal::Big(value) => meter.whole(Whole::Big(value.clone()))?,
            };
            machine.literals.push(value);
        }
        machine.frame.slots = machine.slots(&code.scope)?;
        Ok(machine)
    }

    /// Runs the program from its first line to its last.
    pub(crate) fn module(&mut self, code: &Code) -> Outcome<()> {
        self.block(&code.body).map(|_| ())
    }

    /// The value of a variable of the module.
    pub(crate) fn global(&self, number: usize) -> Option<&Value> {
        self.globals.get(number).and_then(Option::as_ref)
    }

    /// Fresh slots for a frame.
    fn slots(&self, scope: &Scope) -> Outcome<Vec<Slot>> {
        let mut slots = vec![Slot::Empty; scope.slots.len()];
        for shared in &scope.shared {
            if let Some(slot) = slots.get_mut(*shared) {
                *slot = Slot::Shared(Variable::new(&self.meter)?);
            }
        }
        Ok(slots)
    }

    fn read(&self, name: &Name) -> Outcome<Value> {
        let found = match name.place {
            Place::Local(slot) => match self.frame.slots.get(slot) {
                Some(Slot::Value(value)) => Some(value.clone()),
                Some(Slot::Shared(variable)) => variable.get(),
                _ => None,
            },
            Place::Free(number) => self.captured(number).and_then(|variable| variable.get()),
            Place::Global(number) => self.global(number).cloned(),
            Place::Outside(number) => self.outside.get(number).cloned(),
        };
        found.ok_or_else(|| Fault::new(format!("`{}` is used before it has a value", name.text)))
    }

    fn captured(&self, number: usize) -> Option<&Rc<Variable>> {
        self.frame.closure.as_ref()?.captured.get(number)
    }

    fn write(&mut self, name: &Name, value: Value) -> Outcome<()> {
        match name.place {
            Place::Local(slot) => match self.frame.slots.get_mut(slot) {
                Some(Slot::Shared(variable)) => variable.set(Some(value)),
                Some(slot) => *slot = Slot::Value(value),
                None => return Err(lost(&name.text)),
            },
            Place::Global(number) => match self.globals.get_mut(number) {
                Some(slot) => *slot = Some(value),
                None => return Err(lost(&name.text)),
            },
            Place::Free(_) | Place::Outside(_) => return Err(lost(&name.text)),
        }
        Ok(())
    }
}

/// What a name from outside means.
pub(crate) fn outside_value(names: &Names, name: &str) -> Option<Value> {
    builtins::global(name).map(Value::Builtin).or_else(|| names.outside(name))
}

pub(crate) fn undefined(name: &Arc<str>, span: Span) -> Fault {
    Fault::at(format!("`{name}` is not defined"), span)
}

fn lost(name: &str) -> Fault {
    Fault::new(format!("`{name}` cannot be assigned to"))
}
