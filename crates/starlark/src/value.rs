//! Values: small ones lie in the enum, larger ones are shared by count and hold what they cost.

use crate::builtins::{Builtin, Method};
use crate::fault::{Fault, Outcome};
use crate::meter::{Gather, Hold, Meter};
use crate::number::Whole;
use crate::syntax::Function;
use num_bigint::BigInt;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

pub(crate) mod collection;
pub(crate) mod hash;
pub(crate) mod order;
pub(crate) mod remains;
pub(crate) mod show;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod walk;

pub(crate) use collection::{Dict, List, Set, Tuple};
pub(crate) use text::{Text, Writer};

#[derive(Clone)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// A whole number that is no `Int`.
    Big(Rc<Big>),
    Float(f64),
    Text(Rc<Text>),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<Set>),
    Range(Rc<Range>),
    Function(Rc<Closure>),
    Builtin(&'static Builtin),
    Method(Rc<Bound>),
    /// A function of the host, by its number.
    Host(usize),
    /// What stands before the dot of such names, by its number.
    Namespace(usize),
}

pub(crate) struct Big {
    pub(crate) value: BigInt,
    _hold: Hold,
}

/// Whole numbers at even distances.
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) step: i64,
    pub(crate) length: usize,
    pub(crate) _hold: Hold,
}

impl Range {
    pub(crate) fn get(&self, at: usize) -> i64 {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        // The product may pass the bounds of an i64 where the sum does not; wrapping brings it back.
        self.start.wrapping_add(at.wrapping_mul(self.step))
    }
}

/// A method with the value it is of.
pub(crate) struct Bound {
    pub(crate) receiver: Value,
    pub(crate) method: &'static Method,
    _hold: Hold,
}

/// A variable that several functions share.
pub(crate) struct Variable {
    value: RefCell<Option<Value>>,
    hold: Hold,
}

impl Variable {
    pub(crate) fn new(meter: &Rc<Meter>) -> Outcome<Rc<Self>> {
        let variable = Rc::new(Self { value: RefCell::new(None), hold: meter.hold(96)? });
        meter.watch(collection::Cyclic::Variable(Rc::downgrade(&variable)));
        Ok(variable)
    }

    pub(crate) fn get(&self) -> Option<Value> {
        self.value.borrow().clone()
    }

    pub(crate) fn set(&self, value: Option<Value>) {
        let _old = self.value.replace(value);
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        if let Some(value) = self.value.get_mut().take().filter(Value::is_shared) {
            self.hold.meter().bury(remains::Remains::Values(vec![value]));
        }
    }
}

/// A function with what it took from where it was made.
pub(crate) struct Closure {
    pub(crate) code: Arc<Function>,
    /// Defaults in the order of the parameters that have one.
    pub(crate) defaults: Gather,
    pub(crate) captured: Vec<Rc<Variable>>,
    pub(crate) _hold: Hold,
}

impl Value {
    /// The name of its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Big(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Set(_) => "set",
            Self::Range(_) => "range",
            Self::Function(_) => "function",
            Self::Builtin(_) | Self::Method(_) | Self::Host(_) => "builtin_function_or_method",
            Self::Namespace(_) => "module",
        }
    }

    /// Whether it is counted, so that dropping it may drop more.
    fn is_shared(&self) -> bool {
        matches!(
            self,
            Self::List(_)
                | Self::Tuple(_)
                | Self::Dict(_)
                | Self::Set(_)
                | Self::Function(_)
                | Self::Method(_)
        )
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Tuple(tuple) => !tuple.items().is_empty(),
            Self::Dict(dict) => !dict.is_empty(),
            Self::Set(set) => !set.is_empty(),
            Self::Range(range) => range.length > 0,
            _ => true,
        }
    }

    /// How many elements it has, if it has any notion of that.
    pub(crate) fn length(&self) -> Option<usize> {
        Some(match self {
            Self::Text(text) => text.length(),
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.items().len(),
            Self::Dict(dict) => dict.len(),
            Self::Set(set) => set.len(),
            Self::Range(range) => range.length,
            _ => return None,
        })
    }

    /// As a whole number; bools are none.
    pub(crate) fn whole(&self) -> Option<Whole> {
        match self {
            Self::Int(value) => Some(Whole::Small(*value)),
            Self::Big(big) => Some(Whole::Big(big.value.clone())),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&Rc<Text>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Meter {
    pub(crate) fn whole(self: &Rc<Self>, value: Whole) -> Outcome<Value> {
        match value {
            Whole::Small(value) => Ok(Value::Int(value)),
            Whole::Big(value) => {
                let bytes = usize::try_from(value.bits() / 8).unwrap_or(usize::MAX);
                let hold = self.hold(bytes.saturating_add(96))?;
                Ok(Value::Big(Rc::new(Big { value, _hold: hold })))
            }
        }
    }

    pub(crate) fn count(self: &Rc<Self>, value: usize) -> Outcome<Value> {
        self.whole(Whole::from(BigInt::from(value)))
    }

    pub(crate) fn bound(self: &Rc<Self>, receiver: Value, method: &'static Method) -> Outcome<Value> {
        Ok(Value::Method(Rc::new(Bound { receiver, method, _hold: self.hold(80)? })))
    }
}

/// Guards a mutable value: how many loops go over it.
#[derive(Default)]
pub(crate) struct Walked(Cell<u32>);

impl Walked {
    pub(crate) fn begin(&self) {
        self.0.set(self.0.get().saturating_add(1));
    }

    pub(crate) fn end(&self) {
        self.0.set(self.0.get().saturating_sub(1));
    }

    /// Lends it for a change, unless a loop goes over it.
    fn lend<'a, T>(&self, inner: &'a RefCell<T>, kind: &str) -> Outcome<RefMut<'a, T>> {
        if self.0.get() > 0 {
            return Err(Fault::new(format!("a {kind} cannot be changed while a loop goes over it")));
        }
        inner.try_borrow_mut().map_err(|_| Fault::new(format!("a {kind} cannot be changed while it is read")))
    }
}

/// Lends for reading: nothing in the interpreter holds a value lent for a change while it reads another.
fn lend<T>(inner: &RefCell<T>) -> Ref<'_, T> {
    inner.borrow()
}
