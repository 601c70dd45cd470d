//! Which items have a term: a list for each, kept small because most terms are in one item only.

/// Where an item stands in the index, with how much the term counts there: 24 and 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

/// How many items there can be.
pub(super) const MOST: u32 = 1 << 24;

impl Posting {
    /// None beyond [`MOST`].
    pub(super) fn new(slot: u32, counts: u8) -> Option<Self> {
        (slot < MOST).then(|| Self(slot << 8 | u32::from(counts)))
    }

    pub(super) fn slot(self) -> usize {
        usize::try_from(self.0 >> 8).unwrap_or(usize::MAX)
    }

    pub(super) fn counts(self) -> u8 {
        self.0.to_le_bytes()[0]
    }
}

/// The items that have a term, in order of their slots.
#[derive(Debug)]
pub(super) enum Postings {
    /// One, without a list.
    One(Posting),
    /// None, or several.
    Many(Vec<Posting>),
}

impl Postings {
    pub(super) const NONE: Self = Self::Many(Vec::new());

    pub(super) fn as_slice(&self) -> &[Posting] {
        match self {
            Self::One(posting) => std::slice::from_ref(posting),
            Self::Many(list) => list,
        }
    }

    pub(super) fn insert(&mut self, posting: Posting) {
        match self {
            Self::One(first) => {
                let mut both = vec![*first, posting];
                both.sort_unstable();
                *self = Self::Many(both);
            }
            Self::Many(list) if list.is_empty() => *self = Self::One(posting),
            // New items mostly stand behind all others.
            Self::Many(list) if list.last().is_some_and(|last| *last < posting) => list.push(posting),
            Self::Many(list) => {
                let at = list.partition_point(|there| *there < posting);
                list.insert(at, posting);
            }
        }
    }

    pub(super) fn remove(&mut self, posting: Posting) {
        match self {
            Self::One(first) if *first == posting => *self = Self::NONE,
            Self::One(_) => {}
            Self::Many(list) => {
                if let Ok(at) = list.binary_search(&posting) {
                    list.remove(at);
                }
                if let [last] = list.as_slice() {
                    *self = Self::One(*last);
                } else if list.len() * 4 < list.capacity() {
                    list.shrink_to(list.len() * 2);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_let_go() {
        let posting = |slot| Posting::new(slot, 9).unwrap();
        let mut postings = Postings::NONE;
        for slot in [5, 1, 3, 4, 2] {
            postings.insert(posting(slot));
        }
        let slots = |postings: &Postings| {
            postings.as_slice().iter().map(|posting| posting.slot()).collect::<Vec<_>>()
        };
        assert_eq!(slots(&postings), [1, 2, 3, 4, 5]);
        for slot in [3, 1, 5, 9, 4] {
            postings.remove(posting(slot));
        }
        assert_eq!(slots(&postings), [2]);
        assert!(matches!(postings, Postings::One(_)));
        postings.remove(posting(2));
        assert!(postings.as_slice().is_empty());
        assert_eq!(Posting::new(MOST, 0), None);
        assert_eq!(posting(7).counts(), 9);
    }
}
