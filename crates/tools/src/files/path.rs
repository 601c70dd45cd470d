//! Paths as callers write them, read as parts beneath a root. Only what the kernel cannot know is decided here: what is no
//! path at all, and what an absolute path begins with.

use std::path::{Component, Path, PathBuf};

use super::Why;

/// The most bytes of a path, and of one part of it; and the most parts.
const LONGEST: usize = 4096;
const LONGEST_PART: usize = 255;
pub(super) const DEEPEST: usize = 128;

/// A path beneath a root. It may hold `..`: whether that stays inside, the kernel decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    parts: Vec<String>,
}

impl Place {
    /// Reads a path of the root that is called that and lies there.
    pub(super) fn read(text: &str, shown: &str, real: &[PathBuf]) -> Result<Self, Why> {
        if text.is_empty() {
            return Err(Why::Empty);
        }
        if text.contains('\0') {
            return Err(Why::Nul);
        }
        if text.len() > LONGEST {
            return Err(Why::TooLong);
        }
        let whole: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let parts = if text.starts_with('/') { beneath(&whole, shown, real)? } else { &whole };
        if parts.len() > DEEPEST || parts.iter().any(|part| part.len() > LONGEST_PART) {
            return Err(Why::TooLong);
        }
        Ok(Self { parts: parts.iter().map(|part| (*part).to_owned()).collect() })
    }

    /// The whole path from the root; the root itself is `.`.
    pub(super) fn whole(&self) -> String {
        joined(&self.parts)
    }

    /// The directory and the name in it; nothing where no name stands at the end.
    pub(super) fn split(&self) -> Option<(String, &str)> {
        let (name, parent) = self.parts.split_last()?;
        (name != "..").then(|| (joined(parent), name.as_str()))
    }
}

/// What an absolute path has after the root: by its real place, or by its public name.
fn beneath<'p, 't>(whole: &'p [&'t str], shown: &str, real: &[PathBuf]) -> Result<&'p [&'t str], Why> {
    let mut starts: Vec<Vec<&str>> = real.iter().filter_map(|place| names(place)).collect();
    starts.push(vec![shown]);
    let start = starts.iter().find(|start| whole.starts_with(start)).ok_or(Why::Escapes)?;
    whole.get(start.len()..).ok_or(Why::Escapes)
}

/// The parts of an absolute path; the whole disk is no prefix to go by.
fn names(place: &Path) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for component in place.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (place.is_absolute() && !names.is_empty()).then_some(names)
}

fn joined(parts: &[String]) -> String {
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, Why> {
        let real = [PathBuf::from("/srv/base/work"), PathBuf::from("/data/work")];
        Place::read(text, "workspace", &real).map(|place| place.whole())
    }

    #[test]
    fn a_path_is_relative_or_begins_with_a_name_of_the_root() {
        for (text, whole) in [
            ("notes.md", "notes.md"),
            ("./a//b/.", "a/b"),
            ("/workspace/notes.md", "notes.md"),
            ("//workspace/./sub/file.txt", "sub/file.txt"),
            ("/workspace", "."),
            ("/workspace/", "."),
            ("/srv/base/work/a", "a"),
            ("/data/work/a/b", "a/b"),
            (".", "."),
            ("workspace/a", "workspace/a"),
            ("..", ".."),
            ("/workspace/../etc/passwd", "../etc/passwd"),
            ("a/../b", "a/../b"),
            (" ", " "),
            ("...", "..."),
            ("a\\..\\b", "a\\..\\b"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(whole), "{text}");
        }
    }

    #[test]
    fn what_begins_like_the_root_and_is_not_it_is_outside() {
        for text in [
            "/",
            "/etc/passwd",
            "/workspace-evil/a",
            "/workspaces",
            "/srv/base/work2/a",
            "/srv/base",
            "/Workspace/a",
        ] {
            assert_eq!(read(text), Err(Why::Escapes), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused_before_anything_is_opened() {
        let (long, part) = ("a/".repeat(2049), "b".repeat(256));
        for (text, why) in [
            ("", Why::Empty),
            ("a\0b", Why::Nul),
            (long.as_str(), Why::TooLong),
            (part.as_str(), Why::TooLong),
            (&"a/".repeat(129), Why::TooLong),
        ] {
            assert_eq!(read(text), Err(why));
        }
        assert!(read(&"ä".repeat(127)).is_ok(), "bytes count, not characters");
        assert_eq!(read(&"ä".repeat(128)), Err(Why::TooLong));
    }

    #[test]
    fn the_last_part_is_a_name_or_there_is_none() {
        let place = |text| Place::read(text, "workspace", &[]).unwrap();
        assert_eq!(place("a/b").split(), Some(("a".to_owned(), "b")));
        assert_eq!(place("b").split(), Some((".".to_owned(), "b")));
        assert_eq!(place("a/..").split(), None);
        assert_eq!(place(".").split(), None);
    }
}
