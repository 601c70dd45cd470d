//! The two pipes to a child that its owner uses: what it reads, and what it writes.
//!
//! The input is shared with the child's handle, which can close it while its owner still holds it, or waits in it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

/// A child's standard input. To drop it closes it.
#[derive(Debug)]
pub struct Input(Arc<Valve>);

/// A child's standard output: bytes. [`crate::lines::Lines`] makes lines of them.
#[derive(Debug)]
pub struct Output(pub(crate) Receiver);

/// What an input and the handle of its child share.
#[derive(Debug)]
pub(crate) struct Valve(Mutex<Flow>);

#[derive(Debug)]
struct Flow {
    /// None when it is closed.
    pipe: Option<Sender>,
    /// Who waits for room in it: must hear of a close, which the pipe itself tells nobody.
    waiting: Option<Waker>,
}

impl Valve {
    /// Closes the input, wherever it is.
    pub(crate) fn close(&self) {
        let mut flow = self.flow();
        let waiting = flow.waiting.take();
        flow.pipe = None;
        drop(flow);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Input {
    /// The input at the other end of that pipe, and what closes it from elsewhere.
    pub(crate) fn new(pipe: Sender) -> (Self, Arc<Valve>) {
        let valve = Arc::new(Valve(Mutex::new(Flow { pipe: Some(pipe), waiting: None })));
        (Self(Arc::clone(&valve)), valve)
    }

    /// Writes one line and its end. A line that holds a line feed would be two, and is refused.
    ///
    /// Not cancel safe: who gives up waiting may leave a part of the line written, and can only close the input then.
    pub async fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if memchr::memchr(b'\n', line).is_some() {
            let sentence = "a line for a program's input must not hold a line feed";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, sentence));
        }
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        self.write_all(&whole).await
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut flow = self.0.flow();
        let Some(pipe) = flow.pipe.as_mut() else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let written = Pin::new(pipe).poll_write(cx, bytes);
        flow.waiting = written.is_pending().then(|| cx.waker().clone());
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.close();
        Poll::Ready(Ok(()))
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn pair() -> (Input, Arc<Valve>, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        let (input, valve) = Input::new(Sender::from_owned_fd(writer.into()).unwrap());
        (input, valve, reader)
    }

    #[tokio::test]
    async fn a_line_is_written_whole_and_never_as_two() {
        let (mut input, _, mut reader) = pair();
        input.line(b"one").await.unwrap();
        let refused = input.line(b"two\nthree").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        drop(input);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\n");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn who_waits_in_a_full_pipe_hears_that_it_is_closed() {
        let (mut input, valve, mut reader) = pair();
        let full = rustix::pipe::fcntl_getpipe_size(&reader).unwrap();
        input.write_all(&vec![0; full]).await.unwrap();
        let writing = tokio::spawn(async move { input.write_all(&vec![0; 1 << 20]).await });
        while valve.flow().waiting.is_none() {
            tokio::task::yield_now().await;
        }
        valve.close();
        let error = writing.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), full, "the reader sees its end");
    }

    #[tokio::test]
    async fn shutting_it_down_closes_it() {
        let (mut input, _, mut reader) = pair();
        input.shutdown().await.unwrap();
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
        assert_eq!(input.line(b"late").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
