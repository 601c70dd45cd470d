//! Reads a tar archive as strictly as it can be read: what [`super::tar`] writes, and nothing else. No links, no devices, no
//! way out of the directory it is unpacked in, and no size that the archive does not have.

use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

use super::archive::BadArchive;
use super::tar::{BLOCK, USTAR, field, padding, sum};

/// The most bytes of a path.
const LONGEST: usize = 1024;
/// The most bytes of an extended header.
const MOST_EXTENDED: u64 = 4096;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Directory,
    /// An ordinary file.
    File,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it belongs: a relative path without `.` and `..`.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: Kind,
    /// Who may do what with it, of what an owner, a group and others may.
    pub(super) mode: u32,
    /// How many bytes it has.
    pub(super) size: u64,
}

/// An archive that is being read.
pub(super) struct Reader<R> {
    input: R,
    /// How many bytes are left of it.
    left: u64,
    entries: usize,
}

impl<R: Read> Reader<R> {
    /// Begins one of that many bytes.
    pub(super) fn new(input: R, length: u64) -> Self {
        Self { input, left: length, entries: 0 }
    }

    /// The next entry, whose content, if it is a file, has to be taken before the one after it; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, BadArchive> {
        let mut extended = Extended::default();
        let mut header = self.block()?;
        if header == [0; BLOCK] {
            return self.end().map(|()| None);
        }
        if kind(&header) == b'x' {
            extended = self.extended(&header)?;
            header = self.block()?;
        }
        self.entries += 1;
        if self.entries > super::MOST_ENTRIES + 2 {
            return Err(BadArchive::Strange(format!("it has more than {} entries", super::MOST_ENTRIES)));
        }
        let name = match extended.path {
            Some(path) => path,
            None => text(&header, field::NAME)?.to_owned(),
        };
        let (path, kind) = match (name.strip_suffix('/'), kind(&header)) {
            (Some(path), b'5') => (path.to_owned(), Kind::Directory),
            (None, b'0') => (name, Kind::File),
            _ => {
                let why = "is neither a directory nor an ordinary file".to_owned();
                return Err(BadArchive::Entry { path: name.chars().take(200).collect(), why });
            }
        };
        let bad =
            |why: &str| BadArchive::Entry { path: path.chars().take(200).collect(), why: why.to_owned() };
        check(&path).map_err(bad)?;
        let size = match extended.size {
            Some(size) => size,
            None => octal(&header, field::SIZE)?,
        };
        if size > self.left {
            return Err(BadArchive::Cut);
        }
        if kind == Kind::Directory && size > 0 {
            return Err(bad("is a directory with content"));
        }
        let mode = u32::try_from(octal(&header, field::MODE)?).unwrap_or(u32::MAX);
        if mode & !0o755 != 0 {
            return Err(bad("may be written by others, or has a mode that is none of ours"));
        }
        Ok(Some(Entry { path, kind, mode, size }))
    }

    /// Takes the content of a file in, and says what its SHA-256 is.
    pub(super) fn content(&mut self, size: u64, mut into: impl Write) -> Result<[u8; 32], BadArchive> {
        let (mut hash, mut left, mut block) = (Sha256::new(), size, vec![0; 64 * 1024]);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            let piece = block.get_mut(..most).unwrap_or_default();
            self.fill(piece)?;
            hash.update(&*piece);
            into.write_all(piece).map_err(BadArchive::Unwritten)?;
            left = left.saturating_sub(u64::try_from(most).unwrap_or(u64::MAX));
        }
        into.flush().map_err(BadArchive::Unwritten)?;
        let mut rest = [0; BLOCK];
        let rest = rest.get_mut(..padding(size)).unwrap_or_default();
        self.fill(rest)?;
        if rest.iter().any(|byte| *byte != 0) {
            return Err(BadArchive::Strange("there is something between two entries".to_owned()));
        }
        Ok(hash.finalize().into())
    }

    /// The whole content of a small file.
    pub(super) fn small(&mut self, entry: &Entry, most: u64) -> Result<(Vec<u8>, [u8; 32]), BadArchive> {
        if entry.size > most {
            let why = format!("is larger than {most} bytes");
            return Err(BadArchive::Entry { path: entry.path.clone(), why });
        }
        let mut bytes = Vec::new();
        let hash = self.content(entry.size, &mut bytes)?;
        Ok((bytes, hash))
    }

    fn block(&mut self) -> Result<[u8; BLOCK], BadArchive> {
        let mut header = [0; BLOCK];
        self.fill(&mut header)?;
        if header == [0; BLOCK] {
            return Ok(header);
        }
        let sound = header.get(field::MAGIC) == Some(USTAR) && header.get(field::SUM) == Some(&sum(&header));
        if sound { Ok(header) } else { Err(BadArchive::Strange("an entry has no sound header".to_owned())) }
    }

    /// After one empty block comes another, and then nothing.
    fn end(&mut self) -> Result<(), BadArchive> {
        let mut last = [1; BLOCK];
        self.fill(&mut last)?;
        if last != [0; BLOCK] || self.left > 0 {
            return Err(BadArchive::Strange("something follows its end".to_owned()));
        }
        Ok(())
    }

    fn extended(&mut self, header: &[u8; BLOCK]) -> Result<Extended, BadArchive> {
        let strange = || BadArchive::Strange("an extended header is malformed".to_owned());
        let size = octal(header, field::SIZE)?;
        if size > MOST_EXTENDED || size > self.left {
            return Err(strange());
        }
        let mut bytes = Vec::new();
        self.content(size, &mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| strange())?;
        let mut extended = Extended::default();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (length, _) = rest.split_once(' ').ok_or_else(strange)?;
            let whole = length.parse().ok().and_then(|length: usize| rest.split_at_checked(length));
            let (record, behind) = whole.filter(|(record, _)| !record.is_empty()).ok_or_else(strange)?;
            let said = record.strip_prefix(length).and_then(|said| said.trim_start().strip_suffix('\n'));
            match said.and_then(|said| said.split_once('=')).ok_or_else(strange)? {
                ("path", path) => extended.path = Some(path.to_owned()),
                ("size", size) => extended.size = Some(size.parse().map_err(|_| strange())?),
                _ => return Err(strange()),
            }
            rest = behind;
        }
        Ok(extended)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), BadArchive> {
        let wanted = u64::try_from(into.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(wanted).ok_or(BadArchive::Cut)?;
        self.input.read_exact(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => BadArchive::Cut,
            _ => BadArchive::Unread(error),
        })
    }
}

#[derive(Default)]
struct Extended {
    path: Option<String>,
    size: Option<u64>,
}

fn kind(header: &[u8; BLOCK]) -> u8 {
    header.get(field::KIND).and_then(<[u8]>::first).copied().unwrap_or_default()
}

fn text(header: &[u8; BLOCK], place: std::ops::Range<usize>) -> Result<&str, BadArchive> {
    let field = header.get(place).unwrap_or_default();
    let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(field).map_err(|_| BadArchive::Strange("a name is not UTF-8".to_owned()))
}

fn octal(header: &[u8; BLOCK], place: std::ops::Range<usize>) -> Result<u64, BadArchive> {
    let digits = text(header, place)?.trim_ascii();
    let number =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| u64::from_str_radix(digits, 8).ok());
    number
        .flatten()
        .ok_or_else(|| BadArchive::Strange("a header says no number where one belongs".to_owned()))
}

/// Whether a path stays where it is unpacked.
pub(super) fn check(path: &str) -> Result<(), &'static str> {
    if path.len() > LONGEST || path.contains('\0') {
        return Err("has a name that is too long, or no name");
    }
    if path.starts_with('/') {
        return Err("has an absolute path");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("has a path that leads elsewhere");
    }
    Ok(())
}
