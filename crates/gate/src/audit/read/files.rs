//! Which files a log consists of, for whoever copies it while it is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::super::{checkpoints, segment};

/// The files of a log, as they were at one moment. Rows come after the marks that speak of them, and are only ever added,
/// so a copy of these marks and, after that, of all these segments fits together.
#[derive(Debug)]
pub struct Files {
    /// The name of the file with the signed marks, that file, and how long it was; none in a new log.
    pub marks: Option<(&'static str, File, u64)>,
    /// The files with the rows, oldest first. The last of them may be longer by now, and end with half a row.
    pub segments: Vec<PathBuf>,
    directory: PathBuf,
}

/// Lists the files of a log.
pub fn files(directory: &Path) -> io::Result<Files> {
    // Before the segments are listed: what it speaks of is in one of those that there are then.
    let marks = match File::open(directory.join(checkpoints::NAME)) {
        Ok(file) => {
            let length = file.metadata()?.len();
            Some((checkpoints::NAME, file, length))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let segments = segment::list(directory)?.into_iter().map(|segment| segment.path).collect();
    Ok(Files { marks, segments, directory: directory.to_owned() })
}

impl Files {
    /// Whether nothing was pruned since they were listed: if something was, what was copied does not fit together.
    pub fn still_hold(&self) -> bool {
        // Pruning puts another file in the place of the marks; a new log has none, and nothing to prune.
        let now = std::fs::metadata(self.directory.join(checkpoints::NAME)).map(|metadata| metadata.ino());
        let then = self.marks.as_ref().and_then(|(_, file, _)| Some(file.metadata().ok()?.ino()));
        then.is_none_or(|then| now.is_ok_and(|now| now == then))
    }
}
