//! What goes to a program: written at once where its pipe takes it, kept where it would block, within a bound.

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
    /// The task that writes what the pipe did not take at once.
    writer: Option<Waker>,
}

/// What became of a line.
enum Took {
    Line,
    Nothing,
    Never,
}

impl Outbox {
    pub(super) fn new(input: Option<Input>) -> Self {
        let out = Out { input, bytes: Vec::new(), sent: 0, writer: None };
        Self { out: Mutex::new(out), room: Notify::new() }
    }

    /// Sends a line, as soon as there is room; false if there never will be. Who gives up waiting has sent nothing.
    pub(super) async fn send(&self, line: &[u8]) -> bool {
        loop {
            match self.take(line) {
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
        self.take(line);
    }

    /// Writes what the pipe did not take at once. Comes back when nothing can be written any more.
    pub(super) async fn run(&self) {
        poll_fn(|cx| {
            let mut out = self.out.lock();
            if out.writer.as_ref().is_none_or(|writer| !writer.will_wake(cx.waker())) {
                out.writer = Some(cx.waker().clone());
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

    fn take(&self, line: &[u8]) -> Took {
        let mut out = self.out.lock();
        if out.input.is_none() {
            return Took::Never;
        }
        if out.is_full() {
            return Took::Nothing;
        }
        let idle = out.waiting() == 0;
        out.push(line);
        if idle {
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
