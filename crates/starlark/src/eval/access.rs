//! What follows a value: attributes, calls, indices, slices, one after the other.

use super::Machine;
use crate::builtins;
use crate::fault::{Fault, Outcome};
use crate::syntax::{Expr, Step, StepKind};
use crate::value::{Value, show};

impl Machine<'_> {
    pub(super) fn path(&mut self, base: &Expr, steps: &[Step]) -> Outcome<Value> {
        let mut value = self.eval(base)?;
        let mut steps = steps.iter();
        while let Some(step) = steps.next() {
            let next = steps.as_slice().first();
            let (result, both) = self.advance(&value, step, next);
            let span = match next.filter(|_| both) {
                Some(call) => {
                    steps.next();
                    call.span
                }
                None => step.span,
            };
            value = result.map_err(|fault| fault.passing(span))?;
        }
        Ok(value)
    }

    /// Takes one step, or two when a method is looked up and called; the second part of the answer says which.
    fn advance(&mut self, value: &Value, step: &Step, next: Option<&Step>) -> (Outcome<Value>, bool) {
        match (&step.kind, next.map(|next| &next.kind)) {
            (StepKind::Attribute(name), Some(StepKind::Call(arguments))) => {
                match builtins::method_of(value, name) {
                    Some(method) => {
                        let arguments = self.meter.step().and_then(|()| self.arguments(arguments));
                        (arguments.and_then(|arguments| (method.run)(self, value, arguments)), true)
                    }
                    None => (self.attribute(value, name), false),
                }
            }
            (StepKind::Attribute(name), _) => (self.attribute(value, name), false),
            (StepKind::Call(arguments), _) => {
                let arguments = self.arguments(arguments);
                (arguments.and_then(|arguments| self.call(value, arguments)), false)
            }
            (StepKind::Index(index), _) => {
                (self.eval(index).and_then(|index| self.index(value, &index)), false)
            }
            (StepKind::Slice(parts), _) => (self.slice_step(value, parts), false),
        }
    }

    fn slice_step(&mut self, value: &Value, parts: &[Option<Expr>; 3]) -> Outcome<Value> {
        let [start, end, step] = parts;
        let mut part = |expression: &Option<Expr>| match expression {
            Some(expression) => self.eval(expression),
            None => Ok(Value::None),
        };
        let (start, end, step) = (part(start)?, part(end)?, part(step)?);
        self.slice(value, &start, &end, &step)
    }

    fn attribute(&mut self, value: &Value, name: &str) -> Outcome<Value> {
        self.find_attribute(value, name)?.ok_or_else(|| match value {
            Value::Namespace(number) => {
                Fault::new(format!("there is no `{}.{name}`", self.names.namespace(*number)))
            }
            _ => Fault::new(format!("a value of type {} has no attribute `{name}`", value.kind())),
        })
    }

    /// The attribute of that name, if there is one.
    pub(crate) fn find_attribute(&mut self, value: &Value, name: &str) -> Outcome<Option<Value>> {
        if let Value::Namespace(number) = value {
            return Ok(self.names.member(*number, name));
        }
        builtins::method_of(value, name).map(|method| self.meter.bound(value.clone(), method)).transpose()
    }

    /// A value as a message names it.
    pub(crate) fn brief(&self, value: &Value) -> String {
        show::brief(&self.meter, &self.names, value)
    }
}
