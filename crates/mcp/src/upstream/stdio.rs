//! A wire to a program: one message per line on its standard input and output, until either ends.
//!
//! A letter is written by whoever sends it, and by a task only where the pipe is full; one task reads. Nothing is kept
//! that the program can make grow: not what it does not read, not what it writes.

mod outbox;
mod overlong;
mod reading;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use covenant_runner::ending::{Ending, Status};
use covenant_runner::pipes::Output;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::outbox::{Outbox, Pace};
use self::reading::{Heard, Strays};
use super::flood::Flood;
use super::pending::Pending;
use super::ports::{Later, RunningProgram};
use super::wire::{Answer, Ear, Letter, Wire, WireError};

/// How long a program has to end after its output did, before it is said to have closed it.
const ENDING: Duration = Duration::from_secs(1);

/// How long a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// Lines to and from a program. To drop it ends the program.
pub struct StdioWire {
    inside: Arc<Inside>,
}

/// What the wire and its task share.
struct Inside {
    ear: Arc<dyn Ear>,
    limit: usize,
    pending: Pending,
    outbox: Outbox,
    strays: Strays,
    flood: Flood,
    lost: watch::Sender<Option<Arc<str>>>,
    /// The program is to be stopped.
    closing: CancellationToken,
    /// It has been.
    gone: CancellationToken,
}

impl StdioWire {
    /// Speaks with that program, whose lines may have that many bytes.
    pub fn new(mut program: Box<dyn RunningProgram>, ear: Arc<dyn Ear>, limit: usize) -> Arc<Self> {
        let (input, output) = (program.take_input(), program.take_output());
        let inside = Arc::new(Inside {
            ear,
            limit,
            pending: Pending::default(),
            outbox: Outbox::new(input),
            strays: Strays::default(),
            flood: Flood::default(),
            lost: watch::Sender::new(None),
            closing: CancellationToken::new(),
            gone: CancellationToken::new(),
        });
        tokio::spawn(Arc::clone(&inside).keep(program, output));
        Arc::new(Self { inside })
    }

    /// How many lines were no messages, and how the last of them began.
    pub fn strays(&self) -> (u64, Option<String>) {
        self.inside.strays.told(self.inside.ear.scrub())
    }
}

impl Drop for StdioWire {
    fn drop(&mut self) {
        self.inside.closing.cancel();
    }
}

impl Wire for StdioWire {
    fn ask<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<Answer, WireError>> {
        Box::pin(async move {
            let inside = &self.inside;
            let Some(id) = letter.id else {
                let reason = "was asked something without an id, which it could not answer".to_owned();
                return Err(WireError::Failed { status: None, reason });
            };
            let lasting = letter.method == "subscriptions/listen";
            let waiting = inside.pending.wait(id, lasting)?;
            // What cannot be sent is answered all the same: with how the wire was lost.
            let pace = if inside.pending.only().is_some() { Pace::Now } else { Pace::Together };
            inside.outbox.send(&letter.body, pace).await;
            waiting.answer().await
        })
    }

    fn tell<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<(), WireError>> {
        Box::pin(async move {
            if self.inside.outbox.send(&letter.body, Pace::Now).await {
                return Ok(());
            }
            Err(WireError::Lost(self.lost().await))
        })
    }

    fn agreed(&self, _: &str, _: bool) {}

    fn lost(&self) -> Later<'_, Arc<str>> {
        let mut lost = self.inside.lost.subscribe();
        Box::pin(async move {
            match lost.wait_for(Option::is_some).await {
                Ok(reason) => reason.clone().unwrap_or_default(),
                Err(_) => Arc::default(),
            }
        })
    }

    fn transport(&self) -> &'static str {
        "stdio"
    }

    fn close(&self) -> Later<'_, ()> {
        self.inside.closing.cancel();
        Box::pin(self.inside.gone.cancelled())
    }
}

/// What was seen of the end of a program.
#[derive(Default)]
struct Seen {
    /// Its output ended.
    output: bool,
    /// Its input was closed.
    input: bool,
    /// It ended.
    ending: Option<Ending>,
    /// We stop it, and say that of it.
    stopped: Option<String>,
}

impl Seen {
    fn anything(&self) -> bool {
        self.output || self.input || self.stopped.is_some() || self.ending.is_some()
    }

    /// Whether nothing more is worth waiting for.
    fn everything(&self) -> bool {
        self.stopped.is_some() || (self.output && self.ending.is_some())
    }

    fn reason(&self) -> String {
        match (&self.stopped, &self.ending) {
            (Some(reason), _) => reason.clone(),
            (None, Some(ending)) => ended(ending),
            (None, None) if self.output => "closed its output, and was stopped".to_owned(),
            (None, None) => "closed its input, and was stopped".to_owned(),
        }
    }
}

fn ended(ending: &Ending) -> String {
    match (ending.over, ending.status) {
        (Some(limit), _) => format!("{}, and was ended", limit.told()),
        (None, Status::Killed(_)) => format!("was ended by {}", ending.status),
        (None, status) => format!("ended with {status}"),
    }
}

impl Inside {
    /// Reads what the program says, and sees to its end.
    async fn keep(self: Arc<Self>, mut program: Box<dyn RunningProgram>, output: Option<Output>) {
        let seen = self.attend(program.as_mut(), output).await;
        let reason: Arc<str> = self.strays.explain(seen.reason(), self.ear.scrub()).into();
        self.pending.close(&reason);
        self.lost.send_replace(Some(reason));
        self.outbox.close();
        if seen.ending.is_none() {
            program.stop(GRACE).await;
        }
        drop(program);
        self.gone.cancel();
    }

    /// Comes back when the program can be asked nothing any more. Once something of its end is seen, the rest has a
    /// moment to be seen too: answers that it wrote before, and its status.
    async fn attend(&self, program: &mut dyn RunningProgram, output: Option<Output>) -> Seen {
        let mut seen = Seen::default();
        let mut reading = pin!(reading::lines(output, self.limit, |heard| self.hear(heard)));
        let mut until: Option<Instant> = None;
        while !seen.everything() {
            let late = until.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                () = self.closing.cancelled() => seen.stopped = Some("was stopped".to_owned()),
                () = self.flood.too_much() => seen.stopped = Some(Flood::told()),
                ending = program.wait(), if seen.ending.is_none() => seen.ending = Some(ending),
                () = self.outbox.run(), if !seen.input => seen.input = true,
                () = sleep_until(late), if until.is_some() => break,
                // Last, so that a flood of lines starves nothing else.
                () = &mut reading, if !seen.output => seen.output = true,
            }
            if seen.anything() && until.is_none() {
                until = Some(Instant::now() + ENDING);
            }
        }
        seen
    }

    fn hear(&self, heard: Heard<'_>) {
        if !self.understand(heard) {
            self.flood.add();
        }
    }

    /// Does what a message is for. Whether somebody waited for it.
    fn understand(&self, heard: Heard<'_>) -> bool {
        if self.flood.is_too_much() {
            return false;
        }
        let awaited = match heard {
            Heard::Garbage(line) => {
                self.strays.note(line, false);
                return false;
            }
            Heard::Endless(line) => {
                self.strays.note(line, true);
                return false;
            }
            Heard::Stray => return false,
            Heard::Answer(id, said) => self.pending.settle(id, || Ok(said.cut(self.ear.scrub()))),
            Heard::Notification(method, params) => {
                self.ear.notification(method, params, None);
                false
            }
            Heard::Request(id, method, params) => {
                // A program that asks and does not read gets no answers.
                self.outbox.offer(&self.ear.request(id, method, params));
                false
            }
            Heard::TooLong(whose) => whose
                .or_else(|| self.pending.only())
                .is_some_and(|id| self.pending.settle(id, || Err(WireError::TooLarge(self.limit)))),
        };
        self.strays.understood();
        awaited
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
