//! The place of a text that fits a question, cut out and marked.
//!
//! Give it a text without secrets: what is cut apart and marked here nobody recognises afterwards.

use std::collections::VecDeque;
use std::ops::Range;

use covenant_model::note::{Query, Term, What};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// How many characters are shown before the first word that fits, and from there on.
const BEFORE: usize = 60;
const AFTER: usize = 240;

/// How many bytes words may lie apart that count as one place.
const REACH: usize = 160;

/// What is looked for in texts.
#[derive(Debug, Default)]
pub(crate) struct Sought(Vec<Needle>);

/// One word, or words that follow each other.
#[derive(Debug)]
struct Needle {
    /// The words, folded; none where it is made of signs.
    words: Vec<String>,
    /// Whether the last word may go on.
    open: bool,
    /// All of it in small letters, for scripts that put no space between words, and for signs.
    written: String,
}

impl Sought {
    /// What that question wants to be there.
    pub(crate) fn of(query: &Query) -> Self {
        let needle = |Term { what, wanted }: &Term| match what {
            What::Word(text) if *wanted => Some(Needle::of(text, text.len() > 2)),
            What::Phrase(text) if *wanted => Some(Needle::of(text, false)),
            _ => None,
        };
        Self(query.terms.iter().filter_map(needle).collect())
    }

    /// The place where most of it stands close together, on one line, with `**` around each; how the text begins, where
    /// none of it stands there.
    pub(crate) fn shown(&self, text: &str) -> String {
        let at = self.best(text).or_else(|| Some(self.part(text)?.start));
        let Range { start, end } = window(text, at.unwrap_or_default());
        let part = text.get(start..end).unwrap_or_default().trim();
        let mut marks: Vec<Range<usize>> = self.marks(part).map(|(_, mark)| mark).collect();
        if marks.is_empty() {
            marks.extend(self.part(part));
        }
        let open = if start > 0 { "…" } else { "" };
        let close = if end < text.len() { "…" } else { "" };
        let marked = format!("{open}{}{close}", marked(part, marks));
        marked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Where the place begins that has most of what is looked for.
    fn best(&self, text: &str) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        let mut near: VecDeque<(usize, Range<usize>)> = VecDeque::new();
        for (which, mark) in self.marks(text) {
            while near.front().is_some_and(|(_, first)| first.start + REACH < mark.end) {
                near.pop_front();
            }
            near.push_back((which, mark));
            let has = |which: usize| near.iter().any(|(other, _)| *other == which);
            let count = (0..self.0.len()).filter(|which| has(*which)).count();
            let start = near.iter().map(|(_, mark)| mark.start).min()?;
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, start));
            }
            if count == self.0.len() {
                break;
            }
        }
        best.map(|(_, start)| start)
    }

    /// Every place that fits, each with what fits there, in the order in which they end.
    fn marks<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, Range<usize>)> + 't {
        let mut seen = Vec::new();
        words(text).flat_map(move |word| {
            seen.push(word);
            let found = |(which, needle): (usize, &Needle)| Some((which, needle.ending(text, &seen)?));
            self.0.iter().enumerate().filter_map(found).collect::<Vec<_>>()
        })
    }

    /// The first place where something stands as it is written, within words or between them.
    fn part(&self, text: &str) -> Option<Range<usize>> {
        let folded = text.to_ascii_lowercase();
        self.0.iter().find_map(|Needle { written, .. }| {
            let at = folded.find(written.as_str())?;
            Some(at..at + written.len())
        })
    }
}

impl Needle {
    fn of(text: &str, open: bool) -> Self {
        let words = words(text).filter_map(|word| Some(fold(text.get(word)?))).collect();
        Self { words, open, written: text.to_ascii_lowercase() }
    }

    /// The place of this at the end of the words that were seen so far.
    fn ending(&self, text: &str, seen: &[Range<usize>]) -> Option<Range<usize>> {
        let last = seen.get(seen.len().checked_sub(self.words.len())?..)?;
        let (start, end) = (last.first()?.start, last.last()?.end);
        let count = self.words.len();
        let fits = (1..).zip(last.iter().zip(&self.words)).all(|(number, (place, word))| {
            text.get(place.clone()).is_some_and(|found| fits(found, word, self.open && number == count))
        });
        fits.then_some(start..end)
    }
}

/// Whether a word of a text is a folded one, or begins so where it may go on.
fn fits(found: &str, word: &str, open: bool) -> bool {
    if !found.is_ascii() {
        let found = fold(found);
        return if open { found.starts_with(word) } else { found == word };
    }
    let begins = found.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    begins && (open || found.len() == word.len())
}

/// A word as it is compared, as the index does: in small letters, without accents.
fn fold(word: &str) -> String {
    word.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

/// Where the words of a text are.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let apart = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find(|c: char| !apart(c))?;
        let rest = text.get(start..)?;
        at = start + rest.find(apart).unwrap_or(rest.len());
        Some(start..at)
    })
}

/// What is shown of a text, of which that place is the point: from space to space, where there is one.
fn window(text: &str, at: usize) -> Range<usize> {
    let (before, after) = text.split_at_checked(at).unwrap_or(("", text));
    let start = match before.char_indices().rev().nth(BEFORE) {
        Some((cut, _)) => {
            let space = before.get(cut..).and_then(|kept| kept.find(char::is_whitespace));
            cut + space.unwrap_or_default()
        }
        None => 0,
    };
    let end = match after.char_indices().nth(AFTER) {
        Some((cut, _)) => {
            let space = after.get(..cut).and_then(|kept| kept.rfind(char::is_whitespace));
            space.filter(|space| *space >= REACH).unwrap_or(cut)
        }
        None => after.len(),
    };
    start..before.len() + end
}

/// A text with these places marked; of places that overlap the first.
fn marked(text: &str, mut marks: Vec<Range<usize>>) -> String {
    marks.sort_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
    let (mut shown, mut at) = (String::new(), 0);
    for mark in marks {
        let (Some(between), Some(found)) = (text.get(at..mark.start), text.get(mark.clone())) else {
            continue;
        };
        shown.extend([between, "**", found, "**"]);
        at = mark.end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(question: &str, text: &str) -> String {
        Sought::of(&Query::read(question)).shown(text)
    }

    #[test]
    fn words_are_marked_as_the_index_finds_them() {
        for (question, text, expected) in [
            ("moon", "They went to the moon, and\n\n back.", "They went to the **moon**, and back."),
            ("land", "The Landing, the land, an island", "The **Landing**, the **land**, an island"),
            ("ab", "ab abc", "**ab** abc"),
            ("kase", "guter Käse", "guter **Käse**"),
            ("KA\u{308}SE", "guter Käse", "guter **Käse**"),
            ("\"on the moon\"", "the moon, on the moon", "the moon, **on the moon**"),
            ("v1.2", "since v1.2 and v1.20", "since **v1.2** and **v1.20**"),
            ("日本", "私は日本語を話します", "私は**日本**語を話します"),
            ("&&", "a && b", "a **&&** b"),
            ("moon -mars tag:moon path:moon", "the moon, not mars", "the **moon**, not mars"),
            ("tag:x", "how it\nbegins", "how it begins"),
            ("venus", "how it begins", "how it begins"),
            ("moon", "", ""),
            ("a \"a b\"", "a b a", "**a b** **a**"),
        ] {
            assert_eq!(shown(question, text), expected, "{question}");
        }
    }

    #[test]
    fn of_a_long_text_the_place_is_shown_that_has_most() {
        let hay = "hay ".repeat(500);
        let text = format!("needle {hay}\n\nthe needle\n and the thread {hay}");
        let place = shown("needle thread", &text);
        assert!(place.starts_with("…hay") && place.ends_with("hay…"), "{place}");
        assert!(place.contains("the **needle** and the **thread** hay") && place.len() < 400, "{place}");
        assert!(shown("needle nothing", &text).starts_with("**needle** hay"), "as far as there is any");
        let unbroken = shown("日本", &format!("{0}日本{0}", "語".repeat(5000)));
        assert!(unbroken.contains("語**日本**語") && unbroken.chars().count() < 400, "{unbroken}");
    }

    proptest! {
        #[test]
        fn any_text_has_a_place(question in "[a-c\"*. 日é\u{308}-]{0,20}", text in "[a-cA-C. \n日éÉ\u{308}ß-]{0,600}") {
            let place = shown(&question, &text);
            prop_assert!(place.chars().count() < 2000);
            let plain = |text: &str| text.replace(['*', '…'], "").split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(plain(&text).contains(&plain(&place)), "{place}");
        }
    }
}
