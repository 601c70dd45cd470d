//! What can be wrong with a path or what lies there, as sentences: what happened, to which path, what to do next.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// How much of a path is repeated in a sentence.
const REPEATED: usize = 200;

/// A failure at a path beneath a root. Its text is a sentence for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// What is wrong.
    pub why: Why,
    root: String,
    path: String,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It leads outside, or may.
    Escapes,
    /// No path was given.
    Empty,
    /// It holds a NUL character.
    Nul,
    /// It is longer than a path may be, or a part of it is, or it has too many parts.
    TooLong,
    /// Nothing is there.
    Missing,
    /// A directory is there, and a file is needed.
    Directory,
    /// A file is there, and a directory is needed.
    NotADirectory,
    /// A device, a pipe or a socket is there.
    Special,
    /// A symbolic link is there that is not followed.
    Link,
    /// It is larger than that many bytes, or would be.
    TooLarge(u64),
    /// The system does not allow it.
    Denied,
    /// No room is left.
    Full,
    /// Others change it again and again while it is looked at.
    Busy,
    /// Whoever asked no longer wants to know.
    Stopped,
    /// Anything else, as the system calls it.
    Failed(Errno),
}

impl FileError {
    pub(crate) fn new(why: Why, root: &str, path: &str) -> Self {
        Self { why, root: root.to_owned(), path: plain(path) }
    }
}

/// A text from outside, as it can stand in a sentence: one line, not too long, nothing that changes how the rest reads.
pub(crate) fn plain(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", escaped(text.get(..end).unwrap_or_default())),
        None => escaped(text),
    }
}

/// The same, however long.
pub(crate) fn escaped(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_bidirectional(character) {
            said.extend(character.escape_unicode());
        } else {
            said.push(character);
        }
    }
    said
}

fn is_bidirectional(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, root, path } = self;
        match why {
            Why::Escapes => write!(
                f,
                "path escapes {root}: {path} leads outside; use a path beneath it, like notes.md or /{root}/notes.md"
            ),
            Why::Empty => write!(f, "path is required: name a file beneath {root}, like notes.md"),
            Why::Nul => write!(f, "{path} has a NUL character: no file can be called that; leave it out"),
            Why::TooLong => write!(
                f,
                "{path} is too long: a path has at most 4096 bytes, 255 between two slashes, and 128 parts; use a shorter one"
            ),
            Why::Missing => {
                write!(f, "{path} does not exist in {root}: list the directory to see what is there")
            }
            Why::Directory => write!(f, "{path} is a directory: name a file in it"),
            Why::NotADirectory => {
                write!(f, "{path} is not a directory, or goes through a file: list what is above it")
            }
            Why::Special => {
                write!(f, "{path} is a device, a pipe or a socket: only regular files are opened")
            }
            Why::Link => write!(
                f,
                "{path} is, or goes through, a symbolic link that is not followed here: name the file it leads to"
            ),
            Why::TooLarge(most) => {
                write!(f, "{path} is too large: the limit is {most} bytes; use less, or several files")
            }
            Why::Denied => write!(
                f,
                "{path} may not be used that way: the system denied it; ask the operator for its permissions"
            ),
            Why::Full => {
                write!(f, "{path} could not be written: no room is left; remove something and try again")
            }
            Why::Busy => write!(f, "{path} is being changed by others: try again"),
            Why::Stopped => write!(f, "{path} was given up, as the call was taken back or its time was up"),
            Why::Failed(errno) => {
                write!(f, "{path} could not be used: {errno}; ask the operator to look at {root}")
            }
        }
    }
}

impl std::error::Error for FileError {}

impl From<Errno> for Why {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Escapes,
            Errno::NOENT => Self::Missing,
            Errno::ISDIR => Self::Directory,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::NXIO | Errno::NODEV => Self::Special,
            Errno::LOOP => Self::Link,
            Errno::NAMETOOLONG => Self::TooLong,
            Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY => Self::Denied,
            Errno::NOSPC | Errno::DQUOT => Self::Full,
            Errno::AGAIN => Self::Busy,
            other => Self::Failed(other),
        }
    }
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).unwrap_or(Errno::IO).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_change_the_sentence_it_stands_in() {
        for (text, said) in [
            ("a\nError: b", "a\\u{a}Error: b"),
            ("\u{202e}x\u{2066}", "\\u{202e}x\\u{2066}"),
            ("für 日本", "für 日本"),
        ] {
            assert_eq!(plain(text), said);
        }
        assert_eq!(plain(&"x".repeat(5000)).chars().count(), REPEATED + 1);
    }
}
