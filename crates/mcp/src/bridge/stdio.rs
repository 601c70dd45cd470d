//! Standard input and output without a thread between: pipes and sockets are polled, anything else is read as a file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{FileType, OFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Stdin, Stdout};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
#[derive(Debug)]
pub struct Input {
    from: From,
    _found: Found,
}

/// Standard output.
#[derive(Debug)]
pub struct Output {
    to: To,
    _found: Found,
}

#[derive(Debug)]
enum From {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    File(Stdin),
}

#[derive(Debug)]
enum To {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    File(Stdout),
}

/// How the descriptor was found. Others may share it, so it is left like that.
#[derive(Debug)]
struct Found(OwnedFd, OFlags);

impl Found {
    fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self(descriptor.try_clone_to_owned()?, rustix::fs::fcntl_getfl(descriptor)?))
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the process ends anyway.
        let _ = rustix::fs::fcntl_setfl(&self.0, self.1);
    }
}

/// The process's own standard streams.
pub fn stdio() -> io::Result<(Input, Output)> {
    Ok((input(io::stdin().as_fd())?, output(io::stdout().as_fd())?))
}

fn input(descriptor: BorrowedFd<'_>) -> io::Result<Input> {
    let found = Found::of(descriptor)?;
    let from = match kind(descriptor)? {
        FileType::Fifo => From::Pipe(pipe::Receiver::from_owned_fd(descriptor.try_clone_to_owned()?)?),
        FileType::Socket => From::Socket(socket(descriptor)?),
        _ => From::File(tokio::io::stdin()),
    };
    Ok(Input { from, _found: found })
}

fn output(descriptor: BorrowedFd<'_>) -> io::Result<Output> {
    let found = Found::of(descriptor)?;
    let to = match kind(descriptor)? {
        FileType::Fifo => To::Pipe(pipe::Sender::from_owned_fd(descriptor.try_clone_to_owned()?)?),
        FileType::Socket => To::Socket(socket(descriptor)?),
        _ => To::File(tokio::io::stdout()),
    };
    Ok(Output { to, _found: found })
}

fn kind(descriptor: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode))
}

fn socket(descriptor: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(descriptor.try_clone_to_owned()?);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, free: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().from {
            From::Pipe(pipe) => Pin::new(pipe).poll_read(cx, free),
            From::Socket(socket) => Pin::new(socket).poll_read(cx, free),
            From::File(file) => Pin::new(file).poll_read(cx, free),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().to {
            To::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            To::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            To::File(file) => Pin::new(file).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().to {
            To::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            To::Socket(socket) => Pin::new(socket).poll_flush(cx),
            To::File(file) => Pin::new(file).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().to {
            To::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            To::Socket(socket) => Pin::new(socket).poll_shutdown(cx),
            To::File(file) => Pin::new(file).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn flags(descriptor: impl AsFd) -> OFlags {
        rustix::fs::fcntl_getfl(descriptor).unwrap()
    }

    #[tokio::test]
    async fn a_pipe_is_polled_and_left_as_it_was_found() {
        let (reader, mut writer) = io::pipe().unwrap();
        let before = flags(&reader);
        let mut input = input(reader.as_fd()).unwrap();
        assert!(matches!(input.from, From::Pipe(_)));
        assert!(flags(&reader).contains(OFlags::NONBLOCK));
        writer.write_all(b"line").unwrap();
        drop(writer);
        let mut read = String::new();
        input.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "line");
        drop(input);
        assert_eq!(flags(&reader), before);
    }

    #[tokio::test]
    async fn a_socket_is_polled_both_ways() {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut input, mut output) = (input(ours.as_fd()).unwrap(), output(ours.as_fd()).unwrap());
        theirs.write_all(b"in").unwrap();
        let mut two = [0; 2];
        input.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"in");
        output.write_all(b"ou").await.unwrap();
        theirs.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ou");
    }
}
