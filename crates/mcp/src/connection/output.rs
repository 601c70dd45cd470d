//! What waits to be sent: written at once where the stream takes it, kept where it would block, given up after a while.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::Sleep;

/// What a quiet connection may keep of its room.
const KEPT: usize = 16 * 1024;

/// Why nothing more can be sent.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Nothing was taken for too long.
    Stalled,
    /// The stream broke.
    Failed(io::Error),
}

/// Bytes on their way out.
pub(crate) struct Output {
    bytes: Vec<u8>,
    sent: usize,
    flushed: bool,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Output {
    /// Nothing yet; gives up when nothing is taken for that long.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { bytes: Vec::new(), sent: 0, flushed: true, patience, stalled: None }
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing waits, and nothing is held back by the stream either.
    pub(crate) fn is_done(&self) -> bool {
        self.is_empty() && self.flushed
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        (self.bytes, self.sent, self.stalled) = (Vec::new(), 0, None);
    }

    /// Adds what `write` writes, as one line; nothing if it writes nothing.
    pub(crate) fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        write(&mut self.bytes);
        if self.bytes.len() > before {
            self.bytes.push(b'\n');
        }
    }

    /// Puts bytes before everything that waits. Only while nothing of it was sent.
    pub(crate) fn first(&mut self, mut bytes: Vec<u8>) {
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
    }

    /// Adds bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Sends what the stream takes; ready when nothing waits, or nothing more can be sent.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        mut writer: Pin<&mut (impl AsyncWrite + ?Sized)>,
    ) -> Poll<Result<(), Broken>> {
        while !self.is_empty() {
            let rest = self.bytes.get(self.sent..).unwrap_or_default();
            match writer.as_mut().poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(Broken::Failed(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                    self.stalled = None;
                    self.flushed = false;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Broken::Failed(error))),
                Poll::Pending => return self.poll_patience(cx),
            }
        }
        self.rewind();
        if !self.flushed {
            match writer.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.flushed = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Broken::Failed(error))),
                Poll::Pending => return self.poll_patience(cx),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(Broken::Stalled))
    }

    fn rewind(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.bytes.shrink_to(KEPT);
    }
}
