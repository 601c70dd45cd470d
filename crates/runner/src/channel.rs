//! Lines and descriptors over a Unix socket: how launcher, host and the first process of a sandbox talk.
//!
//! Blocking, for processes that do one thing. A line is one JSON document; descriptors travel with the line they belong to.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::control::LINE_LIMIT;

/// The most descriptors that come with one line.
const DESCRIPTORS: usize = 4;

/// One end.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
    read: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

impl Channel {
    /// Talks over this socket.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, read: Vec::new(), descriptors: VecDeque::new() }
    }

    /// Two ends that talk to each other. Neither is inherited by a program.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let flags = SocketFlags::CLOEXEC;
        let (one, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok((Self::new(one), Self::new(other)))
    }

    /// Says something, with descriptors.
    pub(crate) fn say<T: Serialize>(&self, word: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(word)?;
        line.push(b'\n');
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one line"));
        }
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let sent = rustix::io::retry_on_intr(|| {
                rustix::net::sendmsg(&self.socket, &[IoSlice::new(rest)], &mut ancillary, SendFlags::NOSIGNAL)
            })?;
            // They went with the first bytes.
            ancillary.clear();
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Waits for what the other end says; none when it is gone.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(word) = self.heard()? {
                return Ok(Some(word));
            }
            if self.receive()? == 0 {
                return Ok(None);
            }
        }
    }

    /// What was said and not yet heard, without waiting for more. To be called after [`Self::receive`].
    pub(crate) fn heard<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(end) = self.read.iter().position(|&byte| byte == b'\n') else {
            if self.read.len() > LINE_LIMIT {
                return Err(io::Error::other("a line that is too long"));
            }
            return Ok(None);
        };
        let rest = self.read.split_off(end + 1);
        let line = std::mem::replace(&mut self.read, rest);
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Takes what has come, waiting if nothing has; 0 when the other end is gone.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 16 * 1024];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            let mut into = [IoSliceMut::new(&mut chunk)];
            rustix::net::recvmsg(&self.socket, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        });
        let count = match received {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(errno.into()),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                self.descriptors.extend(sent);
            }
        }
        self.read.extend_from_slice(chunk.get(..count).unwrap_or_default());
        Ok(count)
    }

    /// The next descriptor that came.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Which of these can be read or have been closed by the other end, waiting at most that long; all false when time is up.
pub(crate) fn wait_for<const N: usize>(
    these: [BorrowedFd<'_>; N],
    patience: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut fds = these.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
    match rustix::event::poll(&mut fds, timeout.as_ref()) {
        Ok(_) => Ok(fds.map(|fd| !fd.revents().is_empty())),
        Err(Errno::INTR) => Ok([false; N]),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_line_arrives_whole_and_with_its_descriptors() {
        let (one, mut other) = Channel::pair().unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let long = "x".repeat(100_000);
        let sender = std::thread::spawn({
            let long = long.clone();
            move || {
                one.say(&long, &[reader.as_fd()]).unwrap();
                one.say(&"second", &[]).unwrap();
            }
        });
        assert_eq!(other.hear::<String>().unwrap(), Some(long));
        let mut passed = std::fs::File::from(other.descriptor().unwrap());
        assert_eq!(other.hear::<String>().unwrap().as_deref(), Some("second"));
        sender.join().unwrap();
        assert_eq!(other.hear::<String>().unwrap(), None);
        writer.write_all(b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        passed.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let (one, mut other) = Channel::pair().unwrap();
        let sender = std::thread::spawn(move || {
            let mut stream = std::os::unix::net::UnixStream::from(one.socket);
            // The other end hangs up when it has had enough.
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        });
        assert!(other.hear::<String>().is_err());
        drop(other);
        sender.join().unwrap();
    }
}
