//! Lines: what a program writes, cut at line feeds, with a bound for one line and for all of them.

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::pipes::Output;

/// As much is read at a time.
const CHUNK: u16 = 16 * 1024;

/// The most a program may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLimits {
    /// Bytes in one line, without its line feed.
    pub line: usize,
    /// Bytes in all, line feeds included.
    pub total: u64,
}

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// This line is longer than allowed. It is skipped: to read on gives the line after it.
    #[error("it wrote a line of more than {0} bytes")]
    TooLong(usize),
    /// More was written than allowed in all. To read on gives the same again.
    #[error("it wrote more than {0} bytes")]
    TooMuch(u64),
    /// The pipe broke.
    #[error("what it wrote could not be read: {0}")]
    Read(#[from] std::io::Error),
}

/// The lines of an output.
#[derive(Debug)]
pub struct Lines<R = Output> {
    source: R,
    limits: LineLimits,
    /// What was read and not yet given away.
    held: Vec<u8>,
    /// Where in `held` the present line begins.
    begin: usize,
    /// How far into the present line there is no line feed.
    searched: usize,
    /// How many bytes were read so far.
    read: u64,
    /// Whether the present line was refused and its rest is to be skipped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of that output, as far as the limits go.
    pub fn new(source: R, limits: LineLimits) -> Self {
        Self { source, limits, held: Vec::new(), begin: 0, searched: 0, read: 0, skipping: false }
    }

    /// The next line, byte for byte, without its line feed; none after the last. A last line without a line feed is a
    /// line too. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            if let Some(line) = self.whole_line()? {
                return Ok(Some(line));
            }
            if self.read_more().await? == 0 {
                return Ok(self.last_line());
            }
        }
    }

    /// The output, with what was read of it and not yet given away: how a protocol that begins with lines goes on.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        let rest = self.held.get(self.begin..).unwrap_or_default().to_vec();
        (self.source, rest)
    }

    /// The next line that was read to its end.
    fn whole_line(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            let line = self.held.get(self.begin..).unwrap_or_default();
            let Some(found) = memchr(b'\n', line.get(self.searched..).unwrap_or_default()) else {
                self.searched = line.len();
                return if self.skipping {
                    self.forget();
                    Ok(None)
                } else if line.len() > self.limits.line {
                    Err(self.refuse())
                } else {
                    Ok(None)
                };
            };
            let length = self.searched + found;
            let line = line.get(..length).unwrap_or_default().to_vec();
            self.begin += length + 1;
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if length > self.limits.line {
                return Err(LineError::TooLong(self.limits.line));
            }
            return Ok(Some(line));
        }
    }

    /// Gives up the present line before it has ended.
    fn refuse(&mut self) -> LineError {
        self.skipping = true;
        self.forget();
        LineError::TooLong(self.limits.line)
    }

    fn forget(&mut self) {
        self.held.clear();
        self.begin = 0;
        self.searched = 0;
    }

    /// What stands behind the last line feed, if anything does.
    fn last_line(&mut self) -> Option<Vec<u8>> {
        let line = self.held.split_off(self.begin.min(self.held.len()));
        self.forget();
        (!line.is_empty() && !self.skipping).then_some(line)
    }

    async fn read_more(&mut self) -> Result<usize, LineError> {
        if self.read > self.limits.total {
            return Err(LineError::TooMuch(self.limits.total));
        }
        self.held.drain(..self.begin);
        self.begin = 0;
        self.held.reserve(usize::from(CHUNK));
        // One byte more than allowed tells that there is more.
        let allowed = self.limits.total.saturating_add(1) - self.read;
        let mut source = (&mut self.source).take(allowed.min(u64::from(CHUNK)));
        let count = source.read_buf(&mut self.held).await?;
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if self.read > self.limits.total {
            // It is never given away; the lines before it are.
            self.held.pop();
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
