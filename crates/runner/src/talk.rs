//! Lines and descriptors over a Unix socket, as far as it is the same for both ends: one call that sends, one that takes,
//! and what was taken and not yet heard.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use memchr::memchr;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::control::LINE_LIMIT;

/// The most descriptors that come or go at a time.
const DESCRIPTORS: usize = 4;

/// The most descriptors that are held until somebody asks for them: an order has three, an answer two.
const HELD: usize = 8;

#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// Elsewhere the flag does not exist.
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: RecvFlags = RecvFlags::empty();

/// A word as it travels: one JSON document and a line feed.
pub(crate) fn line<T: Serialize>(word: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    Ok(line)
}

/// Sends some of these bytes, and with the first of them the descriptors.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one line"));
    }
    // Nobody is killed by SIGPIPE: every Rust program ignores it from its start.
    let sent = rustix::io::retry_on_intr(|| {
        rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::empty())
    });
    Ok(sent?)
}

/// What has come and was not yet heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    read: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Heard {
    /// Takes what has come; 0 when the other end is gone.
    pub(crate) fn take(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let mut chunk = [0; 16 * 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            let mut into = [IoSliceMut::new(&mut chunk)];
            rustix::net::recvmsg(&socket, &mut into, &mut ancillary, CLOSED_ON_EXEC)
        });
        let count = match received {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(errno.into()),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                self.descriptors.extend(sent);
                // What is too much is closed.
                self.descriptors.truncate(HELD);
            }
        }
        self.read.extend_from_slice(chunk.get(..count).unwrap_or_default());
        Ok(count)
    }

    /// The next word, if it is there as a whole.
    pub(crate) fn word<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
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

    /// The next descriptor that came.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }
}
