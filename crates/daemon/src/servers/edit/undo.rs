//! What was written, and what stood there before: a change that cannot be finished is taken back, and nobody else's is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::EditError;
use crate::atomic;
use crate::trust::LIMIT;

/// The files that were written so far, in order.
#[derive(Default)]
pub(crate) struct Undo(Vec<Change>);

struct Change {
    path: PathBuf,
    /// What stood there; none where there was no file.
    before: Option<Zeroizing<String>>,
    after: Zeroizing<String>,
}

impl Undo {
    /// Writes a file in which that stands, and not one in which somebody else has written since.
    pub(super) fn write(&mut self, path: &Path, before: &str, after: &str) -> Result<(), EditError> {
        if u64::try_from(after.len()).unwrap_or(u64::MAX) > LIMIT {
            return Err(EditError::TooLarge { path: path.to_owned() });
        }
        let was_there = !before.is_empty() || path.exists();
        // Kept first: also where writing fails, the new text may stand there.
        self.0.push(Change {
            path: path.to_owned(),
            before: was_there.then(|| Zeroizing::new(before.to_owned())),
            after: Zeroizing::new(after.to_owned()),
        });
        match put(path, was_there.then_some(before), after) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.0.pop();
                Err(EditError::Overtaken { path: path.to_owned() })
            }
            Err(error) => Err(EditError::Write { path: path.to_owned(), error }),
        }
    }

    /// Puts every file back that still is what was written. Each is tried; the first that stays is the error.
    pub(crate) fn put_back(self) -> Result<(), EditError> {
        let tried: Vec<Result<(), EditError>> = self.0.into_iter().rev().map(Change::put_back).collect();
        tried.into_iter().collect()
    }
}

impl Change {
    fn put_back(self) -> Result<(), EditError> {
        let Self { path, before, after } = self;
        let now = match fs::read(&path) {
            Ok(bytes) => Some(Zeroizing::new(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(EditError::Stays { path, error }),
        };
        let now = now.as_deref().map(Vec::as_slice);
        if now == before.as_ref().map(|text| text.as_bytes()) {
            return Ok(());
        }
        if now != Some(after.as_bytes()) {
            return Err(EditError::Overtaken { path });
        }
        let put = match &before {
            Some(text) => put(&path, Some(&after), text),
            None => fs::remove_file(&path).map(|()| true),
        };
        match put {
            Ok(true) => Ok(()),
            Ok(false) => Err(EditError::Overtaken { path }),
            Err(error) => Err(EditError::Stays { path, error }),
        }
    }
}

/// Writes the file that a link leads to, and leaves the link where it is. Whether that stood there until then.
fn put(path: &Path, before: Option<&str>, text: &str) -> io::Result<bool> {
    let place = match fs::canonicalize(path) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    atomic::exchange(&place, before.map(str::as_bytes), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn of_a_change_that_is_half_done_nothing_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two, gone) =
            (dir.path().join("one"), dir.path().join("two"), dir.path().join("gone").join("three"));
        fs::write(&one, "1").unwrap();
        let mut undo = Undo::default();
        undo.write(&one, "1", "first").unwrap();
        undo.write(&two, "", "second").unwrap();
        assert!(matches!(undo.write(&gone, "", "third"), Err(EditError::Write { .. })));
        assert_eq!((text(&one), text(&two)), ("first".to_owned(), "second".to_owned()));
        undo.put_back().unwrap();
        assert_eq!(text(&one), "1");
        assert!(!two.exists(), "there was none before");
    }

    #[test]
    fn what_somebody_wrote_after_it_was_read_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one");
        fs::write(&path, "by hand").unwrap();
        let mut undo = Undo::default();
        assert!(matches!(undo.write(&path, "1", "first"), Err(EditError::Overtaken { .. })));
        assert_eq!(text(&path), "by hand");
        undo.put_back().unwrap();
        assert_eq!(text(&path), "by hand");
    }

    #[test]
    fn what_somebody_else_wrote_in_between_is_left_and_the_rest_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "1").unwrap();
        fs::write(&two, "2").unwrap();
        let mut undo = Undo::default();
        undo.write(&one, "1", "first").unwrap();
        undo.write(&two, "2", "second").unwrap();
        fs::write(&two, "mine").unwrap();
        assert!(matches!(undo.put_back(), Err(EditError::Overtaken { path }) if path == two));
        assert_eq!((text(&one), text(&two)), ("1".to_owned(), "mine".to_owned()));
    }
}
