//! A hash table that remembers the order in which keys came: what dicts and sets are made of.

use super::remains::Remains;
use super::{Value, order};
use crate::fault::{Fault, Outcome};
use crate::meter::{Hold, Meter};
use std::rc::Rc;

/// Slots of the index: nothing there, and nothing there any more.
const EMPTY: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    pub(crate) key: Value,
    pub(crate) value: Value,
}

pub(crate) struct Table {
    /// In the order they came; `None` where one was removed.
    entries: Vec<Option<Entry>>,
    /// Numbers of entries, found by hash; its length is a power of two.
    index: Vec<u32>,
    /// Entries that are there.
    live: usize,
    /// Slots of the index that are not `EMPTY`.
    taken: usize,
    /// No entry is before this one.
    first: usize,
    hold: Hold,
}

/// Where a key is: its slot in the index and its entry.
type Found = Option<(usize, usize)>;

impl Table {
    pub(crate) fn new(meter: &Rc<Meter>) -> Outcome<Self> {
        let hold = meter.hold(0)?;
        Ok(Self { entries: Vec::new(), index: Vec::new(), live: 0, taken: 0, first: 0, hold })
    }

    pub(crate) fn meter(&self) -> &Rc<Meter> {
        self.hold.meter()
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// The next entry at or after that number, and its number.
    pub(crate) fn next(&self, from: usize) -> Option<(usize, &Entry)> {
        let from = from.max(self.first);
        let mut rest = self.entries.iter().enumerate().skip(from);
        rest.find_map(|(at, entry)| entry.as_ref().map(|entry| (at, entry)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(crate) fn get(&self, hash: u64, key: &Value) -> Outcome<Option<&Entry>> {
        let found = self.find(hash, key)?;
        Ok(found.and_then(|(_, at)| self.entries.get(at)?.as_ref()))
    }

    /// Puts a value; an old value of that key is replaced and keeps its place.
    pub(crate) fn insert(&mut self, hash: u64, key: Value, value: Value) -> Outcome<Option<Value>> {
        if let Some((_, at)) = self.find(hash, &key)? {
            let old = self.entries.get_mut(at).and_then(Option::as_mut);
            return Ok(old.map(|entry| std::mem::replace(&mut entry.value, value)));
        }
        if (self.taken + 1) * 4 > self.index.len() * 3 {
            self.rebuild(self.live + 1)?;
        }
        self.hold.room(&mut self.entries, 1)?;
        let number = u32::try_from(self.entries.len()).ok().filter(|number| *number < GONE);
        let number = number.ok_or_else(|| Fault::new("a dict has too many entries"))?;
        self.entries.push(Some(Entry { hash, key, value }));
        self.place(hash, number);
        self.live += 1;
        Ok(None)
    }

    pub(crate) fn remove(&mut self, hash: u64, key: &Value) -> Outcome<Option<Entry>> {
        let Some((slot, at)) = self.find(hash, key)? else { return Ok(None) };
        if let Some(slot) = self.index.get_mut(slot) {
            *slot = GONE;
        }
        let removed = self.entries.get_mut(at).and_then(Option::take);
        self.live -= 1;
        while matches!(self.entries.get(self.first), Some(None)) {
            self.first += 1;
        }
        if self.entries.len() > 32 && self.live * 4 < self.entries.len() {
            self.rebuild(self.live)?;
        }
        Ok(removed)
    }

    /// Empties it; the answer is what it held, for the caller to drop once nothing is lent.
    pub(crate) fn take(&mut self) -> Remains {
        let entries = std::mem::take(&mut self.entries);
        let index = std::mem::take(&mut self.index);
        self.hold
            .shrink(entries.capacity() * size_of::<Option<Entry>>() + index.capacity() * size_of::<u32>());
        (self.live, self.taken, self.first) = (0, 0, 0);
        Remains::Entries(entries)
    }

    /// Adds everything of another table, which is not this one.
    pub(crate) fn extend(&mut self, other: &Self) -> Outcome<()> {
        for entry in other.iter() {
            self.meter().step()?;
            self.insert(entry.hash, entry.key.clone(), entry.value.clone())?;
        }
        Ok(())
    }

    fn find(&self, hash: u64, key: &Value) -> Outcome<Found> {
        for slot in probe(hash, self.index.len()) {
            match self.index.get(slot) {
                None | Some(&EMPTY) => return Ok(None),
                Some(&GONE) => {}
                Some(number) => {
                    let at = usize::try_from(*number).unwrap_or(usize::MAX);
                    if let Some(Some(entry)) = self.entries.get(at)
                        && entry.hash == hash
                        && order::equal(self.meter(), &entry.key, key)?
                    {
                        return Ok(Some((slot, at)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Writes the number of a new entry into the index, which has room.
    fn place(&mut self, hash: u64, number: u32) {
        for slot in probe(hash, self.index.len()) {
            if let Some(place) = self.index.get_mut(slot)
                && *place == EMPTY
            {
                *place = number;
                self.taken += 1;
                return;
            }
        }
    }

    /// Closes the gaps, and makes the index large enough for that many entries and as many again.
    fn rebuild(&mut self, wanted: usize) -> Outcome<()> {
        self.meter().items(self.entries.len() / 4)?;
        let size = (wanted.max(4) * 2).next_power_of_two();
        let old = self.index.capacity();
        let mut index = Vec::new();
        self.hold.grow(size * size_of::<u32>())?;
        index.resize(size, EMPTY);
        self.index = index;
        self.hold.shrink(old * size_of::<u32>());
        self.entries.retain(Option::is_some);
        (self.taken, self.first) = (0, 0);
        for at in 0..self.entries.len() {
            let Some(Some(entry)) = self.entries.get(at) else { continue };
            let hash = entry.hash;
            self.place(hash, u32::try_from(at).unwrap_or(GONE));
        }
        Ok(())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        self.hold.meter().bury(Remains::Entries(entries));
    }
}

/// The slots where a hash may be, each once.
fn probe(hash: u64, size: usize) -> impl Iterator<Item = usize> {
    let mask = size.wrapping_sub(1);
    let start = usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0);
    (0..size).map(move |step| start.wrapping_add(step) & mask)
}
