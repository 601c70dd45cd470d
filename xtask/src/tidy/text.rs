//! Rules about single files: how they begin, how long they are, and what must not be left in them.

use super::Breach::{self, Remark, Wrong};
use super::code::code;
use crate::tree::{self, Source};

/// Lines after which a file is remarked on, and after which it is refused.
const LONG: usize = 450;
const TOO_LONG: usize = 600;

/// Every Rust file begins with a sentence that says what it decides.
pub(super) fn beginnings(sources: &[Source]) -> Vec<Breach> {
    let wrong = sources.iter().filter(|source| source.ends("rs") && !source.text.starts_with("//! "));
    wrong.map(|source| Wrong(format!("{} does not begin with a `//!` sentence", source.path))).collect()
}

/// Nothing unfinished, nothing switched off, no `mod.rs`.
pub(super) fn leftovers(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.ends("rs")) {
        if source.path.ends_with("/mod.rs") {
            found.push(Wrong(format!("{}: use `foo.rs` beside `foo/`", source.path)));
        }
        for (line, text) in numbered(&code(&source.text)) {
            for left in ["#[ignore", "#[allow(", "#![allow(", "todo!", "unimplemented!", "dbg!"] {
                if text.contains(left) {
                    found.push(Wrong(format!("{}:{line} has `{left}`", source.path)));
                }
            }
        }
    }
    found
}

/// Long files are looked at; very long ones are two.
pub(super) fn lengths(sources: &[Source]) -> Vec<Breach> {
    let long = |source: &Source| {
        let lines = source.text.lines().count();
        let said = format!("{} has {lines} lines; do two ideas share it?", source.path);
        if lines > TOO_LONG { Some(Wrong(said)) } else { (lines > LONG).then_some(Remark(said)) }
    };
    sources.iter().filter(|source| source.ends("rs")).filter_map(long).collect()
}

/// No path of one machine, and nothing outside the repository.
pub(super) fn machine_paths(sources: &[Source]) -> Vec<Breach> {
    let here = tree::root().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.is_in("xtask/src/tidy") && !source.ends("lock")) {
        for (line, text) in numbered(&source.text) {
            let machine = ["/root", "/work", "/home/"].into_iter().find(|path| names(text, path));
            let machine = machine.or_else(|| text.contains(&here).then_some("this checkout"));
            let outside = text.contains("../shared").then_some("../shared");
            if let Some(path) = machine.or(outside) {
                found.push(Wrong(format!("{}:{line} names a path of one machine ({path})", source.path)));
            }
        }
    }
    found
}

/// People who are nobody: how documents and tests write anyone's home.
const ANYONE: [&str; 3] = ["you", "ada", "user"];

/// Whether a line names that absolute path or one below it.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + path.len()..).unwrap_or_default();
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || "._-$}/~".contains(c)));
        let whole = match path.strip_suffix('/') {
            Some(_) => {
                after.starts_with(|c: char| c.is_ascii_lowercase())
                    && !ANYONE.iter().any(|name| after.starts_with(name))
            }
            None => after.starts_with('/'),
        };
        begins && whole
    })
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_file_without_a_first_sentence_is_found() {
        let sources = [source("a.rs", "//! Says it.\n"), source("b.rs", "use std::fmt;\n")];
        assert_eq!(beginnings(&sources).len(), 1);
    }

    #[test]
    fn what_was_left_is_found_in_code_only() {
        assert_eq!(leftovers(&[source("a.rs", "fn f() { todo!() } // todo!()\n")]).len(), 1);
        assert_eq!(leftovers(&[source("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n")]).len(), 1);
        assert_eq!(leftovers(&[source("a/mod.rs", "let text = \"dbg!\";\n")]).len(), 1);
    }

    #[test]
    fn machine_paths_are_told_from_ordinary_ones() {
        for (place, rest) in [("root", "x"), ("work", "main"), ("home", "eve/notes")] {
            let line = format!("see \"/{place}/{rest}\"");
            assert_eq!(machine_paths(&[source("a.md", &line)]).len(), 1, "{line}");
        }
        for line in
            ["/workspace/notes.md", "$HOME/work/x", "/home/ada/notes", "/rooted", "a/root/b", "crates/root/x"]
        {
            assert_eq!(machine_paths(&[source("a.md", line)]), [], "{line}");
        }
    }

    #[test]
    fn a_file_is_remarked_on_before_it_is_refused() {
        let lengths_of = |lines: usize| lengths(&[source("a.rs", &"x\n".repeat(lines))]);
        assert_eq!(lengths_of(450), []);
        assert!(matches!(lengths_of(451).as_slice(), [Remark(_)]));
        assert!(matches!(lengths_of(601).as_slice(), [Wrong(_)]));
    }
}
