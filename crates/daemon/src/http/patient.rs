//! A stream whose other end may be slow to read, but not for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::seats::Seat;

/// A stream that breaks when a write is not taken for too long.
pub(crate) struct Patient<Io> {
    io: Io,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    seat: Arc<Seat>,
}

impl<Io> Patient<Io> {
    /// The seat is told when the other end stops taking what it is sent, and when it goes on.
    pub(super) fn new(io: Io, patience: Duration, seat: Arc<Seat>) -> Self {
        Self { io, patience, stalled: None, seat }
    }

    /// The stream itself, for someone with a patience of its own.
    pub(crate) fn into_inner(self) -> Io {
        self.io
    }

    fn timed<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stalled.take().is_some() {
                self.seat.set_stalled(false);
            }
            return written;
        }
        let patience = self.patience;
        self.seat.set_stalled(true);
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Patient<Io> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(cx, room)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Patient<Io> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write(cx, bytes);
        this.timed(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write_vectored(cx, slices);
        this.timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.io).poll_flush(cx);
        this.timed(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let closed = Pin::new(&mut this.io).poll_shutdown(cx);
        this.timed(cx, closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::super::seats;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_given_up_and_one_that_reads_slowly_is_not() {
        let (seat, _stop) = seats::tests::seat().await;
        let (near, _far) = tokio::io::duplex(16);
        let mut stream = Patient::new(near, Duration::from_secs(30), Arc::clone(&seat));
        let error = stream.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(seat.is_stalled(), "what was not taken is still owed");

        let (near, mut far) = tokio::io::duplex(16);
        let mut stream = Patient::new(near, Duration::from_secs(30), Arc::clone(&seat));
        let reading = async {
            let mut room = [0; 16];
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                tokio::io::AsyncReadExt::read_exact(&mut far, &mut room).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(&[0; 64]), reading);
        written.unwrap();
        assert!(!seat.is_stalled());
    }
}
