//! Notes as they are indexed and found: the words between who reads notes, who keeps the index, and who asks it.

mod query;

pub use query::{MOST_TERMS, Query, Term, What};

use std::collections::HashMap;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Which file it is.
    pub inode: u64,
    /// How many bytes it has.
    pub size: u64,
    /// When its content was last written, in nanoseconds since 1970.
    pub modified: i64,
}

/// One note, as the index takes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Where it lies, from its directory on, with `/` between names.
    pub path: String,
    /// The state it was read in.
    pub stamp: Stamp,
    /// What it is called.
    pub title: String,
    /// Its headings, in order.
    pub headings: Vec<String>,
    /// Its tags, without `#`.
    pub tags: Vec<String>,
    /// What its links name, as written, without heading and alias.
    pub links: Vec<String>,
    /// All of its text.
    pub text: String,
}

/// A note that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Where it lies.
    pub path: String,
    /// What it is called.
    pub title: String,
    /// When its content was last written, in nanoseconds since 1970.
    pub modified: i64,
}

/// What a search found: the best of all, best first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The best.
    pub hits: Vec<Hit>,
    /// How many there are in all.
    pub total: u64,
}

/// Why an index does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It was damaged, and is empty now: everything must be put into it again.
    #[error("the search index was damaged and begins anew")]
    Lost,
    /// Something else.
    #[error("{0}")]
    Failed(String),
}

/// What keeps the notes of one directory searchable. All of it blocks, and can be lost: the files are what counts.
pub trait Index: Send + Sync + 'static {
    /// The notes that are in it, each with the state it was read in.
    fn known(&self) -> Result<HashMap<String, Stamp>, IndexError>;

    /// Puts notes in, each in place of the one at its path, and forgets others; all or none.
    fn change(&self, put: &[Entry], gone: &[String]) -> Result<(), IndexError>;

    /// What fits a question.
    fn search(&self, query: &Query) -> Result<Found, IndexError>;

    /// The notes that were written last, newest first.
    fn recent(&self, limit: usize) -> Result<Vec<Hit>, IndexError>;

    /// The paths of all notes of that name, as [`key`] has it.
    fn named(&self, key: &str) -> Result<Vec<String>, IndexError>;

    /// Every link to a note of that name, as [`key`] has it: the path of the note it stands in, and what it names.
    fn leading_to(&self, key: &str) -> Result<Vec<(String, String)>, IndexError>;
}

/// What a note is looked up by, from its path or from a link to it: its last name, without `.md`, in small letters.
pub fn key(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    without_md(&name.to_lowercase()).to_owned()
}

/// A path without the `.md` at its end.
pub fn without_md(path: &str) -> &str {
    match path.len().checked_sub(3).and_then(|end| path.split_at_checked(end)) {
        Some((rest, end)) if end.eq_ignore_ascii_case(".md") => rest,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_looked_up_by_its_last_name() {
        for (path, expected) in [
            ("Projects/Apollo.md", "apollo"),
            ("apollo", "apollo"),
            ("APOLLO.MD", "apollo"),
            ("a/v1.2", "v1.2"),
            (".md", ""),
            ("", ""),
            ("über", "über"),
            ("日本", "日本"),
        ] {
            assert_eq!(key(path), expected, "{path}");
        }
    }
}
