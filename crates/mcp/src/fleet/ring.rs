//! The last lines that servers wrote to their standard error: of a server over all its starts, and of one start.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::upstream::dial::STARTED;
use crate::upstream::ports::LogLine;

/// How many lines are kept of a server.
const LINES: usize = 500;

/// How many characters of a line are kept.
const CHARACTERS: usize = 2000;

/// How many bytes of the last lines of one start stand in an error.
const TAIL_BYTES: usize = 3000;

/// Lines, of which the oldest go first.
#[derive(Debug, Default)]
pub(super) struct Ring(Mutex<VecDeque<Box<str>>>);

/// The last lines of one start.
#[derive(Debug, Default)]
pub(super) struct Tail(Mutex<(VecDeque<Box<str>>, usize)>);

impl Ring {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock();
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(line.into());
    }

    /// All that is kept, the oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().iter().map(ToString::to_string).collect()
    }

    /// What takes the lines of one start, and what keeps the last of them.
    pub(super) fn begin(self: &Arc<Self>) -> (LogLine, Arc<Tail>) {
        let (ring, tail) = (Arc::clone(self), Arc::new(Tail::default()));
        let kept = Arc::clone(&tail);
        let log = move |line: &str| {
            let line = shown(line);
            ring.push(&line);
            kept.push(&line);
        };
        (Arc::new(log), tail)
    }
}

impl Tail {
    fn push(&self, line: &str) {
        let mut kept = self.0.lock();
        if line == STARTED {
            // What a program said before it was started again is not why it ended now.
            *kept = Default::default();
            return;
        }
        let (lines, bytes) = &mut *kept;
        lines.push_back(line.into());
        *bytes += line.len();
        while *bytes > TAIL_BYTES && lines.len() > 1 {
            *bytes -= lines.pop_front().map_or(0, |line| line.len());
        }
    }

    /// The end of a sentence that tells them; nothing where there are none.
    pub(super) fn told(&self) -> String {
        let kept = self.0.lock();
        let lines: Vec<&str> = kept.0.iter().map(|line| line.trim_end()).collect();
        let text = lines.join("\n");
        if text.trim().is_empty() { String::new() } else { format!("; its last lines: {text}") }
    }
}

/// A line as it is kept: short, and without what moves a terminal's cursor.
fn shown(line: &str) -> String {
    let mut shown: String =
        line.chars().take(CHARACTERS).map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    if shown.len() < line.len() && line.chars().nth(CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_long_ones_are_cut() {
        let ring = Arc::new(Ring::default());
        let (log, tail) = ring.begin();
        for line in 0..LINES + 10 {
            log(&format!("line {line}"));
        }
        log(&"x".repeat(10_000));
        let lines = ring.lines();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "line 11");
        assert_eq!(lines[LINES - 1].chars().count(), CHARACTERS + 1);
        assert!(tail.told().len() < 4096, "{}", tail.told().len());
        assert!(tail.told().ends_with('…'));
    }

    #[test]
    fn of_a_program_that_was_started_again_the_last_run_is_told() {
        let ring = Arc::new(Ring::default());
        let (log, tail) = ring.begin();
        for line in [STARTED, "no such file", STARTED, "no such key"] {
            log(line);
        }
        assert_eq!(tail.told(), "; its last lines: no such key");
        assert_eq!(ring.lines(), [STARTED, "no such file", STARTED, "no such key"]);
    }

    #[test]
    fn each_start_tells_its_own_lines() {
        let ring = Arc::new(Ring::default());
        let (first, told) = ring.begin();
        first("one");
        let (second, other) = ring.begin();
        second("two\u{1b}[2J");
        assert_eq!(
            (told.told().as_str(), other.told().as_str()),
            ("; its last lines: one", "; its last lines: two [2J")
        );
        assert_eq!(ring.lines().len(), 2);
        assert_eq!(Tail::default().told(), "");
    }
}
