//! An append under way, and what becomes of its rows if nobody waits for it any more: rows that say a call started are
//! followed by ones that say it never ran.

use std::collections::BTreeMap;

use covenant_model::audit::{Decision, Event, Kind, Record};
use covenant_model::redact::Redactor;
use tokio::sync::oneshot;

use super::queue::{Answer, Batch, Track};
use crate::clock::Clock;

/// Why a call that started on paper never ran.
const GONE: &str = "the caller went away before the call began";

/// A log that writes rows for which no one waits.
pub(super) trait Owing {
    fn clock(&self) -> &dyn Clock;

    /// Leaves a batch that is written before anything later.
    fn owe(&self, batch: Batch);

    /// Owes a row of the log's own, made of texts that were redacted already.
    fn owe_event(&self, event: Event<'_>) {
        self.owe(Batch::of(&[event], self.clock().now(), &Redactor::none()));
    }

    /// Ends the calls that a batch started, whose last row has that number, because they never ran.
    fn orphaned(&self, batch: &Batch, last: u64) {
        let rows = u64::try_from(batch.rows()).unwrap_or(0);
        for ((body, track), seq) in batch.bodies().zip(last.saturating_sub(rows).saturating_add(1)..) {
            if track == Track::Opens {
                self.never_ran(body, seq, GONE);
            }
        }
    }

    /// Ends the calls, by the rows that started them, that were running when the daemon stopped.
    fn owe_ends(&self, open: &BTreeMap<u64, Vec<u8>>) {
        for (seq, line) in open {
            if let Some(record) = Record::read(line) {
                self.owe_event(interrupted(&record, *seq, "the daemon stopped before the call ended"));
            }
        }
    }

    /// Ends a call that row `seq`, of which this is the body, started.
    fn never_ran(&self, body: &[u8], seq: u64, reason: &str) {
        let json = [b"{".as_slice(), body, b"}"].concat();
        if let Some(record) = Record::read(&json) {
            self.owe_event(interrupted(&record, seq, reason));
        }
    }
}

/// The row that ends a call of which nobody knows how it ended.
fn interrupted<'a>(record: &'a Record<'_>, started: u64, reason: &'a str) -> Event<'a> {
    Event {
        call: record.call.as_deref(),
        trace_id: record.trace_id.as_deref(),
        started: Some(started),
        reason: Some(reason),
        ..Event::new(&record.principal, &record.agent_id, Kind::CallInterrupted, Decision::Interrupted)
    }
}

/// An append under way.
pub(super) struct Claim<'a, Log: Owing> {
    log: &'a Log,
    events: &'a [Event<'a>],
    redactor: &'a Redactor,
    state: State,
}

enum State {
    Settled,
    Waiting(oneshot::Receiver<Answer>),
    Written(u64),
}

impl<'a, Log: Owing> Claim<'a, Log> {
    pub(super) fn new(log: &'a Log, events: &'a [Event<'a>], redactor: &'a Redactor) -> Self {
        Self { log, events, redactor, state: State::Settled }
    }

    /// Waits for whoever writes the rows.
    pub(super) async fn wait(&mut self, answer: oneshot::Receiver<Answer>) -> Answer {
        self.state = State::Waiting(answer);
        let State::Waiting(answer) = &mut self.state else { return Err(String::new()) };
        let answer = answer.await.unwrap_or_else(|_| Err("it was closed".to_owned()));
        self.state = State::Settled;
        answer
    }

    /// The rows are written, and still not good enough.
    pub(super) fn written(&mut self, last: u64) {
        self.state = State::Written(last);
    }

    pub(super) fn settle(&mut self) {
        self.state = State::Settled;
    }
}

impl<Log: Owing> Drop for Claim<'_, Log> {
    fn drop(&mut self) {
        let last = match std::mem::replace(&mut self.state, State::Settled) {
            State::Settled => return,
            State::Written(last) => last,
            State::Waiting(mut answer) => {
                // Once closed, whoever writes the rows finds us gone and does this for us.
                answer.close();
                let Ok(Ok(last)) = answer.try_recv() else { return };
                last
            }
        };
        for (seq, event) in (0..=last).rev().zip(self.events.iter().rev()) {
            if event.kind == Kind::CallStarted {
                let ended = Event {
                    kind: Kind::CallInterrupted,
                    decision: Decision::Interrupted,
                    started: Some(seq),
                    reason: Some(GONE),
                    ..*event
                };
                self.log.owe(Batch::of(&[ended], self.log.clock().now(), self.redactor));
            }
        }
    }
}
