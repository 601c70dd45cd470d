//! When two pieces of work do the opposite of each other: by what they declare, or by the words of their titles.

use super::bits::Hash;
use crate::work::Action;

/// Whether what they declare is opposed. What takes a thing away is not what makes, changes or mends it, and what only looks at
/// a thing neither makes it nor takes it away.
pub(crate) fn actions(one: Option<Action>, other: Option<Action>) -> bool {
    use Action::{Audit, Create, Fix, Modify, Remove};
    match (one, other) {
        (Some(one), Some(other)) => matches!(
            (one, other),
            (Remove, Create | Modify | Fix)
                | (Create | Modify | Fix, Remove)
                | (Audit, Create | Remove)
                | (Create | Remove, Audit)
        ),
        _ => false,
    }
}

/// Whether one title has a word, and not its opposite, and the other the opposite, and not the word: whoever has both, as in
/// "replace the client by a server", takes neither side.
pub(super) fn words(stance: &[Hash], against: &[(Hash, Hash)], other: &[Hash]) -> bool {
    let has = |words: &[Hash], word: &Hash| words.binary_search(word).is_ok();
    against.iter().any(|(word, opposite)| has(other, opposite) && !has(stance, opposite) && !has(other, word))
}

#[cfg(test)]
mod tests {
    use super::super::Features;
    use super::*;
    use crate::work::Brief;

    #[test]
    fn opposition_of_actions_is_mutual_and_never_to_itself() {
        for one in Action::ALL {
            assert!(!actions(Some(*one), Some(*one)));
            assert!(!actions(Some(*one), None));
            for other in Action::ALL {
                assert_eq!(actions(Some(*one), Some(*other)), actions(Some(*other), Some(*one)));
            }
        }
        assert!(actions(Some(Action::Create), Some(Action::Remove)));
        assert!(!actions(Some(Action::Fix), Some(Action::Modify)));
    }

    #[test]
    fn words_are_opposed_when_each_title_takes_another_side() {
        let differ = |one: &str, other: &str| {
            let of = |title: &str| Features::of(&Brief { title: title.to_owned(), ..Brief::default() });
            let (one, other) = (of(one), of(other));
            let found = words(&one.stance, &one.against, &other.stance);
            assert_eq!(found, words(&other.stance, &other.against, &one.stance));
            found
        };
        assert!(differ("Enable the cache", "Disable the cache"));
        assert!(differ("Delete the retry queue", "Implement the retry queue"));
        assert!(!differ("Add a client", "Create the client"));
        assert!(!differ("Replace the client by a server", "Stop the client"));
    }
}
