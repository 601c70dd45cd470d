//! Everything that can be said of one item: how much alike it is, and what speaks against it.

use std::cmp::Reverse;
use std::hash::Hash as Key;

use super::bits::{Hash, rarity};
use super::index::{Index, Item, Standing};
use super::parallel::{names_differ, other_name};
use super::search::{Aim, Query, Sought};
use super::{LEAST_EVIDENCE, Match, ONE_TITLE, TITLE_SHARE, opposed, reason};

/// An item with its score.
pub(super) struct Compared<'i, K> {
    slot: usize,
    pub(super) item: &'i Item<K>,
    pub(super) score: f64,
    /// How many bits the shared words say.
    evidence: u64,
    shared: Vec<reason::Shared>,
}

/// How long what is sought is, squared: the whole text, and the title alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    text: u64,
    title: u64,
}

impl Aim {
    /// Its lengths.
    pub(super) fn lengths(&self) -> Lengths {
        let sum = |weight: fn(&Sought) -> u64| {
            self.terms.iter().map(|term| square(weight(term) * term.rarity)).sum()
        };
        Lengths { text: sum(|term| term.weight), title: sum(|term| term.title_weight) }
    }
}

/// What two texts have in common.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    product: u64,
    left: u64,
    right: u64,
}

impl Sum {
    /// The cosine of the angle between them: 1 for equal texts, 0 for texts without a common term.
    fn cosine(self) -> f64 {
        let length = real(self.left).sqrt() * real(self.right).sqrt();
        if length > 0.0 { (real(self.product) / length).min(1.0) } else { 0.0 }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums of at most 224 squares below 2³⁸; the rest is rounding, and equal everywhere"
)]
fn real(number: u64) -> f64 {
    number as f64
}

impl<K: Clone + Ord + Key> Index<K> {
    /// How much an item is like what is sought, whose own lengths are known.
    pub(super) fn compare(&self, slot: usize, aim: &Aim, lengths: Lengths) -> Option<Compared<'_, K>> {
        let item = self.item(slot)?;
        let mut texts = Sum { left: lengths.text, ..Sum::default() };
        let mut titles = Sum { left: lengths.title, ..Sum::default() };
        let mut shared = Vec::new();
        let mut evidence = 0;
        for (number, counts) in item.terms() {
            let Ok(number) = usize::try_from(number) else { continue };
            let at = aim.by_number.get(number).copied().unwrap_or(0);
            let term = usize::from(at).checked_sub(1).and_then(|at| aim.terms.get(at));
            let rarity = match term {
                Some(term) => term.rarity,
                None => self.listed(number).map_or(0, |listed| rarity(aim.size, listed.commonness)),
            };
            texts.right += square(counts.weight() * rarity);
            titles.right += square(counts.title_weight() * rarity);
            let Some(term) = term else { continue };
            texts.product += term.weight * counts.weight() * rarity * rarity;
            let in_both = term.title_weight * counts.title_weight();
            titles.product += in_both * rarity * rarity;
            if term.whole {
                evidence += if term.is_number { 0 } else { rarity };
                shared.push(reason::Shared { hash: term.hash, rarity, titled: in_both > 0 });
            }
        }
        // Titles that are nearly the same count, whatever stands beside them; titles that share a word or two do not.
        let titles = match titles.cosine() {
            alike if alike < ONE_TITLE => alike,
            _ => 1.0,
        };
        let score = texts.cosine().max(TITLE_SHARE * titles * titles);
        let score = (score * 1000.0).round() / 1000.0;
        Some(Compared { slot, item, score, evidence: evidence / 256, shared })
    }

    /// What speaks for and against it, without words.
    pub(super) fn judged(&self, query: &Query, compared: &Compared<'_, K>) -> Match<K> {
        let (features, item) = (&query.features, compared.item);
        let is_shared = |file: &&(Hash, String)| item.files.binary_search(&file.0).is_ok();
        Match {
            id: item.id.clone(),
            score: compared.score,
            reason: String::new(),
            file_overlap: query.files.iter().filter(is_shared).map(|(_, path)| path.clone()).collect(),
            same_title: item.title_key == features.title_key,
            action_divergent: opposed::actions(features.action, item.action)
                || opposed::words(&features.stance, &features.against, &item.stance),
            component_divergent: matches!((features.component, item.component), (Some(one), Some(other)) if one != other),
            low_information: compared.evidence < LEAST_EVIDENCE,
            identifiers_differ: names_differ(&features.title, &item.title),
            open: self.standing(compared.slot) == Standing::Open,
        }
    }
}

impl<K> Match<K> {
    /// The same, with the reason in words.
    pub(super) fn with_reason(mut self, query: &Query, compared: Compared<'_, K>) -> Self {
        let mut shared = compared.shared;
        shared.sort_unstable_by_key(|shared| (Reverse(shared.titled), Reverse(shared.rarity), shared.hash));
        let places = (&query.features.title, &compared.item.title);
        let other = self.identifiers_differ.then(|| other_name(places.0, places.1)).flatten();
        self.reason = reason::of(&self, query, &shared, other);
        self
    }
}

fn square(number: u64) -> u64 {
    number * number
}
