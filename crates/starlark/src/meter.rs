//! What a run has used: every step is counted, and every byte is charged before it is taken and given back when it is freed.

use crate::Limits;
use crate::fault::{Fault, Outcome};
use crate::value::Value;
use crate::value::collection::Watch;
use crate::value::remains::{Graveyard, Remains};
use std::cell::{Cell, RefCell};
use std::collections::hash_map::RandomState;
use std::rc::Rc;

/// The bytes of the native stack that a run may use; threads have at least twice as many.
const STACK: usize = 1024 * 1024;

/// Bytes that one step copies or compares.
const BYTES_PER_STEP: usize = 64;

/// The account of one run.
pub(crate) struct Meter {
    limits: Limits,
    steps: Cell<u64>,
    bytes: Cell<usize>,
    /// The most bytes that were held at once.
    peak: Cell<usize>,
    /// Where the native stack was when the run began.
    ground: usize,
    graveyard: RefCell<Graveyard>,
    /// Values that may hold themselves, which counting alone would never free.
    pub(crate) watch: RefCell<Watch>,
    /// Keys the hashes of this run, so that nobody can choose keys that collide.
    pub(crate) hashing: RandomState,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Rc<Self> {
        Rc::new(Self {
            limits,
            steps: Cell::new(0),
            bytes: Cell::new(0),
            peak: Cell::new(0),
            ground: stack_pointer(),
            graveyard: RefCell::default(),
            watch: RefCell::default(),
            hashing: RandomState::new(),
        })
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The most bytes that values held at once.
    #[cfg(test)]
    pub(crate) fn peak(&self) -> usize {
        self.peak.get()
    }

    /// The bytes that values hold now.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.bytes.get()
    }

    pub(crate) fn step(&self) -> Outcome<()> {
        self.steps(1)
    }

    pub(crate) fn steps(&self, count: u64) -> Outcome<()> {
        let steps = self.steps.get().saturating_add(count);
        if steps > self.limits.steps {
            return Err(self.exhausted());
        }
        self.steps.set(steps);
        Ok(())
    }

    #[cold]
    fn exhausted(&self) -> Fault {
        Fault::new(format!("the script takes more than {} steps; does a loop not end?", self.limits.steps))
    }

    /// Counts work on that many bytes.
    pub(crate) fn copies(&self, bytes: usize) -> Outcome<()> {
        self.steps(wide(bytes / BYTES_PER_STEP))
    }

    /// Counts work on that many items.
    pub(crate) fn items(&self, items: usize) -> Outcome<()> {
        self.steps(wide(items))
    }

    /// Refuses to go deeper when the native stack is used up.
    pub(crate) fn descend(&self) -> Outcome<()> {
        if self.ground.abs_diff(stack_pointer()) > STACK {
            return Err(Fault::new("values or calls are nested too deeply"));
        }
        Ok(())
    }

    /// Takes bytes, which are given back when the hold is dropped.
    pub(crate) fn hold(self: &Rc<Self>, bytes: usize) -> Outcome<Hold> {
        self.charge(bytes)?;
        Ok(Hold { meter: Rc::clone(self), bytes: Cell::new(bytes) })
    }

    fn charge(&self, bytes: usize) -> Outcome<()> {
        let total = self.bytes.get().saturating_add(bytes);
        if total > self.limits.bytes {
            return Err(self.overdrawn());
        }
        self.bytes.set(total);
        self.peak.set(self.peak.get().max(total));
        Ok(())
    }

    #[cold]
    fn overdrawn(&self) -> Fault {
        Fault::new(format!("the script needs more than {} bytes of memory", self.limits.bytes))
    }

    /// Takes what a dropped value held and drops it without recursion, however deeply it is nested.
    pub(crate) fn bury(&self, remains: Remains) {
        if self.graveyard.borrow_mut().admit(remains) {
            loop {
                let next = self.graveyard.borrow_mut().next();
                // Dropped here, where the graveyard is free to take what it held.
                match next {
                    Some(value) => drop(value),
                    None => break,
                }
            }
        }
    }
}

/// Bytes taken from the account.
pub(crate) struct Hold {
    meter: Rc<Meter>,
    bytes: Cell<usize>,
}

impl Hold {
    pub(crate) fn meter(&self) -> &Rc<Meter> {
        &self.meter
    }

    /// Takes more.
    pub(crate) fn grow(&self, bytes: usize) -> Outcome<()> {
        self.meter.charge(bytes)?;
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }

    /// Gives some back.
    pub(crate) fn shrink(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes.get());
        self.bytes.set(self.bytes.get() - bytes);
        self.meter.bytes.set(self.meter.bytes.get().saturating_sub(bytes));
    }

    /// Makes room for more items in a vector, paid for before it is made.
    pub(crate) fn room<T>(&self, items: &mut Vec<T>, more: usize) -> Outcome<()> {
        let (length, capacity) = (items.len(), items.capacity());
        let wanted = length.saturating_add(more);
        if wanted <= capacity {
            return Ok(());
        }
        let target = wanted.max(capacity.saturating_mul(2)).max(4);
        let bytes = (target - capacity).saturating_mul(size_of::<T>());
        self.grow(bytes)?;
        items.reserve_exact(target - length);
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shrink(self.bytes.get());
    }
}

/// About where the native stack ends.
fn stack_pointer() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

/// A count as the meter counts.
pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Items under way to a list, a tuple or a call, paid for as they come.
pub(crate) struct Gather {
    pub(crate) items: Vec<Value>,
    pub(crate) hold: Hold,
}

impl Gather {
    pub(crate) fn new(meter: &Rc<Meter>) -> Outcome<Self> {
        Ok(Self { items: Vec::new(), hold: meter.hold(0)? })
    }

    /// With room for that many.
    pub(crate) fn with_room(meter: &Rc<Meter>, count: usize) -> Outcome<Self> {
        let mut gather = Self::new(meter)?;
        if count > 0 {
            let bytes = count.saturating_mul(size_of::<Value>());
            gather.hold.grow(bytes)?;
            gather.items.reserve_exact(count);
        }
        Ok(gather)
    }

    pub(crate) fn push(&mut self, value: Value) -> Outcome<()> {
        self.hold.room(&mut self.items, 1)?;
        self.items.push(value);
        Ok(())
    }

    /// Adds copies of values, and counts the work.
    pub(crate) fn extend(&mut self, values: &[Value]) -> Outcome<()> {
        self.hold.meter().items(values.len() / 4)?;
        self.hold.room(&mut self.items, values.len())?;
        self.items.extend_from_slice(values);
        Ok(())
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        let items = std::mem::take(&mut self.items);
        self.hold.meter().bury(Remains::Values(items));
    }
}
