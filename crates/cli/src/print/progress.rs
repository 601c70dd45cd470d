//! How far something has come, on a line that is written over: on a terminal only, and not more often than one can read.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{cut, escape};

/// What every terminal has room for.
const COLUMNS: usize = 78;

/// How often the line is written over at most.
const PACE: Duration = Duration::from_millis(100);

/// A line on standard error that goes away again.
pub(crate) struct Progress {
    last: Option<Mutex<Option<Instant>>>,
}

impl Progress {
    /// One where standard error is a terminal; elsewhere nothing is ever said.
    pub(crate) fn new() -> Self {
        Self { last: std::io::stderr().is_terminal().then(Mutex::default) }
    }

    /// Says that.
    pub(crate) fn say(&self, text: &str) {
        let Some(Ok(mut last)) = self.last.as_ref().map(Mutex::lock) else { return };
        if last.is_some_and(|last| last.elapsed() < PACE) {
            return;
        }
        *last = Some(Instant::now());
        let text = escape(text);
        // Nowhere is left to say that standard error is closed.
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K{}", cut(&text, COLUMNS));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
