//! The lines of a program, each as what it means to the wire; and what is remembered of those that mean nothing.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use covenant_runner::pipes::Output;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::task::consume_budget;

use super::overlong::{self, Whose};
use crate::framing::{Filled, Line, Lines};
use crate::message::Id;
use crate::trace::{SHOWN, Shown};
use crate::upstream::inbound::{self, Inbound, Said};
use crate::upstream::scrub::{Held, Scrub};

/// One thing that a program said.
#[derive(Clone, Copy)]
pub(super) enum Heard<'a> {
    Answer(u64, Said<'a>),
    Notification(&'a str, Option<&'a RawValue>),
    Request(&'a Id, &'a str, Option<&'a RawValue>),
    /// An answer over the limit: of that letter, or nobody knows of whom.
    TooLong(Option<u64>),
    /// JSON that is no message to us.
    Stray,
    /// A line that is no message.
    Garbage(&'a [u8]),
    /// How one begins that is too long to be any.
    Endless(&'a [u8]),
}

/// Reads until the output ends.
pub(super) async fn lines(output: Option<Output>, limit: usize, hear: impl Fn(Heard<'_>)) {
    let Some(mut output) = output else { return };
    let mut lines = Lines::keeping_ends(limit);
    let mut settled = false;
    loop {
        while let Some(line) = lines.take() {
            match line {
                Line::Whole(line) => message(line, &hear),
                Line::TooLong => settled = too_long(&lines, settled, &hear),
            }
            // Many short lines come with one read, and others want their turn.
            consume_budget().await;
        }
        // A stream that breaks has ended.
        let filled = poll_fn(|cx| lines.poll_fill(cx, Pin::new(&mut output))).await;
        if !matches!(filled, Ok(Filled::More)) {
            break;
        }
    }
    if let Some(Line::Whole(line)) = lines.rest() {
        message(line, &hear);
    }
}

fn message(line: &[u8], hear: &impl Fn(Heard<'_>)) {
    let understood = inbound::each(line, |message| match message {
        Inbound::Answer(id, said) => hear(Heard::Answer(id, said)),
        Inbound::Notification { method, params } => hear(Heard::Notification(&method, params)),
        Inbound::Request { id, method, params } => hear(Heard::Request(&id, &method, params)),
        Inbound::Stray => hear(Heard::Stray),
    });
    if !understood {
        hear(Heard::Garbage(line));
    }
}

/// Says once whom a line over the limit concerns, as soon as that is known. Comes back with whether it was said of a
/// line that goes on.
fn too_long(lines: &Lines, settled: bool, hear: &impl Fn(Heard<'_>)) -> bool {
    let Some(line) = lines.overlong() else { return false };
    let whose = overlong::whose(line);
    let now = !settled && (line.ended || whose != Whose::Unknown);
    if now {
        match whose {
            Whose::Letter(id) => hear(Heard::TooLong(Some(id))),
            Whose::Unknown => hear(Heard::TooLong(None)),
            Whose::Nobody => hear(Heard::Endless(&line.head)),
        }
    }
    (settled || now) && !line.ended
}

/// What is remembered of lines that are no messages: a program that says why it cannot start often says it here.
#[derive(Default)]
pub(super) struct Strays {
    count: AtomicU64,
    last: Mutex<Option<Held>>,
    /// Whether the program ever said something that was understood.
    understood: AtomicBool,
}

impl Strays {
    pub(super) fn understood(&self) {
        if !self.understood.load(Ordering::Relaxed) {
            self.understood.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn note(&self, line: &[u8], goes_on: bool) {
        self.count.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = Some(Held::of(line, goes_on));
    }

    /// How many there were, and how the last began.
    pub(super) fn told(&self, scrub: &Scrub) -> (u64, Option<String>) {
        let last = self.last.lock().as_ref().map(|last| scrub.beginning(last, SHOWN));
        (self.count.load(Ordering::Relaxed), last.filter(|last| !last.is_empty()))
    }

    /// The reason, with what a program that was never understood wrote last.
    pub(super) fn explain(&self, reason: String, scrub: &Scrub) -> String {
        match self.told(scrub) {
            (_, Some(last)) if !self.understood.load(Ordering::Relaxed) => {
                format!("{reason}; where a message should stand it wrote {}", Shown(&last))
            }
            _ => reason,
        }
    }
}
