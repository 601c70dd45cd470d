//! What an agent says on its standard error while it runs, for whoever follows its intent: a few lines a second, and no more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_model::intent::IntentId;
use covenant_runner::nursery::Hear;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::desk::Desk;

/// The most lines that are passed on at once, and how often there is room for one more.
const BURST: u32 = 20;
const EACH: Duration = Duration::from_millis(100);

/// The most characters of a line that are passed on.
const LONGEST: usize = 500;

/// What passes lines on.
pub(super) struct Voice {
    desk: Arc<Desk>,
    id: IntentId,
    lines: mpsc::Receiver<String>,
    send: mpsc::Sender<String>,
}

impl Voice {
    pub(super) fn new(desk: Arc<Desk>, id: IntentId) -> Self {
        let (send, lines) = mpsc::channel(64);
        Self { desk, id, lines, send }
    }

    /// Who hears each line. It never waits.
    pub(super) fn hear(&self) -> Hear {
        let send = self.send.clone();
        let room = Mutex::new((BURST, Instant::now()));
        Arc::new(move |line| {
            if take(&mut room.lock(), Instant::now()) {
                // Nobody has taken the last ones: this one is in the log alone.
                let _ = send.try_send(line.chars().take(LONGEST).collect());
            }
        })
    }

    /// Passes lines on until that is done.
    pub(super) async fn relay<T>(mut self, work: impl Future<Output = T>, report: impl Fn(f64, &str)) -> T {
        let mut work = std::pin::pin!(work);
        let mut number = 1.0;
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    while let Ok(line) = self.lines.try_recv() {
                        self.pass(&line, &mut number, &report);
                    }
                    return done;
                }
                // We hold a sender, so there is always one to come.
                Some(line) = self.lines.recv() => self.pass(&line, &mut number, &report),
            }
        }
    }

    fn pass(&self, line: &str, number: &mut f64, report: &impl Fn(f64, &str)) {
        self.desk.said(&self.id, line);
        *number += 1.0;
        report(*number, line);
    }
}

/// Whether there is room for a line.
fn take((room, since): &mut (u32, Instant), now: Instant) -> bool {
    let gained = now.saturating_duration_since(*since).as_millis() / EACH.as_millis();
    if gained > 0 {
        *room = BURST.min(room.saturating_add(u32::try_from(gained).unwrap_or(BURST)));
        *since = now;
    }
    let has_room = *room > 0;
    *room = room.saturating_sub(1);
    has_room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_passed_on_drop_by_drop() {
        let begin = Instant::now();
        let mut room = (BURST, begin);
        assert_eq!((0..1000).filter(|_| take(&mut room, begin)).count(), 20);
        assert!(!take(&mut room, begin + EACH / 2));
        assert!(take(&mut room, begin + EACH));
        let later = begin + Duration::from_hours(1);
        assert_eq!((0..1000).filter(|_| take(&mut room, later)).count(), 20);
    }
}
