//! What somebody looks for, as people write it: `words "a phrase" tag:x path:y -not`. Whatever is written means something;
//! nothing of it reaches an index as its own syntax.

/// The most terms of a question; what follows is left out.
pub const MOST_TERMS: usize = 32;

/// The most characters of one term.
const LONGEST: usize = 200;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// What a note must have, or not; all of it.
    pub terms: Vec<Term>,
    /// The directory it must lie in.
    pub under: Option<String>,
    /// The most hits that are wanted.
    pub limit: usize,
}

/// One part of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// What it names.
    pub what: What,
    /// Whether a note must have it; otherwise it must not.
    pub wanted: bool,
}

/// What a term names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A word, or how one begins.
    Word(String),
    /// Words that follow each other.
    Phrase(String),
    /// A tag, or one above it; in small letters.
    Tag(String),
    /// A part of the path; in small letters.
    Path(String),
}

impl Query {
    /// Reads a question. A mark that is left open reaches to the end.
    pub fn read(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() && terms.len() < MOST_TERMS {
            let (term, after) = next(rest);
            terms.extend(term);
            rest = after.trim_start();
        }
        Self { terms, under: None, limit: 50 }
    }

    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// The first term, if it means anything, and what follows it.
fn next(text: &str) -> (Option<Term>, &str) {
    let (wanted, text) = match text.strip_prefix('-') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(char::is_whitespace) => (false, rest),
        _ => (true, text),
    };
    let (what, after): (fn(String) -> What, &str) = if let Some(rest) = prefixed(text, "tag:") {
        (|text| What::Tag(text.trim_start_matches('#').trim_end_matches('/').to_lowercase()), rest)
    } else if let Some(rest) = prefixed(text, "path:") {
        (|text| What::Path(text.to_lowercase()), rest)
    } else if text.starts_with('"') {
        (What::Phrase, text)
    } else {
        (What::Word, text)
    };
    let (written, after) = value(after);
    let kept: String = written.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let what = what(kept.trim().to_owned());
    (what.says_something().then_some(Term { what, wanted }), after)
}

/// What follows such a beginning, in letters of any size, if something does.
fn prefixed<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    let something = !rest.is_empty() && !rest.starts_with(char::is_whitespace);
    (start.eq_ignore_ascii_case(prefix) && something).then_some(rest)
}

/// The value at the beginning, between marks or up to the next space, and what follows it.
fn value(text: &str) -> (&str, &str) {
    if let Some(inside) = text.strip_prefix('"') {
        return inside.split_once('"').unwrap_or((inside, ""));
    }
    let end = text.find(|c: char| c.is_whitespace()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

impl What {
    fn says_something(&self) -> bool {
        let (Self::Word(text) | Self::Phrase(text) | Self::Tag(text) | Self::Path(text)) = self;
        !text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word(text: &str) -> What {
        What::Word(text.to_owned())
    }

    fn read(text: &str) -> Vec<(What, bool)> {
        Query::read(text).terms.into_iter().map(|Term { what, wanted }| (what, wanted)).collect()
    }

    #[test]
    fn words_phrases_tags_paths_and_their_opposites_are_told_apart() {
        assert_eq!(
            read(r#"moon "first step" tag:#Space/Apollo -path:"Old Notes" -mars -"no way""#),
            [
                (word("moon"), true),
                (What::Phrase("first step".into()), true),
                (What::Tag("space/apollo".into()), true),
                (What::Path("old notes".into()), false),
                (word("mars"), false),
                (What::Phrase("no way".into()), false),
            ]
        );
    }

    #[test]
    fn what_looks_like_syntax_is_a_word() {
        for text in ["AND", "NEAR(a", "a*", "title:x", "(", "^a", "-", "tag:", "{}", "'", "--x"] {
            let read = read(text);
            assert!(matches!(read.as_slice(), [(What::Word(_), _)]), "{text}: {read:?}");
        }
        assert_eq!(read("a - b"), [(word("a"), true), (word("-"), true), (word("b"), true)]);
    }

    #[test]
    fn nothing_asks_for_nothing() {
        for text in ["", "  ", "\"\"", "\"", "-\"\"", "tag:#", "\u{0}\u{1}"] {
            assert!(Query::read(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_question_has_an_end() {
        let query = Query::read(&"word ".repeat(10_000));
        assert_eq!(query.terms.len(), MOST_TERMS);
        let query = Query::read(&"w".repeat(100_000));
        assert_eq!(query.terms.first().map(|term| &term.what), Some(&word(&"w".repeat(LONGEST))));
    }

    proptest! {
        #[test]
        fn any_text_can_be_asked(text in ".{0,200}") {
            let query = Query::read(&text);
            prop_assert!(query.terms.len() <= MOST_TERMS);
            prop_assert!(query.terms.iter().all(|term| term.what.says_something()));
        }
    }
}
