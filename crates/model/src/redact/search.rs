//! Knows all forms of all secrets, and which of them stands at a given place of a text.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use zeroize::Zeroizing;

use super::filter::{CASES, Filter, SPREAD, gram};
use super::forms::{self, CASE, Form};
use super::scan::{Found, Scan};
use crate::token;

/// A form in the list that is ordered by bytes, case ignored.
struct Pattern {
    /// Where its bytes and folds are.
    at: Range<usize>,
    label: usize,
    /// The longest other pattern this one begins with, case ignored.
    parent: Option<usize>,
}

/// The patterns that begin with the same window.
#[derive(Clone)]
struct Slot {
    gram: u64,
    patterns: Range<usize>,
}

/// The forms of all secrets, and the shape of our own tokens.
pub(super) struct Search {
    patterns: Vec<Pattern>,
    bytes: Zeroizing<Vec<u8>>,
    folds: Vec<u8>,
    pub(super) filter: Filter,
    table: Vec<Slot>,
    pub(super) labels: Vec<Box<str>>,
    longest: usize,
    pub(super) token: memmem::Finder<'static>,
}

impl Search {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut labels = Vec::new();
        let mut known: BTreeMap<Form, usize> = BTreeMap::new();
        for (name, value) in secrets {
            for form in forms::of(value) {
                known.entry(form).or_insert(labels.len());
            }
            labels.push(label(name));
        }
        labels.push(label("TOKEN"));
        let mut ordered: Vec<(Form, usize)> = known.into_iter().collect();
        ordered.sort_by(|(a, first), (b, second)| by_folded(&a.bytes, &b.bytes).then(second.cmp(first)));
        let longest = ordered.iter().map(|(form, _)| form.bytes.len()).max().unwrap_or(0);
        let mut search = Self {
            patterns: Vec::with_capacity(ordered.len()),
            bytes: Zeroizing::new(Vec::with_capacity(ordered.iter().map(|(form, _)| form.bytes.len()).sum())),
            folds: Vec::with_capacity(ordered.iter().map(|(form, _)| form.bytes.len()).sum()),
            filter: Filter::new(&ordered),
            table: Vec::new(),
            labels,
            longest: longest.max(token::PREFIX.len() + token::BODY),
            token: memmem::Finder::new(token::PREFIX),
        };
        for (form, label) in &ordered {
            search.add(form, *label);
        }
        search.table = search.slots();
        search
    }

    /// Adds the next pattern in order.
    fn add(&mut self, form: &Form, label: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&form.bytes);
        self.folds.extend_from_slice(&form.folds);
        let mut parent = self.patterns.len().checked_sub(1);
        while let Some(pattern) = parent.and_then(|index| self.patterns.get(index)) {
            if agreed(&form.bytes, self.bytes_of(pattern)) == pattern.at.len() {
                break;
            }
            parent = pattern.parent;
        }
        self.patterns.push(Pattern { at: start..self.bytes.len(), label, parent });
    }

    /// The table of first windows, at most half full.
    fn slots(&self) -> Vec<Slot> {
        let empty = Slot { gram: 0, patterns: 0..0 };
        let mut table = vec![empty; (self.patterns.len() * 2).next_power_of_two().max(2)];
        for (index, pattern) in self.patterns.iter().enumerate() {
            let Some(gram) = gram(self.bytes_of(pattern)) else { continue };
            let Some(slot) = probe(&table, gram).and_then(|place| table.get_mut(place)) else { continue };
            let start = if slot.patterns.is_empty() { index } else { slot.patterns.start };
            *slot = Slot { gram, patterns: start..index + 1 };
        }
        table
    }

    fn bytes_of(&self, pattern: &Pattern) -> &[u8] {
        self.bytes.get(pattern.at.clone()).unwrap_or_default()
    }

    /// The places in `text` that begin at `from` or later and before `until`, in order; the longest at each.
    pub(super) fn scan<'s>(&'s self, text: &'s [u8], from: usize, until: usize) -> Scan<'s> {
        Scan::new(self, text, from, until)
    }

    /// What is written instead of the secret.
    pub(super) fn label(&self, index: usize) -> &str {
        self.labels.get(index).map_or("[REDACTED]", |label| label)
    }

    /// The bytes of the longest thing looked for.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(super) fn forms(&self) -> usize {
        self.patterns.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.patterns.capacity() * size_of::<Pattern>()
            + self.bytes.capacity()
            + self.folds.capacity()
            + self.filter.memory()
            + self.table.capacity() * size_of::<Slot>()
            + self.labels.iter().map(|label| label.len() + size_of::<Box<str>>()).sum::<usize>()
    }

    /// The longest pattern that stands at `at`; of equals the one whose secret was named first.
    pub(super) fn longest_at(&self, text: &[u8], at: usize) -> Option<Found> {
        let rest = text.get(at..)?;
        let slot = self.table.get(probe(&self.table, gram(rest)?)?)?;
        let bucket = self.patterns.get(slot.patterns.clone())?;
        // Whatever the text begins with is the last pattern not behind the text in order, or its parent, or…
        let ahead = |pattern: &Pattern| by_folded(self.bytes_of(pattern), rest) != Ordering::Greater;
        let mut next = bucket.partition_point(ahead).checked_sub(1).map(|last| slot.patterns.start + last);
        while let Some(pattern) = next.and_then(|index| self.patterns.get(index)) {
            if self.stands(pattern, rest) {
                return Some(Found { start: at, end: at + pattern.at.len(), label: pattern.label });
            }
            next = pattern.parent;
        }
        None
    }

    fn stands(&self, pattern: &Pattern, rest: &[u8]) -> bool {
        let folds = self.folds.get(pattern.at.clone()).unwrap_or_default();
        let bytes = self.bytes_of(pattern);
        let Some(here) = rest.get(..bytes.len()) else { return false };
        // Without an early way out, which lets the compiler compare many bytes at once.
        bytes.iter().zip(folds).zip(here).fold(0, |wrong, ((byte, fold), b)| wrong | ((b | fold) ^ byte)) == 0
    }
}

/// `[REDACTED:NAME]`; a name that is none is made into one, so that the label is plain in any text.
fn label(name: &str) -> Box<str> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("[REDACTED:{}]", name.chars().map(plain).collect::<String>()).into_boxed_str()
}

/// The place of a window in a table of first windows, or the free place where it would be.
fn probe(table: &[Slot], gram: u64) -> Option<usize> {
    let shift = 64 - table.len().max(2).ilog2();
    let home = usize::try_from(gram.wrapping_mul(SPREAD) >> shift).unwrap_or_default();
    let (before, after) = table.split_at_checked(home)?;
    let fits = |slot: &Slot| slot.gram == gram || slot.patterns.is_empty();
    after.iter().position(fits).map(|step| home + step).or_else(|| before.iter().position(fits))
}

fn by_folded(a: &[u8], b: &[u8]) -> Ordering {
    let same = agreed(a, b);
    let next = |bytes: &[u8]| bytes.get(same).map(|byte| byte | CASE);
    next(a).cmp(&next(b))
}

/// How many bytes two texts have in common from the start, case ignored.
fn agreed(a: &[u8], b: &[u8]) -> usize {
    let (eights, _) = a.as_chunks::<8>();
    let (others, _) = b.as_chunks::<8>();
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes) | CASES;
    let same = eights.iter().zip(others).take_while(|(a, b)| word(a) == word(b)).count() * 8;
    let rest = a.iter().zip(b).skip(same);
    same + rest.take_while(|(a, b)| *a | CASE == *b | CASE).count()
}
