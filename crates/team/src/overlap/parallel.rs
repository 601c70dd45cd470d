//! When two titles are one template filled in twice: the same words around another name, number or ticket.

use super::bits::Hash;
use super::features::Place;
use super::token::Sort;

/// Whether each title names a thing where the other names another one.
pub(super) fn names_differ(one: &[Place], other: &[Place]) -> bool {
    // Of several ways to lay them side by side the same one is taken, whichever comes first.
    let order = |places: &[Place]| places.iter().map(|place| place.hash).collect::<Vec<_>>();
    let (one, other) = if order(one) <= order(other) { (one, other) } else { (other, one) };
    let gaps = gaps(one, other);
    let differs = |gap: &Gap<'_>| {
        NAMES.iter().any(|sort| {
            has_alone(gap.left, other, *sort).is_some() && has_alone(gap.right, one, *sort).is_some()
        })
    };
    gaps.iter().any(differs) || numbers_differ(one, other) || words_differ(one, other, &gaps)
}

/// Whether each title has a number that the other does not have at that place.
fn numbers_differ(one: &[Place], other: &[Place]) -> bool {
    let numbers = |places: &[Place]| -> Vec<Place> {
        places.iter().filter(|place| place.sort == Sort::Number).copied().collect()
    };
    let (one, other) = (numbers(one), numbers(other));
    common(&one, &other).len() < one.len().min(other.len())
}

/// Whether the titles are the same but for a word or two at the same place, which mean something else. Where the titles
/// begin, such a word is how the work is called: "fix" or "look into".
fn words_differ(one: &[Place], other: &[Place], gaps: &[Gap<'_>]) -> bool {
    let alone = |part: &[Place], whole: &[Place]| {
        let alone = |place: &&Place| place.says && !whole.iter().any(|there| there.hash == place.hash);
        part.iter().filter(alone).count()
    };
    let swapped = |gap: &Gap<'_>| {
        let skipped = usize::from(gap.first);
        let left = gap.left.get(skipped..).unwrap_or_default();
        let right = gap.right.get(skipped..).unwrap_or_default();
        alone(left, other) > 0 && alone(right, one) > 0
    };
    let few = alone(one, other) <= 2 && alone(other, one) <= 2;
    few && gaps.len() > 2 && gaps.iter().any(swapped)
}

/// A thing that the first names and the second does not, if they differ so.
pub(super) fn other_name(one: &[Place], other: &[Place]) -> Option<Hash> {
    ALL.iter()
        .find_map(|sort| has_alone(one, other, *sort).filter(|_| has_alone(other, one, *sort).is_some()))
}

/// The sorts of tokens that say which thing is meant.
const NAMES: [Sort; 2] = [Sort::Name, Sort::Ticket];
const ALL: [Sort; 3] = [Sort::Name, Sort::Ticket, Sort::Number];

fn has_alone(part: &[Place], whole: &[Place], sort: Sort) -> Option<Hash> {
    let alone = |place: &&Place| place.sort == sort && !whole.iter().any(|there| there.hash == place.hash);
    part.iter().find(alone).map(|place| place.hash)
}

/// What stands in each title between two tokens that both have.
struct Gap<'p> {
    left: &'p [Place],
    right: &'p [Place],
    /// Whether a title begins with it.
    first: bool,
}

/// What stands before, between and after the tokens that both titles have in the same order.
fn gaps<'p>(one: &'p [Place], other: &'p [Place]) -> Vec<Gap<'p>> {
    let mut gaps = Vec::new();
    let (mut left, mut right) = (0, 0);
    for (at, to) in common(one, other).into_iter().chain([(one.len(), other.len())]) {
        gaps.push(Gap {
            left: one.get(left..at).unwrap_or_default(),
            right: other.get(right..to).unwrap_or_default(),
            first: left == 0 || right == 0,
        });
        (left, right) = (at + 1, to + 1);
    }
    gaps
}

/// The places of a longest sequence that both have.
fn common(one: &[Place], other: &[Place]) -> Vec<(usize, usize)> {
    let width = other.len() + 1;
    // Row by row from the end: how long the longest sequence is from there on.
    let mut lengths = vec![0_u16; (one.len() + 1) * width];
    let at = |left: usize, right: usize| left * width + right;
    for (left, a) in one.iter().enumerate().rev() {
        for (right, b) in other.iter().enumerate().rev() {
            let get = |index: usize| lengths.get(index).copied().unwrap_or(0);
            let best = if a.hash == b.hash {
                get(at(left + 1, right + 1)) + 1
            } else {
                get(at(left + 1, right)).max(get(at(left, right + 1)))
            };
            if let Some(cell) = lengths.get_mut(at(left, right)) {
                *cell = best;
            }
        }
    }
    let get = |left, right| lengths.get(at(left, right)).copied().unwrap_or(0);
    let (mut left, mut right, mut pairs) = (0, 0, Vec::new());
    while let (Some(a), Some(b)) = (one.get(left), other.get(right)) {
        if a.hash == b.hash {
            pairs.push((left, right));
            (left, right) = (left + 1, right + 1);
        } else if get(left + 1, right) >= get(left, right + 1) {
            left += 1;
        } else {
            right += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::Features;
    use super::*;
    use crate::work::Brief;

    fn differ(one: &str, other: &str) -> bool {
        let places = |title: &str| Features::of(&Brief { title: title.to_owned(), ..Brief::default() }).title;
        let (one, other) = (places(one), places(other));
        assert_eq!(names_differ(&one, &other), names_differ(&other, &one), "it is mutual");
        names_differ(&one, &other)
    }

    #[test]
    fn the_same_template_with_another_name_is_other_work() {
        for (one, other) in [
            ("Upgrade kafka to 3.4.0", "Upgrade kafka to 2.8.2"),
            ("Pre-existing test failure: TestAlpha", "Pre-existing test failure: TestBeta"),
            ("Agent 3 Batch 2 Issue 2", "Agent 3 Batch 12 Issue 2"),
            ("Client: rename get_user in api.rs", "Client: rename get_order in api.rs"),
            ("Backport ABC-12 to the release branch", "Backport ABC-13 to the release branch"),
            ("Bump kafka to 3.4.0", "kafka 2.8.2 upgrade"),
            ("Document the flag `--watch`", "Document the flag `--quiet`"),
        ] {
            assert!(differ(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn other_words_around_the_same_names_are_not() {
        for (one, other) in [
            ("Fix TestAlpha and TestBeta", "TestBeta fails, as does TestAlpha"),
            ("Fix TestAlpha, TestBeta", "Fix TestBeta, TestGamma"),
            ("Upgrade kafka to 3.4.0", "Update kafka"),
            ("Add retry to the HTTP client", "Retries for the HTTP client"),
            ("", "Add retry"),
        ] {
            assert!(!differ(one, other), "{one} / {other}");
        }
    }
}
