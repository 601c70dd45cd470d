//! Lines: what a program writes, cut at line feeds, with a bound for one line and for all of them.

use tokio::io::AsyncRead;

use crate::pipes::Output;

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
    #[error("a line of more than {0} bytes")]
    TooLong(usize),
    /// More was written than allowed in all. To read on gives the same again.
    #[error("more than {0} bytes of output")]
    TooMuch(u64),
    /// The pipe broke.
    #[error("its output could not be read: {0}")]
    Read(#[from] std::io::Error),
}

/// The lines of an output.
#[derive(Debug)]
pub struct Lines<R = Output> {
    source: R,
    limits: LineLimits,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of that output, as far as the limits go.
    pub fn new(source: R, limits: LineLimits) -> Self {
        Self { source, limits }
    }

    /// The next line, byte for byte, without its line feed; none after the last. A last line without a line feed is a
    /// line too. Cancel safe.
    #[expect(clippy::unused_async, reason = "the beginning of it")]
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let _ = (&mut self.source, self.limits);
        Ok(None)
    }
}
