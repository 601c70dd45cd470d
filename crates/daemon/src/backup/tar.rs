//! Writes a tar archive in the POSIX form: directories and ordinary files, owned by nobody in particular. What does not fit
//! into the old header, a long name or a large size, is in an extended one before it.

use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

/// What everything in an archive is a multiple of.
pub(super) const BLOCK: usize = 512;

/// The largest size that eleven octal digits can say.
const LARGEST: u64 = 0o777_7777_7777;

/// Where in a header what is, with how many bytes.
pub(super) mod field {
    pub(in super::super) const NAME: std::ops::Range<usize> = 0..100;
    pub(in super::super) const MODE: std::ops::Range<usize> = 100..108;
    pub(super) const OWNER: std::ops::Range<usize> = 108..116;
    pub(super) const GROUP: std::ops::Range<usize> = 116..124;
    pub(in super::super) const SIZE: std::ops::Range<usize> = 124..136;
    pub(super) const MTIME: std::ops::Range<usize> = 136..148;
    pub(in super::super) const SUM: std::ops::Range<usize> = 148..156;
    pub(in super::super) const KIND: std::ops::Range<usize> = 156..157;
    pub(in super::super) const MAGIC: std::ops::Range<usize> = 257..265;
}

/// What the magic field says.
pub(super) const USTAR: &[u8] = b"ustar\x0000";

/// An archive that is being written.
pub(super) struct Writer<W> {
    out: W,
    /// When everything in it was last changed, in seconds since 1970: when the archive was made.
    mtime: u64,
}

impl<W: Write> Writer<W> {
    /// Begins one.
    pub(super) fn new(out: W, mtime: u64) -> Self {
        Self { out, mtime }
    }

    /// Adds a directory.
    pub(super) fn directory(&mut self, path: &str, mode: u32) -> io::Result<()> {
        self.head(&format!("{path}/"), mode, 0, b'5')
    }

    /// Adds a file of exactly that size and says what its SHA-256 is. A source that ends early is an error.
    pub(super) fn file(
        &mut self,
        path: &str,
        mode: u32,
        size: u64,
        mut content: impl Read,
    ) -> io::Result<[u8; 32]> {
        self.head(path, mode, size, b'0')?;
        let (mut hash, mut left, mut block) = (Sha256::new(), size, vec![0; 64 * 1024]);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
            let read = content.read(block.get_mut(..most).unwrap_or_default())?;
            let piece = block.get(..read).unwrap_or_default();
            if piece.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter"));
            }
            hash.update(piece);
            self.out.write_all(piece)?;
            left = left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        }
        self.pad(size)?;
        Ok(hash.finalize().into())
    }

    /// Ends it.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn head(&mut self, path: &str, mode: u32, size: u64, kind: u8) -> io::Result<()> {
        let (long, large) = (path.len() > field::NAME.len(), size > LARGEST);
        let mut extended = String::new();
        if long {
            extended.push_str(&record("path", path));
        }
        if large {
            extended.push_str(&record("size", &size.to_string()));
        }
        if !extended.is_empty() {
            let length = u64::try_from(extended.len()).unwrap_or(u64::MAX);
            self.out.write_all(&header("extended", 0o600, length, self.mtime, b'x'))?;
            self.out.write_all(extended.as_bytes())?;
            self.pad(length)?;
        }
        let (name, size) = (if long { "long-name" } else { path }, if large { 0 } else { size });
        self.out.write_all(&header(name, mode, size, self.mtime, kind))
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let block = [0; BLOCK];
        self.out.write_all(block.get(..padding(size)).unwrap_or_default())
    }
}

/// How many bytes follow that many, up to the next block.
pub(super) fn padding(size: u64) -> usize {
    let over = usize::try_from(size % 512).unwrap_or_default();
    (BLOCK - over) % BLOCK
}

/// The sum that stands in a header, for which its own field counts as spaces.
pub(super) fn sum(header: &[u8; BLOCK]) -> [u8; 8] {
    let bytes = header.iter().enumerate();
    let sum: u32 = bytes.map(|(at, byte)| if field::SUM.contains(&at) { 32 } else { u32::from(*byte) }).sum();
    let mut digits = *b"000000\0 ";
    for (place, digit) in digits.iter_mut().zip(format!("{sum:06o}").bytes()) {
        *place = digit;
    }
    digits
}

fn header(name: &str, mode: u32, size: u64, mtime: u64, kind: u8) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |place: std::ops::Range<usize>, bytes: &[u8]| {
        for (to, from) in header.get_mut(place).unwrap_or_default().iter_mut().zip(bytes) {
            *to = *from;
        }
    };
    put(field::NAME, name.as_bytes());
    put(field::MODE, format!("{:07o}", mode & 0o777).as_bytes());
    put(field::OWNER, b"0000000");
    put(field::GROUP, b"0000000");
    put(field::SIZE, format!("{size:011o}").as_bytes());
    put(field::MTIME, format!("{:011o}", mtime.min(LARGEST)).as_bytes());
    put(field::KIND, &[kind]);
    put(field::MAGIC, USTAR);
    let sum = sum(&header);
    for (to, from) in header.get_mut(field::SUM).unwrap_or_default().iter_mut().zip(sum) {
        *to = from;
    }
    header
}

/// A record of an extended header: its own length, in digits that count too, then the word and the value.
fn record(word: &str, value: &str) -> String {
    let rest = format!(" {word}={value}\n");
    let mut length = rest.len();
    while rest.len() + length.to_string().len() != length {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}")
}
