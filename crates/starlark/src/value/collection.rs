//! Lists, tuples, dicts and sets, and the watch over those that may hold themselves.

use super::remains::Remains;
use super::table::Table;
use super::{Value, Variable, Walked, hash, lend};
use crate::fault::Outcome;
use crate::meter::{Gather, Hold, Meter};
use std::cell::{Ref, RefCell, RefMut};
use std::rc::{Rc, Weak};

/// What each costs beside its items.
const OVERHEAD: usize = 128;

pub(crate) struct List {
    items: RefCell<Gather>,
    pub(crate) walked: Walked,
    _hold: Hold,
}

impl List {
    pub(crate) fn len(&self) -> usize {
        lend(&self.items).items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, at: usize) -> Option<Value> {
        lend(&self.items).items.get(at).cloned()
    }

    /// Its items for reading.
    pub(crate) fn read(&self) -> Ref<'_, Vec<Value>> {
        Ref::map(lend(&self.items), |gather| &gather.items)
    }

    /// Its items for a change.
    pub(crate) fn edit(&self) -> Outcome<RefMut<'_, Gather>> {
        self.walked.lend(&self.items, "list")
    }

    /// Empties it, which frees what it held.
    pub(crate) fn clear(&self) -> Outcome<()> {
        let fresh = Gather::new(lend(&self.items).hold.meter())?;
        let old = std::mem::replace(&mut *self.edit()?, fresh);
        drop(old);
        Ok(())
    }
}

pub(crate) struct Tuple {
    items: Gather,
    _hold: Hold,
}

impl Tuple {
    pub(crate) fn items(&self) -> &[Value] {
        &self.items.items
    }
}

pub(crate) struct Dict {
    table: RefCell<Table>,
    pub(crate) walked: Walked,
    _hold: Hold,
}

impl Dict {
    pub(crate) fn len(&self) -> usize {
        lend(&self.table).len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn read(&self) -> Ref<'_, Table> {
        lend(&self.table)
    }

    pub(crate) fn edit(&self) -> Outcome<RefMut<'_, Table>> {
        self.walked.lend(&self.table, "dict")
    }

    pub(crate) fn get(&self, key: &Value) -> Outcome<Option<Value>> {
        let table = self.read();
        let hash = hash::of(table.meter(), key)?;
        Ok(table.get(hash, key)?.map(|entry| entry.value.clone()))
    }

    pub(crate) fn insert(&self, key: Value, value: Value) -> Outcome<()> {
        let old = {
            let mut table = self.edit()?;
            let hash = hash::of(table.meter(), &key)?;
            table.insert(hash, key, value)?
        };
        drop(old);
        Ok(())
    }

    pub(crate) fn remove(&self, key: &Value) -> Outcome<Option<Value>> {
        let mut table = self.edit()?;
        let hash = hash::of(table.meter(), key)?;
        Ok(table.remove(hash, key)?.map(|entry| entry.value))
    }

    pub(crate) fn clear(&self) -> Outcome<()> {
        let (old, meter) = {
            let mut table = self.edit()?;
            (table.take(), Rc::clone(table.meter()))
        };
        meter.bury(old);
        Ok(())
    }
}

pub(crate) struct Set {
    table: RefCell<Table>,
    pub(crate) walked: Walked,
    _hold: Hold,
}

impl Set {
    pub(crate) fn len(&self) -> usize {
        lend(&self.table).len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn read(&self) -> Ref<'_, Table> {
        lend(&self.table)
    }

    pub(crate) fn edit(&self) -> Outcome<RefMut<'_, Table>> {
        self.walked.lend(&self.table, "set")
    }

    pub(crate) fn contains(&self, key: &Value) -> Outcome<bool> {
        let table = self.read();
        let hash = hash::of(table.meter(), key)?;
        Ok(table.get(hash, key)?.is_some())
    }

    pub(crate) fn add(&self, key: Value) -> Outcome<()> {
        let mut table = self.edit()?;
        let hash = hash::of(table.meter(), &key)?;
        table.insert(hash, key, Value::None)?;
        Ok(())
    }

    pub(crate) fn remove(&self, key: &Value) -> Outcome<bool> {
        let removed = {
            let mut table = self.edit()?;
            let hash = hash::of(table.meter(), key)?;
            table.remove(hash, key)?
        };
        Ok(removed.is_some())
    }

    /// Takes what another set holds instead of its own.
    pub(crate) fn replace(&self, other: Table) -> Outcome<()> {
        let old = std::mem::replace(&mut *self.edit()?, other);
        drop(old);
        Ok(())
    }
}

impl Meter {
    pub(crate) fn list(self: &Rc<Self>, items: Gather) -> Outcome<Value> {
        let hold = self.hold(OVERHEAD)?;
        let list = Rc::new(List { items: RefCell::new(items), walked: Walked::default(), _hold: hold });
        self.watch(Cyclic::List(Rc::downgrade(&list)));
        Ok(Value::List(list))
    }

    pub(crate) fn tuple(self: &Rc<Self>, items: Gather) -> Outcome<Value> {
        Ok(Value::Tuple(Rc::new(Tuple { items, _hold: self.hold(OVERHEAD)? })))
    }

    /// A tuple of two.
    pub(crate) fn pair(self: &Rc<Self>, first: Value, second: Value) -> Outcome<Value> {
        let mut items = Gather::with_room(self, 2)?;
        items.push(first)?;
        items.push(second)?;
        self.tuple(items)
    }

    pub(crate) fn dict(self: &Rc<Self>, table: Table) -> Outcome<Rc<Dict>> {
        let hold = self.hold(OVERHEAD)?;
        let dict = Rc::new(Dict { table: RefCell::new(table), walked: Walked::default(), _hold: hold });
        self.watch(Cyclic::Dict(Rc::downgrade(&dict)));
        Ok(dict)
    }

    pub(crate) fn set(self: &Rc<Self>, table: Table) -> Outcome<Value> {
        let hold = self.hold(OVERHEAD)?;
        Ok(Value::Set(Rc::new(Set { table: RefCell::new(table), walked: Walked::default(), _hold: hold })))
    }

    pub(crate) fn watch(&self, value: Cyclic) {
        self.watch.borrow_mut().add(value);
    }

    /// Takes apart all that may hold itself: the end of a run.
    pub(crate) fn dissolve(&self) {
        let watched = std::mem::take(&mut *self.watch.borrow_mut());
        for value in watched.values {
            value.dissolve(self);
        }
    }
}

/// A value through which a cycle can lead. Every cycle leads through one of these.
pub(crate) enum Cyclic {
    List(Weak<List>),
    Dict(Weak<Dict>),
    Variable(Weak<Variable>),
}

impl Cyclic {
    fn is_alive(&self) -> bool {
        match self {
            Self::List(list) => list.strong_count() > 0,
            Self::Dict(dict) => dict.strong_count() > 0,
            Self::Variable(variable) => variable.strong_count() > 0,
        }
    }

    fn dissolve(&self, meter: &Meter) {
        match self {
            Self::List(list) => {
                if let Some(list) = list.upgrade() {
                    let items = std::mem::take(&mut list.items.borrow_mut().items);
                    meter.bury(Remains::Values(items));
                }
            }
            Self::Dict(dict) => {
                if let Some(dict) = dict.upgrade() {
                    let entries = dict.table.borrow_mut().take();
                    meter.bury(entries);
                }
            }
            Self::Variable(variable) => {
                if let Some(variable) = variable.upgrade() {
                    variable.set(None);
                }
            }
        }
    }
}

/// All values that may hold themselves, swept of the dead whenever it has doubled.
#[derive(Default)]
pub(crate) struct Watch {
    values: Vec<Cyclic>,
    sweep: usize,
}

impl Watch {
    fn add(&mut self, value: Cyclic) {
        if self.values.len() >= self.sweep.max(1024) {
            self.values.retain(Cyclic::is_alive);
            self.sweep = self.values.len() * 2;
        }
        self.values.push(value);
    }
}
