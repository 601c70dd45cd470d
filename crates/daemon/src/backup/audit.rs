//! The log while it is written: what of it goes into a backup, so that it can be verified and gone on with.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use covenant_gate::audit::read::{self, Files};

/// A file of the log, open, with how much of it counts.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file: File,
    pub(super) length: u64,
}

/// The files of a log, in the order in which they are copied.
pub(super) struct Log {
    files: Files,
    next: usize,
}

impl Log {
    /// Looks what there is; nothing where there is no log.
    pub(super) fn at(directory: &Path) -> io::Result<Option<Self>> {
        if !directory.is_dir() {
            return Ok(None);
        }
        Ok(Some(Self { files: read::files(directory)?, next: 0 }))
    }

    /// The next file; `None` behind the last. One that is gone was pruned: then everything is to be done again.
    pub(super) fn next(&mut self) -> io::Result<Option<Part>> {
        let (name, mut file, length) = match (self.next, &self.files.marks) {
            (0, Some((name, file, length))) => ((*name).to_owned(), file.try_clone()?, *length),
            (next, marks) => {
                let Some(path) = self.files.segments.get(next - usize::from(marks.is_some() && next > 0))
                else {
                    return Ok(None);
                };
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                (name.to_owned(), file, length)
            }
        };
        self.next += 1;
        let length = whole_lines(&mut file, length)?;
        file.rewind()?;
        Ok(Some(Part { name, file, length }))
    }

    /// Whether the log was not pruned meanwhile. Ask when all is copied.
    pub(super) fn still_holds(&self) -> bool {
        self.files.still_hold()
    }
}

/// How much of a file is whole lines; the last one may be half written.
fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let begin = end.saturating_sub(64 * 1024);
        file.seek(SeekFrom::Start(begin))?;
        let mut block = Vec::new();
        file.take(end - begin).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + u64::try_from(at).unwrap_or_default() + 1);
        }
        end = begin;
    }
    Ok(0)
}
