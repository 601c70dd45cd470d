//! The pump itself: both directions at once, so that neither side waits for a line the other holds back.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep};

use super::handshake::Handshake;
use super::scan;
use super::waiting::{Answer, Waiting, Want};
use super::{ExitReason, Options, Unreached};
use crate::connection::output::{Broken, Output};
use crate::era::{self, Era};
use crate::framing::{Filled, Line, Lines};
use crate::message::{Id, Incoming, Notification, Request, peek};
use crate::params::Params;
use crate::reply::{RpcError, encode_error};

/// With more than that on its way to one side, the other is not read.
const HIGH: usize = 1024 * 1024;

const STOPPED: [&str; 2] = [
    "the Covenant daemon stopped before it answered",
    "whether the call ran is in its log (`covenant audit recent`). Ask again: the next request reaches the daemon, or starts it. \
     If that fails: `covenant doctor`.",
];

const HUNG: [&str; 2] = [
    "the Covenant daemon has not answered in time, and the request was taken back",
    "see `covenant status` and `covenant logs`, and restart it with `covenant stop` and `covenant up --detach` if it hangs. Before \
     you repeat a call that changes something, look whether it was done.",
];

enum Link<S, F> {
    Down,
    Connecting(Pin<Box<F>>),
    Up(S),
}

pub(super) struct Pump<R, W, C, F, S> {
    input: R,
    output: W,
    connect: C,
    link: Link<S, F>,
    options: Options,
    from_client: Lines,
    from_daemon: Lines,
    to_daemon: Output,
    to_client: Output,
    waiting: Waiting,
    handshake: Handshake,
    timer: Option<Pin<Box<Sleep>>>,
    failed: Option<(Instant, Unreached)>,
    connected_before: bool,
    /// Set when the client has closed its side: how long its answers are waited for.
    farewell: Option<Pin<Box<Sleep>>>,
}

impl<R, W, C, F, S> Pump<R, W, C, F, S>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    C: FnMut() -> F,
    F: Future<Output = Result<S, Unreached>>,
    S: AsyncRead + AsyncWrite + Unpin,
{
    pub(super) fn new(input: R, output: W, mut connect: C, options: Options) -> Self {
        let link = Link::Connecting(Box::pin(connect()));
        Self {
            input,
            output,
            connect,
            link,
            from_client: Lines::new(options.line_bytes),
            from_daemon: Lines::new(options.line_bytes),
            to_daemon: Output::new(options.deadline),
            to_client: Output::new(Duration::MAX),
            waiting: Waiting::new(options.deadline),
            options,
            handshake: Handshake::new(),
            timer: None,
            failed: None,
            connected_before: false,
            farewell: None,
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ExitReason> {
        loop {
            // The daemon's side first: a request must not be handed to a connection that is already gone.
            let linked = self.poll_link(cx);
            let read = self.poll_input(cx);
            self.poll_deadlines(cx);
            let full = self.is_full();
            let sent = self.poll_send(cx);
            match self.to_client.poll_send(cx, Pin::new(&mut self.output)) {
                Poll::Ready(Err(Broken::Failed(error))) if !is_closed(&error) => {
                    return Poll::Ready(ExitReason::Failed(error));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(ExitReason::OutputClosed),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
            if let Some(reason) = self.farewell(cx) {
                return Poll::Ready(reason);
            }
            if !read && !linked && sent && (!full || self.is_full()) {
                return Poll::Pending;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.to_daemon.len() > HIGH || self.to_client.len() > HIGH
    }

    /// Takes lines from the client; whether anything was taken.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> bool {
        let mut lines = std::mem::replace(&mut self.from_client, Lines::new(0));
        let mut taken = false;
        while self.farewell.is_none() && !self.is_full() {
            match lines.take() {
                Some(Line::Whole(line)) => self.upward(line),
                Some(Line::TooLong) => self.too_long(),
                None => match lines.poll_fill(cx, Pin::new(&mut self.input)) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(Filled::More)) => continue,
                    Poll::Ready(Ok(Filled::Finished) | Err(_)) => {
                        if let Some(Line::Whole(line)) = lines.rest() {
                            self.upward(line);
                        }
                        self.farewell = Some(Box::pin(tokio::time::sleep(self.options.farewell)));
                    }
                },
            }
            taken = true;
        }
        self.from_client = lines;
        taken
    }

    fn too_long(&mut self) {
        let limit = self.options.line_bytes;
        let error = RpcError::invalid_request(format_args!("a message may have at most {limit} bytes"));
        self.to_client.line(|out| encode_error(None, &error, out));
    }

    /// A line of the client: noted where it matters, and passed on.
    fn upward(&mut self, line: &[u8]) {
        let wants_answer = match peek(line) {
            Some(Incoming::Request(request)) => {
                let want = want(&request);
                if let Some(reason) = self.recent_failure() {
                    return self.answer_for(&request.id, want, &reason);
                }
                self.handshake.request(&request.id, &request.method, request.params);
                match request.method.as_ref() {
                    "subscriptions/listen" => self.waiting.expect_at_last(request.id),
                    _ => self.expect(request.id, want),
                }
                true
            }
            Some(Incoming::Notification(notification)) => {
                self.note(&notification);
                false
            }
            Some(Incoming::Response(_)) => false,
            None => true,
        };
        if matches!(self.link, Link::Down) {
            if !wants_answer {
                return;
            }
            self.link = Link::Connecting(Box::pin((self.connect)()));
        }
        self.to_daemon.raw(line);
        self.to_daemon.raw(b"\n");
    }

    fn note(&mut self, notification: &Notification<'_>) {
        match notification.method.as_ref() {
            "notifications/initialized" => self.handshake.ready(),
            "notifications/cancelled" => {
                let raw = Params::read(notification.params).ok().and_then(|params| params.request_id);
                if let Some(id) = raw.and_then(|raw| Id::of(raw.get())) {
                    self.waiting.forget(&id);
                }
            }
            _ => {}
        }
    }

    fn expect(&mut self, id: Id, want: Want) {
        let now = Instant::now();
        if self.timer.is_none() {
            self.timer = Some(Box::pin(tokio::time::sleep_until(now + self.options.deadline)));
        }
        self.waiting.expect(id, want, now);
    }

    /// Sees to the connection, and to what comes from it; whether it changed.
    fn poll_link(&mut self, cx: &mut Context<'_>) -> bool {
        let mut changed = false;
        if let Link::Connecting(connecting) = &mut self.link
            && let Poll::Ready(connected) = connecting.as_mut().poll(cx)
        {
            changed = true;
            match connected {
                Ok(stream) => self.connected(stream),
                Err(reason) => {
                    // A failure nobody heard of is no reason to refuse the first who asks.
                    let told = self.break_off(&reason);
                    self.failed = told.then(|| (Instant::now(), reason));
                }
            }
        }
        if !self.poll_daemon(cx) {
            self.break_off(&unanswered(STOPPED));
            changed = true;
        }
        changed
    }

    fn connected(&mut self, stream: S) {
        self.link = Link::Up(stream);
        self.failed = None;
        self.from_daemon = Lines::new(self.options.line_bytes);
        self.to_daemon.first(self.handshake.replay());
        if std::mem::replace(&mut self.connected_before, true) && self.handshake.is_open() {
            // What the new daemon offers may differ, and it does not know what the client saw.
            let changed = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            self.to_client.line(|out| out.extend_from_slice(changed));
        }
    }

    /// Takes lines from the daemon; false when it is gone.
    fn poll_daemon(&mut self, cx: &mut Context<'_>) -> bool {
        let Link::Up(stream) = &mut self.link else { return true };
        while self.to_client.len() <= HIGH {
            match self.from_daemon.take() {
                Some(Line::TooLong) => return false,
                Some(Line::Whole(line)) => {
                    if let Some(id) = scan::response(line) {
                        self.handshake.answered(&id);
                        if self.handshake.is_ours(&id) || self.waiting.answered(&id) == Answer::Late {
                            continue;
                        }
                    }
                    self.to_client.raw(line);
                    self.to_client.raw(b"\n");
                    continue;
                }
                None => {}
            }
            match self.from_daemon.poll_fill(cx, Pin::new(stream)) {
                Poll::Pending => break,
                Poll::Ready(Ok(Filled::More)) => {}
                Poll::Ready(Ok(Filled::Finished) | Err(_)) => return false,
            }
        }
        true
    }

    /// Sends to the daemon what it takes; false when it is gone.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> bool {
        let Link::Up(stream) = &mut self.link else { return true };
        let sound = !matches!(self.to_daemon.poll_send(cx, Pin::new(stream)), Poll::Ready(Err(_)));
        if !sound {
            self.break_off(&unanswered(STOPPED));
        }
        sound
    }

    /// The daemon is gone, or could not be reached: whoever waits is told; whether there was anyone.
    fn break_off(&mut self, reason: &Unreached) -> bool {
        self.link = Link::Down;
        self.to_daemon.clear();
        let waiting = self.waiting.give_up();
        for (id, want) in &waiting {
            self.answer_for(id, *want, reason);
        }
        !waiting.is_empty()
    }

    fn recent_failure(&self) -> Option<Unreached> {
        let (at, reason) = self.failed.as_ref()?;
        (matches!(self.link, Link::Down) && at.elapsed() < self.options.pause).then(|| reason.clone())
    }

    fn answer_for(&mut self, id: &Id, want: Want, reason: &Unreached) {
        let answer = reason.answer(id, want);
        self.to_client.line(|out| out.extend_from_slice(&answer));
    }

    /// Answers for a daemon that hangs, and asks it to stop what it does.
    fn poll_deadlines(&mut self, cx: &mut Context<'_>) {
        while let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            for (id, want) in self.waiting.expire(Instant::now()) {
                self.answer_for(&id, want, &unanswered(HUNG));
                if matches!(self.link, Link::Up(_)) {
                    let taken_back = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                    );
                    self.to_daemon.line(|out| out.extend_from_slice(taken_back.as_bytes()));
                }
            }
            let next = self.waiting.next_deadline();
            self.timer = next.map(|deadline| Box::pin(tokio::time::sleep_until(deadline)));
        }
    }

    /// Whether it is time to go, once the client has closed its side.
    fn farewell(&mut self, cx: &mut Context<'_>) -> Option<ExitReason> {
        let patience = self.farewell.as_mut()?;
        let sent = self.to_daemon.is_empty() && self.to_client.is_done();
        if sent && !self.waiting.is_owed() {
            return Some(ExitReason::InputClosed);
        }
        patience.as_mut().poll(cx).is_ready().then_some(ExitReason::Abandoned)
    }
}

fn unanswered([reason, action]: [&str; 2]) -> Unreached {
    Unreached::silent(reason, action)
}

/// How that request is answered where the daemon does not. Of a call that is of no era the older one's answer is the plainer.
fn want(request: &Request<'_>) -> Want {
    if request.method != "tools/call" {
        return Want::Other;
    }
    let meta = Params::read(request.params).and_then(|params| params.meta());
    let era = meta.and_then(|meta| era::of(&request.method, &meta));
    Want::Call(era.unwrap_or(Era::Legacy))
}

/// Whether that means only that nobody reads any more.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
