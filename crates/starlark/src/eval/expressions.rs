//! Expressions into values.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::meter::Gather;
use crate::number::Whole;
use crate::syntax::{Binary, Expr, Function, Kind, Unary};
use crate::value::table::Table;
use crate::value::{Closure, Value};
use std::rc::Rc;
use std::sync::Arc;

impl Machine<'_> {
    pub(crate) fn eval(&mut self, expression: &Expr) -> Outcome<Value> {
        self.meter.step()?;
        match &expression.kind {
            Kind::Int(value) => Ok(Value::Int(*value)),
            Kind::Name(name) => self.read(name).map_err(|fault| fault.passing(expression.span)),
            Kind::Literal(number) => {
                self.literals.get(*number).cloned().ok_or_else(|| Fault::new("a literal is missing"))
            }
            Kind::None => Ok(Value::None),
            Kind::Bool(value) => Ok(Value::Bool(*value)),
            Kind::Float(value) => Ok(Value::Float(*value)),
            _ => self.compound(expression).map_err(|fault| fault.passing(expression.span)),
        }
    }

    fn compound(&mut self, expression: &Expr) -> Outcome<Value> {
        self.meter.descend()?;
        match &expression.kind {
            Kind::Chain { first, rest } => self.chain(first, rest),
            Kind::Path { base, steps } => self.path(base, steps),
            Kind::Unary(operator, operand) => self.unary(*operator, operand),
            Kind::Conditional(parts) => {
                let [condition, value, otherwise] = &**parts;
                let chosen = if self.eval(condition)?.truth() { value } else { otherwise };
                self.eval(chosen)
            }
            Kind::List(items) => {
                let items = self.gather(items)?;
                self.meter.list(items)
            }
            Kind::Tuple(items) => {
                let items = self.gather(items)?;
                self.meter.tuple(items)
            }
            Kind::Dict(entries) => self.dict(entries),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
            Kind::Lambda(function) => self.closure(function),
            Kind::None | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) | Kind::Literal(_) | Kind::Name(_) => {
                self.eval(expression)
            }
        }
    }

    fn gather(&mut self, items: &[Expr]) -> Outcome<Gather> {
        let mut gather = Gather::with_room(&self.meter, items.len())?;
        for item in items {
            gather.push(self.eval(item)?)?;
        }
        Ok(gather)
    }

    fn dict(&mut self, entries: &[(Expr, Expr)]) -> Outcome<Value> {
        let dict = self.meter.dict(Table::new(&self.meter)?)?;
        for (key, value) in entries {
            let span = key.span;
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            if dict.get(&key).map_err(|fault| fault.passing(span))?.is_some() {
                return Err(Fault::at(format!("the key {} is there twice", self.brief(&key)), span));
            }
            dict.insert(key, value)?;
        }
        Ok(Value::Dict(dict))
    }

    /// Applies operators from left to right; `and` and `or` skip what they need not know.
    fn chain(&mut self, first: &Expr, rest: &[(Binary, Expr)]) -> Outcome<Value> {
        let mut left = self.eval(first)?;
        for (operator, right) in rest {
            left = match operator {
                Binary::And if !left.truth() => left,
                Binary::Or if left.truth() => left,
                Binary::And | Binary::Or => self.eval(right)?,
                _ => {
                    let right = self.eval(right)?;
                    self.binary(*operator, &left, &right)?
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self, operator: Unary, operand: &Expr) -> Outcome<Value> {
        let value = self.eval(operand)?;
        if operator == Unary::Not {
            return Ok(Value::Bool(!value.truth()));
        }
        match (operator, &value) {
            (Unary::Minus, Value::Float(value)) => return Ok(Value::Float(-value)),
            (Unary::Plus, Value::Float(_)) => return Ok(value),
            _ => {}
        }
        let Some(whole) = value.whole() else {
            let sign = match operator {
                Unary::Plus => "+",
                Unary::Minus => "-",
                Unary::Invert | Unary::Not => "~",
            };
            return Err(Fault::new(format!(
                "`{sign}` cannot be applied to a value of type {}",
                value.kind()
            )));
        };
        match operator {
            Unary::Minus => self.meter.whole(Whole::Small(0).subtract(&whole)?),
            Unary::Invert => self.meter.whole(Whole::Small(-1).subtract(&whole)?),
            Unary::Plus | Unary::Not => Ok(value),
        }
    }

    /// A function with what it takes from here.
    pub(crate) fn closure(&mut self, code: &Arc<Function>) -> Outcome<Value> {
        let mut defaults = Gather::new(&self.meter)?;
        for default in code.parameters.names.iter().filter_map(|parameter| parameter.default.as_ref()) {
            defaults.push(self.eval(default)?)?;
        }
        let hold = self.meter.hold(160 + code.scope.captures.len() * 16)?;
        let captured = self.capture(&code.scope.captures)?;
        Ok(Value::Function(Rc::new(Closure { code: Arc::clone(code), defaults, captured, _hold: hold })))
    }
}
