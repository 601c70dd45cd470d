//! What goes to a program: written at once where its pipe takes it, kept where it would block, within a bound. Lines of
//! many senders are written together: that costs a program less to read, and us less to write.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use covenant_runner::pipes::Input;
use parking_lot::Mutex;
use tokio::io::AsyncWrite as _;
use tokio::sync::Notify;

/// While that many bytes wait, senders wait too.
const ROOM: usize = 256 * 1024;

/// What a quiet wire may keep of its room.
const KEPT: usize = 16 * 1024;

/// Lines on their way to a program.
pub(super) struct Outbox {
    out: Mutex<Out>,
    /// Told when there is room again, or never will be.
    room: Notify,
}

struct Out {
    /// None when nothing can be written any more.
    input: Option<Input>,
    bytes: Vec<u8>,
    sent: usize,
    /// Lines wait for those of others, until the task has had one more turn.
    held: bool,
    /// The task that writes what the pipe did not take at once.
    writer: Option<Waker>,
}

/// When a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Now, where nothing waits before it.
    Now,
    /// With those that others send in this moment.
    Together,
}

/// What became of a line.
enum Took {
    Line,
    Nothing,
    Never,
}

impl Outbox {
    pub(super) fn new(input: Option<Input>) -> Self {
        let out = Out { input, bytes: Vec::new(), sent: 0, held: false, writer: None };
        Self { out: Mutex::new(out), room: Notify::new() }
    }

    /// Sends a line, as soon as there is room; false if there never will be. Who gives up waiting has sent nothing.
    pub(super) async fn send(&self, line: &[u8], pace: Pace) -> bool {
        loop {
            match self.take(line, pace) {
                Took::Line => return true,
                Took::Never => return false,
                Took::Nothing => {}
            }
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            // It may have come while we turned around.
            if self.out.lock().is_full() {
                room.await;
            }
        }
    }

    /// Sends a line if there is room now.
    pub(super) fn offer(&self, line: &[u8]) {
        self.take(line, Pace::Now);
    }

    /// Writes what the pipe did not take at once. Comes back when nothing can be written any more.
    pub(super) async fn run(&self) {
        poll_fn(|cx| {
            let mut out = self.out.lock();
            if out.writer.as_ref().is_none_or(|writer| !writer.will_wake(cx.waker())) {
                out.writer = Some(cx.waker().clone());
            }
            if std::mem::take(&mut out.held) {
                // Whoever is ready to send has a turn before this task has its next one.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let was_full = out.is_full();
            out.write(cx);
            let (broken, freed) = (out.input.is_none(), was_full && !out.is_full());
            drop(out);
            if broken || freed {
                self.room.notify_waiters();
            }
            if broken { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Closes the program's input.
    pub(super) fn close(&self) {
        self.out.lock().give_up();
        self.room.notify_waiters();
    }

    fn take(&self, line: &[u8], pace: Pace) -> Took {
        let mut out = self.out.lock();
        if out.input.is_none() {
            return Took::Never;
        }
        if out.is_full() {
            return Took::Nothing;
        }
        let idle = out.waiting() == 0;
        out.push(line);
        if idle && pace == Pace::Together {
            out.held = true;
        } else if idle {
            // Where the pipe is full, the task takes over and is woken by the pipe.
            out.write(&mut Context::from_waker(Waker::noop()));
        }
        if out.waiting() > 0 || out.input.is_none() {
            let writer = out.writer.take();
            drop(out);
            writer.into_iter().for_each(Waker::wake);
        }
        Took::Line
    }
}

impl Out {
    fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    fn is_full(&self) -> bool {
        self.input.is_some() && self.waiting() >= ROOM
    }

    fn push(&mut self, line: &[u8]) {
        if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    /// Writes as much as the pipe takes.
    fn write(&mut self, cx: &mut Context<'_>) {
        while let Some(input) = &mut self.input {
            let rest = self.bytes.get(self.sent..).unwrap_or_default();
            if rest.is_empty() {
                self.bytes.clear();
                self.bytes.shrink_to(KEPT);
                self.sent = 0;
                return;
            }
            match Pin::new(input).poll_write(cx, rest) {
                Poll::Ready(Ok(count)) if count > 0 => self.sent += count,
                Poll::Ready(_) => self.give_up(),
                Poll::Pending => return,
            }
        }
    }

    fn give_up(&mut self) {
        (self.input, self.bytes, self.sent) = (None, Vec::new(), 0);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::upstream::tests::program;

    #[tokio::test]
    async fn a_line_is_written_at_once_and_those_of_many_together() {
        let mut program = program("stay()").await;
        let outbox = Outbox::new(program.take_input());
        let waiting = || outbox.out.lock().waiting();
        assert!(outbox.send(b"alone", Pace::Now).await);
        assert_eq!(waiting(), 0);
        let mut running = Box::pin(outbox.run());
        assert!((&mut running).now_or_never().is_none());
        assert!(outbox.send(b"one", Pace::Together).await);
        assert!((&mut running).now_or_never().is_none());
        assert_eq!(waiting(), 4, "others have a turn");
        assert!(outbox.send(b"two", Pace::Together).await);
        assert!(outbox.send(b"three", Pace::Now).await, "in their order");
        assert_eq!(waiting(), 14);
        assert!((&mut running).now_or_never().is_none());
        assert_eq!(waiting(), 0);
    }
}
