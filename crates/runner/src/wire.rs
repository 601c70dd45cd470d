//! The host's end of the socket to a launcher: lines with descriptors, without blocking.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use memchr::memchr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::control::{LINE_LIMIT, Wish, Word};

/// The most descriptors that come or go at a time.
const DESCRIPTORS: usize = 4;

/// The most descriptors that are held: a launcher sends two.
const HELD: usize = 8;

/// The socket, and what came over it and was not yet heard.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: UnixStream,
    read: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Wire {
    /// Talks over one end of that pair; the other is for the launcher.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        Ok((Self { socket, read: Vec::new(), descriptors: VecDeque::new() }, theirs.into()))
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
        self.socket.async_io(Interest::WRITABLE, || self.send_now(bytes, descriptors)).await
    }

    fn send_now(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one line"));
        }
        // The host ignores SIGPIPE, as every Rust program does from its start.
        Ok(rustix::net::sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::empty())?)
    }

    /// Asks for something, if there is room; a launcher that reads nothing any more would not do it either.
    pub(crate) fn wish(&self, wish: &Wish) -> io::Result<()> {
        let mut line = serde_json::to_vec(wish)?;
        line.push(b'\n');
        self.send_now(&line, &[]).map(drop)
    }

    /// Tells the launcher that nothing more will come, which makes it end everything. It can still be heard.
    pub(crate) fn hang_up(&self) {
        // The only failure is that the launcher is gone.
        rustix::net::shutdown(&self.socket, Shutdown::Write).ok();
    }

    /// What the launcher says next; none when it is gone. Cancel safe.
    pub(crate) async fn hear(&mut self) -> io::Result<Option<Word>> {
        loop {
            if let Some(word) = self.heard()? {
                return Ok(Some(word));
            }
            let (socket, read, descriptors) = (&self.socket, &mut self.read, &mut self.descriptors);
            if socket.async_io(Interest::READABLE, || receive(socket, read, descriptors)).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// What a launcher that is gone said last.
    pub(crate) fn last_words(&mut self) -> Vec<Word> {
        // Asked of the system and not of the runtime, which may not have seen yet that there is something.
        while let Ok(1..) = receive(&self.socket, &mut self.read, &mut self.descriptors) {}
        std::iter::from_fn(|| self.heard().ok().flatten()).collect()
    }

    /// The next descriptor that came.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    fn heard(&mut self) -> io::Result<Option<Word>> {
        let Some(end) = memchr(b'\n', &self.read) else {
            if self.read.len() > LINE_LIMIT {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line that is too long"));
            }
            return Ok(None);
        };
        let rest = self.read.split_off(end + 1);
        let line = std::mem::replace(&mut self.read, rest);
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// Elsewhere a launcher sends no descriptors.
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::empty();

/// Takes what has come; 0 when the other end is gone.
fn receive(
    socket: &UnixStream,
    read: &mut Vec<u8>,
    descriptors: &mut VecDeque<OwnedFd>,
) -> io::Result<usize> {
    let mut chunk = [0; 4096];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let mut into = [IoSliceMut::new(&mut chunk)];
        rustix::net::recvmsg(socket, &mut into, &mut ancillary, CLOSED_ON_EXEC)
    });
    let count = match received {
        Ok(received) => received.bytes,
        Err(rustix::io::Errno::CONNRESET) => 0,
        Err(errno) => return Err(errno.into()),
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            descriptors.extend(sent);
            // What is too much is closed.
            descriptors.truncate(HELD);
        }
    }
    read.extend_from_slice(chunk.get(..count).unwrap_or_default());
    Ok(count)
}
