//! The two pipes to a child that its owner uses: what it reads, and what it writes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

/// A child's standard input. To drop it closes it.
#[derive(Debug)]
pub struct Input(Sender);

/// A child's standard output: bytes. [`crate::lines::Lines`] makes lines of them.
#[derive(Debug)]
pub struct Output(Receiver);

impl Input {
    /// Writes one line and its end. A line that holds a line feed would be two, and is refused.
    ///
    /// Not cancel safe: who gives up waiting leaves a part of the line written, and can only close the input then.
    pub async fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.write_all(line).await?;
        self.0.write_all(b"\n").await
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}
