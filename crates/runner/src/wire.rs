//! The host's end of the socket to a launcher: lines with descriptors, without blocking.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::Shutdown;
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::control::{Wish, Word};
use crate::talk::{self, Heard};

/// The socket, and what came over it and was not yet heard.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: UnixStream,
    heard: Heard,
}

impl Wire {
    /// Talks over one end of that pair; the other is for the launcher.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        Ok((Self { socket, heard: Heard::default() }, theirs.into()))
    }

    /// Sends a line, with descriptors.
    pub(crate) async fn say(&self, line: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut sent = self.send(line, descriptors).await?;
        while sent < line.len() {
            sent += self.send(line.get(sent..).unwrap_or_default(), &[]).await?;
        }
        Ok(())
    }

    async fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        self.socket.async_io(Interest::WRITABLE, || talk::send(&self.socket, bytes, descriptors)).await
    }

    /// Asks for something, if there is room; a launcher that reads nothing any more would not do it either.
    pub(crate) fn wish(&self, wish: &Wish) -> io::Result<()> {
        talk::send(&self.socket, &talk::line(wish)?, &[]).map(drop)
    }

    /// Tells the launcher that nothing more will come, which makes it end everything. It can still be heard.
    pub(crate) fn hang_up(&self) {
        // The only failure is that the launcher is gone.
        rustix::net::shutdown(&self.socket, Shutdown::Write).ok();
    }

    /// What the launcher says next; none when it is gone. Cancel safe.
    pub(crate) async fn hear(&mut self) -> io::Result<Option<Word>> {
        loop {
            if let Some(word) = self.heard.word()? {
                return Ok(Some(word));
            }
            let (socket, heard) = (&self.socket, &mut self.heard);
            if socket.async_io(Interest::READABLE, || heard.take(socket)).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// What a launcher that is gone said last.
    pub(crate) fn last_words(&mut self) -> Vec<Word> {
        // Asked of the system and not of the runtime, which may not have seen yet that there is something.
        while let Ok(1..) = self.heard.take(&self.socket) {}
        std::iter::from_fn(|| self.heard.word().ok().flatten()).collect()
    }

    /// The next descriptor that came.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.heard.descriptor()
    }
}
