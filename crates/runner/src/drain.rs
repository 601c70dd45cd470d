//! Who reads a program's standard error from its start to its end, so that it never waits for a reader: keeps the last
//! lines, and logs all of them at a pace that no program can raise.

use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

use crate::nursery::{Errors, Hear};
use crate::tail::{Cutter, Tail};

/// As many bytes may be logged at once.
const BURST: u64 = 64 * 1024;

/// As many bytes may be logged in a second, on and on.
const PER_SECOND: u64 = 16 * 1024;

/// A program that has gone too far is not logged again before it may log this much: otherwise every second line would say
/// that one was left out.
const RESUME: u64 = 16 * 1024;

/// What a line costs besides its text.
const LINE_COST: u64 = 64;

/// As much is read at a time.
const CHUNK: usize = 16 * 1024;

/// Reads to the end.
pub(crate) async fn drain(mut pipe: Receiver, tail: Arc<Tail>, errors: Errors, name: String, run: String) {
    let mut log = Log { name, run, pace: Pace::new(Instant::now()), hear: errors.hear, aloud: errors.aloud };
    let mut cutter = Cutter::new(errors.scrub);
    let mut chunk = vec![0; CHUNK];
    // A pipe that breaks has ended.
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let now = Instant::now();
        cutter.push(chunk.get(..count).unwrap_or_default(), &mut |line| log.take(line, &tail, now));
    }
    cutter.finish(&mut |line| log.take(line, &tail, Instant::now()));
    log.say_left_out(log.pace.left_out);
}

struct Log {
    name: String,
    run: String,
    pace: Pace,
    hear: Option<Hear>,
    aloud: bool,
}

impl Log {
    fn take(&mut self, line: String, tail: &Tail, now: Instant) {
        if let Some(left_out) = self.pace.admit(&line, now) {
            self.say_left_out(left_out);
            let (name, run) = (&*self.name, &*self.run);
            if self.hear.is_some() && !self.aloud {
                tracing::debug!(target: "child", name, run, "{line}");
            } else {
                tracing::info!(target: "child", name, run, "{line}");
            }
        }
        if let Some(hear) = &self.hear {
            hear(&line);
        }
        tail.push(line);
    }

    fn say_left_out(&self, bytes: u64) {
        if bytes > 0 {
            let (name, run) = (&*self.name, &*self.run);
            tracing::warn!(target: "child", name, run, "{bytes} bytes of its standard error were left out");
        }
    }
}

/// How much may be logged.
#[derive(Debug)]
struct Pace {
    /// Bytes that may be logged now.
    room: u64,
    /// When that was so.
    at: Instant,
    /// Whether it went too far.
    silent: bool,
    /// Bytes that were not logged since the last that were.
    left_out: u64,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { room: BURST, at: now, silent: false, left_out: 0 }
    }

    /// Whether the line may be logged, and if so, how many bytes before it were not.
    fn admit(&mut self, line: &str, now: Instant) -> Option<u64> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let cost = length.saturating_add(LINE_COST);
        self.refill(now);
        self.silent = self.room < if self.silent { cost.max(RESUME) } else { cost };
        if self.silent {
            self.left_out = self.left_out.saturating_add(length + 1);
            return None;
        }
        self.room -= cost;
        Some(std::mem::take(&mut self.left_out))
    }

    /// Adds what may be logged for the time that has passed, in whole milliseconds: the rest of one is not lost.
    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_millis().min(60_000);
        let millis = u64::try_from(passed).unwrap_or_default();
        self.room = BURST.min(self.room + millis * PER_SECOND / 1000);
        if millis > 0 {
            self.at = now;
        }
    }
}

#[cfg(test)]
mod tests;
