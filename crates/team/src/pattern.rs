//! Paths and globs as claims name them: what one covers, which are refused, and whether two of them can cover the same file.
//!
//! A plain path covers itself and everything beneath it; one whose name has an extension is taken for a file, unless the other
//! pattern shows that it is a folder. In a glob `*`, `?` and `[…]` stay within one folder, and `**` stands
//! for any number of folders. Since names such as `[id]` are common, what is written with brackets is also that plain path.

mod meet;
mod read;
#[cfg(test)]
mod tests;

pub use meet::Effort;

/// A path or glob, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The ways it can be read: one, or two where it has brackets.
    readings: Vec<Vec<Segment>>,
}

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// Any number of segments, also none.
    Deep,
    /// That name.
    Name(String),
    /// A name of which only this is known.
    Glob(Vec<Token>),
}

/// A part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Any number of characters, also none.
    Star,
    /// One of these characters: ranges in order, apart from each other.
    One(Vec<(u32, u32)>),
}

impl Pattern {
    /// Reads a path or glob relative to a repository; else what is wrong with it, as the rest of a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        read::pattern(text).map(|readings| Self { readings })
    }

    /// That file and nothing else is meant, whatever signs are in its name.
    pub fn file(path: &str) -> Self {
        Self { readings: vec![read::exactly(path)] }
    }

    /// Whether some path is covered by both. When the effort is spent it is taken to be so: ask [`Effort::is_spent`].
    pub fn meets(&self, other: &Self, effort: &mut Effort) -> bool {
        self.readings.iter().any(|one| other.readings.iter().any(|two| meet::paths(one, two, effort)))
    }
}
