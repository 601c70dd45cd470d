//! Assignment: names, elements, several at once, and `+=` with its kin, which change lists, dicts and sets in place.

use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::syntax::{Binary, Expr, Target, TargetKind};
use crate::value::Value;
use crate::value::walk;

impl Machine<'_> {
    pub(crate) fn assign(&mut self, target: &Target, value: Value) -> Outcome<()> {
        match &target.kind {
            TargetKind::Name(name) => self.write(name, value),
            TargetKind::Index(object, index) => {
                let object = self.eval(object)?;
                let index = self.eval(index)?;
                self.put(&object, index, value).map_err(|fault| fault.passing(target.span))
            }
            TargetKind::Several(several) => {
                self.meter.descend()?;
                self.unpack(several, &value).map_err(|fault| fault.passing(target.span))
            }
        }
    }

    fn unpack(&mut self, targets: &[Target], value: &Value) -> Outcome<()> {
        let found = value.length().filter(|_| !matches!(value, Value::Text(_)));
        let Some(found) = found else {
            return Err(Fault::new(format!("a value of type {} cannot be unpacked", value.kind())));
        };
        if found != targets.len() {
            return Err(Fault::new(format!("{} values are expected, and {found} are there", targets.len())));
        }
        let mut items = walk::collect(&self.meter, value)?;
        for (target, item) in targets.iter().zip(items.items.drain(..)) {
            self.assign(target, item)?;
        }
        Ok(())
    }

    /// `object[index] = value`.
    fn put(&mut self, object: &Value, index: Value, value: Value) -> Outcome<()> {
        match object {
            Value::List(list) => {
                let at = self.element(&index, list.len(), "list")?;
                let old = {
                    let mut items = list.edit()?;
                    items.items.get_mut(at).map(|slot| std::mem::replace(slot, value))
                };
                drop(old);
                Ok(())
            }
            Value::Dict(dict) => dict.insert(index, value),
            _ => Err(Fault::new(format!("elements of a {} cannot be assigned", object.kind()))),
        }
    }

    pub(super) fn augment(&mut self, target: &Target, operator: Binary, right: &Expr) -> Outcome<()> {
        match &target.kind {
            TargetKind::Name(name) => {
                let left = self.read(name).map_err(|fault| fault.passing(target.span))?;
                let right = self.eval(right)?;
                let result = self.changed(operator, left, &right)?;
                self.write(name, result)
            }
            TargetKind::Index(object, index) => {
                let object = self.eval(object)?;
                let index = self.eval(index)?;
                let left = self.index(&object, &index).map_err(|fault| fault.passing(target.span))?;
                let right = self.eval(right)?;
                let result = self.changed(operator, left, &right)?;
                self.put(&object, index, result)
            }
            TargetKind::Several(_) => Err(Fault::new("several values cannot be changed at once")),
        }
    }

    /// The left value after the change; lists, dicts and sets stay the same ones.
    fn changed(&mut self, operator: Binary, left: Value, right: &Value) -> Outcome<Value> {
        match (&left, operator, right) {
            (
                Value::List(list),
                Binary::Add,
                Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Set(_) | Value::Range(_),
            ) => {
                let items = walk::collect(&self.meter, right)?;
                list.edit()?.extend(&items.items)?;
                Ok(left)
            }
            (Value::Dict(dict), Binary::BitOr, Value::Dict(other)) => {
                if !std::rc::Rc::ptr_eq(dict, other) {
                    dict.edit()?.extend(&other.read())?;
                }
                Ok(left)
            }
            (
                Value::Set(set),
                Binary::BitOr | Binary::BitAnd | Binary::Subtract | Binary::BitXor,
                Value::Set(_),
            ) => {
                let table = self.combine_sets(operator, &left, right)?;
                set.replace(table)?;
                Ok(left)
            }
            _ => self.binary(operator, &left, right),
        }
    }
}
