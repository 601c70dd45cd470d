//! The work of a team, ready to be searched: what has a term is found by the term, and only the best are compared in full.

use std::collections::HashMap;
use std::hash::Hash as Key;

use covenant_model::time::Timestamp;

use super::bits::{Hash, commonness, size};
use super::features::{Features, Place, Term, file};
use super::postings::{MOST, Posting, Postings};
use super::prior::Bits;
use crate::work::Action;

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Planned, active or blocked.
    Open,
    /// Done or cancelled, since then.
    Ended(Timestamp),
}

/// All that can overlap, by id. Its memory follows the items that are in it, and putting or removing one costs what it holds.
#[derive(Debug)]
pub struct Index<K> {
    slots: HashMap<K, u32>,
    items: Vec<Option<Item<K>>>,
    /// Beside the items, because every search passes over them: when each ended, and about how long it is.
    pub(super) ended: Vec<u64>,
    pub(super) lengths: Vec<u32>,
    free: Vec<u32>,
    numbers: HashMap<Hash, u32>,
    terms: Vec<Listed>,
    spare: Vec<u32>,
    /// The slots of those that mean to touch a file, in no order.
    by_file: HashMap<Hash, Vec<u32>>,
}

/// A term that items have.
#[derive(Debug)]
pub(super) struct Listed {
    hash: Hash,
    bits: Bits,
    /// Of these postings: every search reads it for thousands of terms.
    pub(super) commonness: u16,
    postings: Postings,
}

impl Listed {
    fn new(term: Term) -> Self {
        let commonness = commonness(term.bits, 0);
        Self { hash: term.hash, bits: term.bits, commonness, postings: Postings::NONE }
    }

    /// The items that have it.
    pub(super) fn postings(&self) -> &[Posting] {
        self.postings.as_slice()
    }

    fn change(&mut self, change: impl FnOnce(&mut Postings)) {
        change(&mut self.postings);
        self.commonness = commonness(self.bits, self.postings().len());
    }
}

/// A piece of work, as it is compared.
#[derive(Debug)]
pub(super) struct Item<K> {
    pub(super) id: K,
    /// The numbers of its terms in this index, and how each counts.
    terms: Box<[u32]>,
    counts: Box<[u8]>,
    pub(super) title: Box<[Place]>,
    pub(super) stance: Box<[Hash]>,
    pub(super) files: Box<[Hash]>,
    pub(super) title_key: Hash,
    pub(super) action: Option<Action>,
    pub(super) component: Option<Hash>,
}

impl<K> Item<K> {
    /// The numbers of its terms, and how each counts.
    pub(super) fn terms(&self) -> impl Iterator<Item = (u32, Counts)> {
        self.terms.iter().copied().zip(self.counts.iter().map(|counts| Counts(*counts)))
    }
}

/// How a term counts in an item: its weight in six bits, whether it is whole, whether the title has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts(pub(super) u8);

impl Counts {
    fn of(term: Term) -> Self {
        Self(term.weight.min(0x3f) | u8::from(term.whole) << 6 | u8::from(term.titled) << 7)
    }

    pub(super) fn weight(self) -> u64 {
        u64::from(self.0 & 0x3f)
    }

    /// What it counts if only the title does.
    pub(super) fn title_weight(self) -> u64 {
        match self.0 >> 6 {
            0b11 => 12,
            0b10 => 8,
            _ => 0,
        }
    }
}

/// When what has not ended has ended, in milliseconds.
const NEVER: u64 = u64::MAX;

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            slots: HashMap::new(),
            items: Vec::new(),
            ended: Vec::new(),
            lengths: Vec::new(),
            free: Vec::new(),
            numbers: HashMap::new(),
            terms: Vec::new(),
            spare: Vec::new(),
            by_file: HashMap::new(),
        }
    }
}

impl<K: Clone + Ord + Key> Index<K> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Puts an item there, in place of one of that id. Beyond sixteen million items nothing more is taken.
    pub fn put(&mut self, id: K, features: &Features, standing: Standing) {
        self.remove(&id);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => match u32::try_from(self.items.len()) {
                Ok(slot) if slot < MOST => slot,
                _ => return,
            },
        };
        let counts: Box<[u8]> = features.terms.iter().map(|term| Counts::of(*term).0).collect();
        let mut terms = Vec::with_capacity(features.terms.len());
        for (term, counts) in features.terms.iter().zip(&counts) {
            let number = self.number(*term);
            let listed = usize::try_from(number).ok().and_then(|number| self.terms.get_mut(number));
            if let (Some(listed), Some(posting)) = (listed, Posting::new(slot, *counts)) {
                listed.change(|postings| postings.insert(posting));
            }
            terms.push(number);
        }
        let item = Item {
            id: id.clone(),
            terms: terms.into(),
            counts,
            title: features.title.clone(),
            stance: features.stance.clone(),
            files: features.files.clone(),
            title_key: features.title_key,
            action: features.action,
            component: features.component,
        };
        self.slots.insert(id, slot);
        for file in &item.files {
            self.by_file.entry(*file).or_default().push(slot);
        }
        self.settle(slot, item, standing, features.length());
    }

    fn settle(&mut self, slot: u32, item: Item<K>, standing: Standing, length: u32) {
        let at = usize::try_from(slot).unwrap_or(usize::MAX);
        if at == self.items.len() {
            self.items.push(None);
            self.ended.push(NEVER);
            self.lengths.push(1);
        }
        let ended = match standing {
            Standing::Open => NEVER,
            Standing::Ended(at) => at.millis(),
        };
        let places = (self.items.get_mut(at), self.ended.get_mut(at), self.lengths.get_mut(at));
        if let (Some(place), Some(end), Some(long)) = places {
            (*place, *end, *long) = (Some(item), ended, length.max(1));
        }
    }

    /// Takes an item out; whether it was there.
    pub fn remove(&mut self, id: &K) -> bool {
        let Some(slot) = self.slots.remove(id) else { return false };
        let at = usize::try_from(slot).unwrap_or(usize::MAX);
        if let Some(item) = self.items.get_mut(at).and_then(Option::take) {
            for (number, counts) in item.terms() {
                self.let_go(number, slot, counts);
            }
            for file in &item.files {
                self.untouch(*file, slot);
            }
        }
        self.free.push(slot);
        true
    }

    fn untouch(&mut self, file: Hash, slot: u32) {
        let Some(slots) = self.by_file.get_mut(&file) else { return };
        slots.retain(|there| *there != slot);
        if slots.is_empty() {
            self.by_file.remove(&file);
        }
    }

    /// The open items that mean to touch one of those files, in the order of their ids.
    pub fn touching<'p>(&self, files: impl IntoIterator<Item = &'p str>) -> Vec<K> {
        let slots = files.into_iter().filter_map(|path| self.by_file.get(&file(path))).flatten();
        let items = slots.filter_map(|slot| usize::try_from(*slot).ok());
        let open = items.filter(|slot| self.standing(*slot) == Standing::Open);
        let mut ids: Vec<K> = open.filter_map(|slot| self.item(slot)).map(|item| item.id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn let_go(&mut self, number: u32, slot: u32, counts: Counts) {
        let listed = usize::try_from(number).ok().and_then(|number| self.terms.get_mut(number));
        let (Some(listed), Some(posting)) = (listed, Posting::new(slot, counts.0)) else { return };
        listed.change(|postings| postings.remove(posting));
        if listed.postings().is_empty() {
            self.numbers.remove(&listed.hash);
            self.spare.push(number);
        }
    }

    /// The number of a term here; a new one if nothing has it yet.
    fn number(&mut self, term: Term) -> u32 {
        if let Some(number) = self.numbers.get(&term.hash) {
            return *number;
        }
        let listed = Listed::new(term);
        let number = self.spare.pop().unwrap_or_else(|| u32::try_from(self.terms.len()).unwrap_or(u32::MAX));
        match usize::try_from(number).ok().and_then(|at| self.terms.get_mut(at)) {
            Some(place) => *place = listed,
            None => self.terms.push(listed),
        }
        self.numbers.insert(term.hash, number);
        number
    }

    /// The number of a term, if any item has it.
    pub(super) fn known(&self, hash: Hash) -> Option<usize> {
        self.numbers.get(&hash).and_then(|number| usize::try_from(*number).ok())
    }

    /// The item of a slot.
    pub(super) fn item(&self, slot: usize) -> Option<&Item<K>> {
        self.items.get(slot)?.as_ref()
    }

    /// Where an item is.
    pub(super) fn slot(&self, id: &K) -> Option<usize> {
        self.slots.get(id).and_then(|slot| usize::try_from(*slot).ok())
    }

    /// How an item stands.
    pub(super) fn standing(&self, slot: usize) -> Standing {
        match self.ended.get(slot) {
            Some(at) if *at != NEVER => Standing::Ended(Timestamp::from_millis(*at)),
            _ => Standing::Open,
        }
    }

    /// Below which all numbers of terms are.
    pub(super) fn numbers(&self) -> usize {
        self.terms.len()
    }

    /// The term of a number.
    pub(super) fn listed(&self, number: usize) -> Option<&Listed> {
        self.terms.get(number)
    }

    /// How common a term would be that every item has.
    pub(super) fn size(&self) -> u16 {
        size(self.len())
    }
}
