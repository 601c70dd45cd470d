//! What one connection has on its hands: calls under way, requests that wait for one to end, subscriptions, and
//! what is to be sent.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use covenant_gate::{Credential, Gate};

use super::Options;
use super::mailbox::Mailbox;
use super::output::Output;
use crate::message::{self, Id, Incoming, Malformed};
use crate::outlet::Outlet;
use crate::reply::{Answer, RATE_LIMITED, RpcError, encode_error};
use crate::server::subscriptions::{Change, Listen, Watch};
use crate::server::{Received, Running, Session};

/// How many subscriptions one connection may hold.
const SUBSCRIPTIONS: usize = 16;

/// How many refused messages of one connection are logged.
const LOGGED: u32 = 8;

/// The next change, and who waits for the one after it.
type Next = Pin<Box<dyn Future<Output = Option<(Change, Watch)>> + Send>>;

pub(super) struct Desk {
    gate: Arc<Gate>,
    credential: Credential,
    session: Arc<Session>,
    options: Options,
    pub(super) output: Output,
    mailbox: Arc<Mailbox>,
    outlet: Arc<dyn Outlet>,
    calls: FuturesUnordered<Running>,
    parked: VecDeque<(Id, Vec<u8>)>,
    parked_bytes: usize,
    subscriptions: Vec<Listen>,
    legacy: bool,
    next: Option<Next>,
    refused: u32,
}

impl Desk {
    pub(super) fn new(gate: Arc<Gate>, credential: Credential, options: Options) -> Self {
        let mailbox = Mailbox::new(options.unsent_bytes);
        Self {
            session: Session::new(gate.clone()),
            gate,
            credential,
            output: Output::new(options.patience),
            options,
            outlet: mailbox.clone(),
            mailbox,
            calls: FuturesUnordered::new(),
            parked: VecDeque::new(),
            parked_bytes: 0,
            subscriptions: Vec::new(),
            legacy: false,
            next: None,
            refused: 0,
        }
    }

    pub(super) fn wake_by(&self, waker: &Waker) {
        self.mailbox.wake_by(waker);
    }

    /// Whether nothing more should be read for now.
    pub(super) fn must_wait(&self) -> bool {
        // Answers to our questions must come through, or neither side would ever go on.
        self.output.len() > self.options.unsent_bytes || (self.is_full() && !self.session.waits_for_answers())
    }

    /// Whether no more requests may wait.
    fn is_full(&self) -> bool {
        self.parked.len() >= self.options.in_flight || self.parked_bytes > self.options.request_bytes
    }

    /// How long a client may be waited for.
    pub(super) fn patience(&self) -> Duration {
        self.options.patience
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.parked.is_empty()
    }

    /// Serves one line; a request over the number that may be under way waits, anything else does not.
    pub(super) fn line(&mut self, line: &[u8], cx: &mut Context<'_>) {
        if self.calls.len() >= self.options.in_flight
            && let Ok(Incoming::Request(request)) = message::read(line)
        {
            if self.is_full() {
                let error =
                    RpcError::new(RATE_LIMITED, "too many requests wait: answer what was asked first");
                self.output.line(|out| encode_error(Some(&request.id), &error, out));
                self.session.crowded_out(&self.credential, request);
                return;
            }
            self.parked_bytes += line.len();
            self.parked.push_back((request.id, line.to_vec()));
            return;
        }
        match self.session.receive(&self.credential, line, &self.outlet) {
            Received::Nothing => {}
            Received::Answered(answer) => self.answer(&answer),
            Received::Refused(malformed) => self.refuse(&malformed),
            Received::Running(running) => self.run(running, cx),
            Received::Listening(listen) => self.listen(listen),
            Received::Ready => {
                self.legacy = true;
                self.watch();
            }
            Received::TakenBack(id) => self.forget(&id),
        }
    }

    /// A line was over the limit.
    pub(super) fn too_long(&mut self) {
        let limit = self.options.request_bytes;
        let error = RpcError::invalid_request(format_args!("a message may have at most {limit} bytes"));
        self.refuse(&Malformed { id: None, error });
    }

    /// Sees calls to their end, and begins what waited for that.
    pub(super) fn poll_calls(&mut self, cx: &mut Context<'_>) {
        loop {
            while let Poll::Ready(Some(answer)) = self.calls.poll_next_unpin(cx) {
                self.answer(&answer);
            }
            if self.calls.len() >= self.options.in_flight {
                return;
            }
            let Some((_, line)) = self.parked.pop_front() else { return };
            self.parked_bytes -= line.len();
            self.line(&line, cx);
        }
    }

    /// Tells whoever listens what changed in what they see.
    pub(super) fn poll_changes(&mut self, cx: &mut Context<'_>) {
        while !self.must_wait()
            && let Some(next) = &mut self.next
            && let Poll::Ready(changed) = next.as_mut().poll(cx)
        {
            self.next = None;
            let Some((change, watch)) = changed else { return };
            self.next = Some(wait(watch));
            let legacy = if self.legacy { self.session.changed(&change) } else { Vec::new() };
            let modern = self.subscriptions.iter().flat_map(|listen| listen.changed(&change));
            for message in legacy.into_iter().chain(modern) {
                self.output.line(|out| out.extend_from_slice(&message));
            }
        }
    }

    /// Takes over what calls have said so far.
    pub(super) fn deliver(&mut self) {
        if self.output.len() <= self.options.unsent_bytes {
            self.mailbox.empty(|bytes| self.output.raw(bytes));
        } else {
            self.mailbox.lose();
        }
    }

    /// Ends every subscription in good order.
    pub(super) fn end_subscriptions(&mut self) {
        for listen in self.subscriptions.drain(..) {
            self.output.line(|out| out.extend_from_slice(&listen.ended()));
        }
        (self.next, self.legacy) = (None, false);
    }

    /// The client is gone.
    pub(super) fn abandon(&mut self) {
        self.parked.clear();
        self.parked_bytes = 0;
        self.subscriptions.clear();
        self.next = None;
        self.session.abandon();
    }

    /// Runs a request as far as it goes at once; most end right here.
    fn run(&mut self, mut running: Running, cx: &mut Context<'_>) {
        match Pin::new(&mut running).poll(cx) {
            Poll::Ready(answer) => self.answer(&answer),
            Poll::Pending => self.calls.push(running),
        }
    }

    /// An answer comes after everything its request said.
    fn answer(&mut self, answer: &Answer) {
        self.deliver();
        self.output.line(|out| answer.encode(out));
    }

    fn refuse(&mut self, Malformed { id, error }: &Malformed) {
        self.refused = self.refused.saturating_add(1);
        if self.refused <= LOGGED {
            let last = self.refused == LOGGED;
            tracing::warn!(target: "mcp", code = error.code, reason = %error.message, last, "refused a message");
        }
        self.output.line(|out| encode_error(id.as_ref(), error, out));
    }

    fn listen(&mut self, listen: Listen) {
        if self.subscriptions.len() >= SUBSCRIPTIONS {
            let error = RpcError::invalid_request(format_args!(
                "a connection may hold {SUBSCRIPTIONS} subscriptions: cancel one first"
            ));
            self.output.line(|out| encode_error(Some(listen.id()), &error, out));
            return;
        }
        self.output.line(|out| out.extend_from_slice(&listen.acknowledgement()));
        self.subscriptions.push(listen);
        self.watch();
    }

    fn forget(&mut self, id: &Id) {
        self.subscriptions.retain(|listen| listen.id() != id);
        self.parked.retain(|(parked, line)| {
            let kept = parked != id;
            if !kept {
                self.parked_bytes -= line.len();
            }
            kept
        });
    }

    /// Begins to watch for changes, from what is visible now.
    fn watch(&mut self) {
        if self.next.is_none()
            && let Some(listener) = self.session.listener()
        {
            self.next = Some(wait(Watch::new(self.gate.clone(), self.credential.clone(), listener)));
        }
    }
}

fn wait(mut watch: Watch) -> Next {
    Box::pin(async move { watch.next().await.map(|change| (change, watch)) })
}
