//! What is kept of a piece of work to compare it by: numbers for its words, never the words themselves.

use std::collections::BTreeMap;

use super::bits::{Hash, hash, log2};
use super::kin::{meaning, opposites};
use super::prior::{self, Bits};
use super::token::{Part, Sort, Token, tokens};
use crate::title;
use crate::work::{Action, Brief};

/// How much is read of a title, and of everything else: characters, tokens.
const TITLE: (usize, usize) = (600, 48);
const TEXT: (usize, usize) = (6_000, 600);
/// The most terms that are kept: those that say most.
pub(super) const TERMS: usize = 224;
/// The most files that are kept.
const FILES: usize = 50;

/// How often a term counts by where it stands.
const IN_TITLE: u32 = 3;
const IN_SCOPE: u32 = 2;
const IN_DESCRIPTION: u32 = 1;

/// A term of a text: a word, a name, the beginning of a word, or the title as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) hash: Hash,
    /// How rare it is before anybody wrote anything.
    pub(super) bits: Bits,
    /// How much it counts here, in twelfths; at most 63.
    pub(super) weight: u8,
    /// Whether the title has it.
    pub(super) titled: bool,
    /// Whether it is evidence that can be shown, and not the beginning of a word.
    pub(super) whole: bool,
}

/// A token of a title, for comparing titles place by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hash: Hash,
    pub(super) sort: Sort,
    /// Whether it says more than any text of its kind does.
    pub(super) says: bool,
}

/// What is kept of a piece of work to compare it by.
#[derive(Debug, Clone)]
pub struct Features {
    /// In order of their hashes.
    pub(super) terms: Box<[Term]>,
    pub(super) title: Box<[Place]>,
    /// The meanings of the title's words that have an opposite, and each of them with each opposite.
    pub(super) stance: Box<[Hash]>,
    pub(super) against: Box<[(Hash, Hash)]>,
    pub(super) files: Box<[Hash]>,
    pub(super) title_key: Hash,
    pub(super) action: Option<Action>,
    pub(super) component: Option<Hash>,
}

impl Features {
    /// Those of a piece of work. The work is bounded, whatever the texts are.
    pub fn of(brief: &Brief) -> Self {
        read(brief, &mut |_, _| {})
    }

    /// About how long it is, if no team had written anything.
    pub(super) fn length(&self) -> u32 {
        let square = |term: &Term| (u64::from(term.weight) * u64::from(term.bits)).pow(2);
        u32::try_from(self.terms.iter().map(square).sum::<u64>().isqrt()).unwrap_or(u32::MAX)
    }

    /// Those of a piece of work, and every word that was read with its number.
    pub(super) fn with_words(brief: &Brief) -> (Self, BTreeMap<Hash, String>) {
        let mut words = BTreeMap::new();
        let features = read(brief, &mut |hash, word| {
            words.entry(hash).or_insert_with(|| word.to_owned());
        });
        (features, words)
    }
}

/// The number of a file: `./src\a.rs` is `src/a.rs`.
pub(super) fn file(path: &str) -> Hash {
    let path = path.trim().replace('\\', "/");
    hash('f', path.trim_start_matches("./"))
}

fn read(brief: &Brief, heard: &mut impl FnMut(Hash, &str)) -> Features {
    let title = tokens(&brief.title, TITLE.0, TITLE.1);
    let mut count = Count { terms: BTreeMap::new(), heard };
    for token in &title {
        count.take(token, IN_TITLE);
    }
    for (text, times) in [(&brief.scope, IN_SCOPE), (&brief.description, IN_DESCRIPTION)] {
        for token in tokens(text, TEXT.0, TEXT.1) {
            count.take(&token, times);
        }
    }
    let title_key = hash('k', &title::key(&brief.title));
    let terms = count.finish(title_key);
    let words = title.iter().filter(|token| token.sort == Sort::Word).flat_map(|token| &token.parts);
    let meanings: Vec<&str> = words.filter(|part| part.is_word).map(|part| meaning(&part.stem)).collect();
    let mut stance = Vec::new();
    let mut against = Vec::new();
    for meaning in meanings {
        let opposites = opposites(meaning);
        if !opposites.is_empty() {
            let word = hash('w', meaning);
            stance.push(word);
            against.extend(opposites.iter().map(|opposite| (word, hash('w', opposite))));
        }
    }
    Features {
        terms,
        title: title.iter().flat_map(places).take(TITLE.1).collect(),
        stance: sorted(stance),
        against: against.into(),
        files: sorted(brief.target_files.iter().take(FILES).map(|path| file(path)).collect()),
        title_key,
        action: brief.action,
        component: brief.component.as_deref().map(|name| hash('c', &title::key(name))),
    }
}

fn sorted(mut hashes: Vec<Hash>) -> Box<[Hash]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

/// A word stands in a title for all that mean the same, and one of several parts is several; a name stands for itself.
fn places(token: &Token) -> Vec<Place> {
    if token.sort != Sort::Word {
        // Pairs of signs overlap: another sign changes two of them, and says nothing by that.
        let says = token.sort != Sort::Glyph;
        return vec![Place { hash: hash('w', &token.text), sort: token.sort, says }];
    }
    let words = token.parts.iter().filter(|part| part.is_word).map(|part| meaning(&part.stem));
    words
        .map(|word| Place { hash: hash('w', word), sort: Sort::Word, says: prior::of_meaning(word) > 4 })
        .collect()
}

/// The terms that were counted so far.
struct Count<'h, H> {
    terms: BTreeMap<Hash, Counted>,
    heard: &'h mut H,
}

struct Counted {
    times: u32,
    bits: Bits,
    titled: bool,
    whole: bool,
}

impl<H: FnMut(Hash, &str)> Count<'_, H> {
    fn take(&mut self, token: &Token, times: u32) {
        for part in &token.parts {
            let (text, bits) = rarity(part, token.sort);
            let number = hash('w', text);
            (self.heard)(number, &part.text);
            self.add(number, bits, times, true);
            if let Some(start) = prior::start(&part.text).filter(|_| part.is_word) {
                self.add(hash('p', &start), prior::of_start(&start), times, false);
            }
        }
    }

    fn add(&mut self, hash: Hash, bits: Bits, times: u32, whole: bool) {
        let titled = times == IN_TITLE;
        let counted = self.terms.entry(hash).or_insert(Counted { times: 0, bits, titled, whole });
        counted.times = (counted.times + times).min(64);
    }

    /// The terms that say most, and the title as a whole, which counts for nothing and finds what has the same; in order.
    fn finish(self, title_key: Hash) -> Box<[Term]> {
        let mut terms: Vec<Term> = self.terms.into_iter().map(term).collect();
        if terms.len() > TERMS {
            let says = |term: &Term| u32::from(term.weight) * u32::from(term.bits);
            terms.sort_by_key(|term| (std::cmp::Reverse((term.titled, says(term))), term.hash));
            terms.truncate(TERMS);
        }
        terms.push(Term { hash: title_key, bits: 0, weight: 0, titled: false, whole: false });
        terms.sort_unstable_by_key(|term| term.hash);
        terms.into()
    }
}

/// What stands for a part, and how rare that is.
fn rarity(part: &Part, sort: Sort) -> (&str, Bits) {
    if part.is_word {
        let meaning = meaning(&part.stem);
        return (meaning, prior::of_meaning(meaning));
    }
    let text = part.text.as_str();
    let bits = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        prior::of_number(text.len())
    } else if sort == Sort::Glyph {
        prior::of_glyph(text)
    } else {
        // A name such as `GitHub` can be as common as a word.
        prior::of_meaning(text)
    };
    (text, bits)
}

/// The more often the more it counts, but ever less so; the beginning of a word counts less than a word.
fn term((hash, counted): (Hash, Counted)) -> Term {
    let twelfths = 12 + log2(u64::from(counted.times)) * 8 / 256;
    let weight = if counted.whole { twelfths } else { twelfths * 7 / 10 };
    let weight = u8::try_from(weight).unwrap_or(u8::MAX);
    Term { hash, bits: counted.bits, weight, titled: counted.titled, whole: counted.whole }
}
