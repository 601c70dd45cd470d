//! What a reader should know of a calendar that was not all as it should be: a few sentences, however much is wrong.

use super::text;

/// The most sentences that are kept.
const MOST: usize = 20;

/// The most characters of a title in one.
const TITLE: usize = 60;

/// Sentences about what was left out or guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    said: Vec<String>,
    unsaid: usize,
}

impl Remarks {
    /// Says something, once.
    pub(super) fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.said.contains(&sentence) {
            return;
        }
        if self.said.len() < MOST {
            self.said.push(sentence);
        } else {
            self.unsaid += 1;
        }
    }

    /// All of them, and how many more there would be.
    pub fn sentences(&self) -> Vec<String> {
        let more = (self.unsaid > 0).then(|| format!("{} further remarks are left out.", self.unsaid));
        self.said.iter().cloned().chain(more).collect()
    }
}

/// A title as a remark names it.
pub(super) fn quoted(title: &str) -> String {
    format!("\"{}\"", text::shortened(title, TITLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_much_is_wrong_the_remarks_are_few() {
        let mut remarks = Remarks::default();
        for n in 0..1000 {
            remarks.add(format!("Line {n} is odd."));
            remarks.add("The file ends early.");
        }
        let said = remarks.sentences();
        assert_eq!(said.len(), MOST + 1);
        assert_eq!(said.iter().filter(|sentence| *sentence == "The file ends early.").count(), 1);
        assert_eq!(said.last().unwrap(), "981 further remarks are left out.");
    }
}
