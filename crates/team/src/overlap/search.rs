//! The way of a search: add up what the query's terms say of each item, take the best, compare those in full.

use std::collections::BTreeMap;
use std::hash::Hash as Key;

use covenant_model::time::Timestamp;

use super::bits::{Hash, commonness, rarity};
use super::compare::Compared;
use super::features::{self, Features};
use super::index::{Index, Standing};
use super::{ESCALATION, Match, is_escalatable};
use crate::work::Brief;

/// What is looked for: features, and the words they came from, so that a reason can be given.
#[derive(Debug, Clone)]
pub struct Query {
    pub(super) features: Features,
    pub(super) words: BTreeMap<Hash, String>,
    pub(super) files: Vec<(Hash, String)>,
}

impl Query {
    /// A search for work like this.
    pub fn of(brief: &Brief) -> Self {
        let (features, words) = Features::with_words(brief);
        let files = brief.target_files.iter().map(|path| (features::file(path), path.clone())).collect();
        Self { features, words, files }
    }
}

/// Which items are looked at.
#[derive(Debug)]
pub struct Among<'k, K> {
    /// All but this one: the work that is being checked.
    pub except: Option<&'k K>,
    /// What ended before that is past.
    pub ended_since: Timestamp,
}

impl<K> Among<'_, K> {
    /// Everything in the index.
    pub fn all() -> Self {
        Self { except: None, ended_since: Timestamp::default() }
    }
}

/// The fewest items that are compared in full.
const COMPARED: usize = 128;
/// Terms that more items have than this, and than one in eight, do not find items; they count for those that are found.
const FREQUENT: usize = 1_000;

/// What the same title is worth when items are chosen: more than everything else.
const SAME_TITLE: u32 = 1 << 30;

/// A query as this index knows it.
pub(super) struct Aim {
    pub(super) terms: Vec<Sought>,
    /// For each term of the index, which of these it is, plus one.
    pub(super) by_number: Vec<u16>,
    /// How many items there are, as [`Index::size`] has it.
    pub(super) size: u16,
}

/// A term of the query.
pub(super) struct Sought {
    pub(super) hash: Hash,
    /// Its number here, if any item has it.
    number: Option<usize>,
    pub(super) rarity: u64,
    pub(super) weight: u64,
    pub(super) title_weight: u64,
    pub(super) whole: bool,
    pub(super) is_number: bool,
}

impl<K: Clone + Ord + Key> Index<K> {
    /// The items most like the query, best first, at most that many, and none below the warn floor.
    pub fn search(&self, query: &Query, among: &Among<'_, K>, limit: usize) -> Vec<Match<K>> {
        let mut found = self.ranked(query, among, limit);
        found.retain(Match::is_warned);
        found
    }

    /// The items most like the query, best first, however little they are like it. Where there are more than the limit, what
    /// somebody has to decide about is among them before what is only more alike.
    pub fn ranked(&self, query: &Query, among: &Among<'_, K>, limit: usize) -> Vec<Match<K>> {
        let aim = self.aim(query);
        let candidates = self.candidates(&aim, query.features.title_key, among, limit);
        let own = aim.lengths();
        let compare = |slot| self.compare(slot, &aim, own);
        let mut compared: Vec<_> = candidates.into_iter().filter_map(compare).collect();
        compared.sort_by(|one, other| {
            other.score.total_cmp(&one.score).then_with(|| one.item.id.cmp(&other.item.id))
        });
        let worth = |(at, compared): &(usize, Compared<'_, K>)| *at < limit || compared.score >= ESCALATION;
        let mut found: Vec<_> = compared
            .into_iter()
            .enumerate()
            .take_while(worth)
            .map(|(at, compared)| (at, self.judged(query, &compared), compared))
            .collect();
        if found.len() > limit {
            found.sort_by_key(|(at, judged, _)| (!is_escalatable(judged), *at));
            found.truncate(limit);
            found.sort_by_key(|(at, ..)| *at);
        }
        found.into_iter().map(|(_, judged, compared)| judged.with_reason(query, compared)).collect()
    }

    /// The terms of a query with their rarity here.
    fn aim(&self, query: &Query) -> Aim {
        let size = self.size();
        let mut by_number = vec![0; self.numbers()];
        let mut terms = Vec::with_capacity(query.features.terms.len());
        for (place, term) in (1..).zip(query.features.terms.iter()) {
            let number = self.known(term.hash);
            if let Some(there) = number.and_then(|number| by_number.get_mut(number)) {
                *there = place;
            }
            let listed = number.and_then(|number| self.listed(number));
            let common = listed.map_or_else(|| commonness(term.bits, 0), |listed| listed.commonness);
            terms.push(Sought {
                hash: term.hash,
                number,
                rarity: rarity(size, common),
                weight: u64::from(term.weight),
                title_weight: match (term.titled, term.whole) {
                    (true, true) => 12,
                    (true, false) => 8,
                    (false, _) => 0,
                },
                whole: term.whole,
                is_number: query
                    .words
                    .get(&term.hash)
                    .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())),
            });
        }
        Aim { terms, by_number, size }
    }

    /// The slots of the items worth comparing.
    fn candidates(&self, aim: &Aim, title: Hash, among: &Among<'_, K>, limit: usize) -> Vec<usize> {
        let mut points = vec![0_u32; self.ended.len()];
        for term in &aim.terms {
            let Some(listed) = term.number.and_then(|number| self.listed(number)) else { continue };
            let postings = listed.postings();
            if postings.len() > FREQUENT.max(self.len() / 8) && term.hash != title {
                continue;
            }
            let rarity = term.rarity / 64;
            let says = u32::try_from(term.weight * rarity * rarity / 64).unwrap_or(u32::MAX);
            let bonus = if term.hash == title { SAME_TITLE } else { 0 };
            for posting in postings {
                if let Some(points) = points.get_mut(posting.slot()) {
                    *points = points.saturating_add(says * u32::from(posting.counts() & 0x3f) + bonus);
                }
            }
        }
        self.take_out(among, &mut points);
        let lengths = points.iter().zip(&self.lengths).enumerate().filter(|(_, (points, _))| **points > 0);
        let best =
            lengths.map(|(slot, (points, length))| (u64::from(*points) * 256 / u64::from(*length), slot));
        // What is over never takes the place of what is open.
        let (open, over): (Vec<_>, Vec<_>) =
            best.partition(|(_, slot)| self.standing(*slot) == Standing::Open);
        let wanted = limit.saturating_mul(2).max(COMPARED);
        let chosen = [open, over].map(|best| self.best(best, wanted));
        chosen.into_iter().flatten().map(|(_, slot)| slot).collect()
    }

    /// The best so many, whatever order they came in.
    fn best(&self, mut best: Vec<(u64, usize)>, wanted: usize) -> Vec<(u64, usize)> {
        if best.len() > wanted {
            let id = |slot: usize| self.item(slot).map(|item| &item.id);
            best.select_nth_unstable_by(wanted, |one, other| {
                other.0.cmp(&one.0).then_with(|| id(one.1).cmp(&id(other.1)))
            });
            best.truncate(wanted);
        }
        best
    }

    /// Leaves out what is not looked at.
    fn take_out(&self, among: &Among<'_, K>, points: &mut [u32]) {
        for (points, ended) in points.iter_mut().zip(&self.ended) {
            if *ended < among.ended_since.millis() {
                *points = 0;
            }
        }
        let except = among.except.and_then(|id| self.slot(id));
        if let Some(points) = except.and_then(|slot| points.get_mut(slot)) {
            *points = 0;
        }
    }
}
