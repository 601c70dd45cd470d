//! One end of a conversation between processes that do one thing each: the launcher's, to the host and to the first process
//! of a sandbox. It waits where the host's end ([`crate::wire`]) would come back later.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::talk::{self, Heard};

/// One end.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
    heard: Heard,
}

impl Channel {
    /// Talks over this socket.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, heard: Heard::default() }
    }

    /// Two ends that talk to each other. Neither is inherited by a program.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = std::os::unix::net::UnixStream::pair()?;
        Ok((Self::new(one.into()), Self::new(other.into())))
    }

    /// Says something, with descriptors.
    pub(crate) fn say<T: Serialize>(&self, word: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let line = talk::line(word)?;
        let mut sent = talk::send(&self.socket, &line, descriptors)?;
        while sent < line.len() {
            sent += talk::send(&self.socket, line.get(sent..).unwrap_or_default(), &[])?;
        }
        Ok(())
    }

    /// Waits for what the other end says; none when it is gone.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(word) = self.heard.word()? {
                return Ok(Some(word));
            }
            if self.receive()? == 0 {
                return Ok(None);
            }
        }
    }

    /// What was said and not yet heard, without waiting for more. To be called after [`Self::receive`].
    pub(crate) fn heard<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.heard.word()
    }

    /// Takes what has come, waiting if nothing has; 0 when the other end is gone.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        self.heard.take(&self.socket)
    }

    /// The next descriptor that came.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.heard.descriptor()
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
