//! Who writes to our standard error: a thread of its own. Nobody may read there, and what would then wait for ever must not
//! be what watches over the program, the deadline and signals.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::print;

/// The most bytes of lines that wait to be written; what comes while there are more is left out.
const WAITING: usize = 256 * 1024;

/// What is to be said, in order. It is said until this process ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Teller(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    said: VecDeque<Said>,
    /// Of the lines in it.
    bytes: usize,
    /// Lines that came after all these, and found no room.
    left_out: u64,
}

enum Said {
    /// A line of the program.
    Line(String),
    /// So many lines are missing here.
    LeftOut(u64),
    /// Something of our own, which knows how to say itself.
    Own(Box<dyn FnOnce() + Send>),
}

impl Teller {
    /// Begins to write.
    pub(super) fn start() -> Result<Self, std::io::Error> {
        let teller = Self::default();
        let writer = teller.clone();
        std::thread::Builder::new().name("teller".to_owned()).spawn(move || writer.write())?;
        Ok(teller)
    }

    /// A line of the program's standard error. Never waits: where too many do already, it is left out and counted.
    pub(super) fn line(&self, line: &str) {
        let mut queue = self.queue();
        // Once one was left out, so is what follows, until that was said.
        if queue.left_out > 0 || queue.bytes + line.len() >= WAITING {
            queue.left_out += 1;
            return;
        }
        queue.bytes += line.len() + 1;
        queue.said.push_back(Said::Line(line.to_owned()));
        self.0.changed.notify_one();
    }

    /// Something of our own, which is never left out.
    pub(crate) fn own(&self, say: impl FnOnce() + Send + 'static) {
        let mut queue = self.queue();
        queue.own_up();
        queue.said.push_back(Said::Own(Box::new(say)));
        self.0.changed.notify_one();
    }

    fn write(&self) {
        loop {
            for one in self.take() {
                match one {
                    // Nowhere is left to say that standard error is closed.
                    Said::Line(line) => drop(writeln!(std::io::stderr().lock(), "{line}")),
                    Said::LeftOut(count) => print::warn(&format!(
                        "{count} lines of its standard error were left out: they came faster than they are read"
                    )),
                    Said::Own(say) => say(),
                }
            }
        }
    }

    /// Waits for something to say.
    fn take(&self) -> VecDeque<Said> {
        let queue = self.0.changed.wait_while(self.queue(), |queue| queue.said.is_empty());
        let mut queue = queue.unwrap_or_else(PoisonError::into_inner);
        queue.own_up();
        std::mem::take(&mut *queue).said
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Puts down what was left out.
    fn own_up(&mut self) {
        let count = std::mem::take(&mut self.left_out);
        if count > 0 {
            self.said.push_back(Said::LeftOut(count));
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("said", &self.said.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_find_no_room_are_counted_and_what_is_our_own_is_not_left_out() {
        let teller = Teller::default();
        let line = "x".repeat(1023);
        for _ in 0..300 {
            teller.line(&line);
        }
        teller.line("short, and yet not out of order");
        teller.own(|| ());
        let said = teller.take();
        let lines = said.iter().take_while(|said| matches!(said, Said::Line(_))).count();
        assert_eq!(lines, 256);
        let rest: Vec<&Said> = said.iter().skip(lines).collect();
        assert!(matches!(rest[..], [Said::LeftOut(45), Said::Own(_)]), "{} more", rest.len());
        teller.line("there is room again");
        assert!(matches!(teller.take().make_contiguous(), [Said::Line(_)]));
    }
}
