//! Who may stay: so many connections at a time. When all seats are taken, a newcomer gets that of whoever has been idle
//! longest. A connection that is being answered is never sent away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use crate::shutdown::Busy;

/// The seats of one listener.
pub(super) struct Seats {
    room: Mutex<Room>,
    /// A seat became free, or someone idle. Only the listener waits for it.
    changed: Notify,
}

/// Everyone who sits, by number, and the idle among them in the order in which they became so.
struct Room {
    most: usize,
    free: Vec<usize>,
    sitting: Vec<Option<CancellationToken>>,
    idle: Line,
}

/// What a connection takes up as long as anything of it goes on: also after it stopped being HTTP.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: usize,
    /// It must go. Only ever said to someone idle.
    sent_away: CancellationToken,
    /// How much holds an answer that is in the making, or has not been handed to the connection whole.
    engaged: AtomicUsize,
    /// The other end does not take what it is sent.
    stalled: AtomicBool,
    /// It stands in the line of the idle.
    rests: AtomicBool,
    _busy: Busy,
}

/// An answer in the making, and until all of it has left. What an upgrade makes of a connection holds it too.
pub(crate) struct Engaged(Arc<Seat>);

impl Seats {
    pub(super) fn new(most: usize) -> Arc<Self> {
        let room = Room { most, free: Vec::new(), sitting: Vec::new(), idle: Line::default() };
        Arc::new(Self { room: Mutex::new(room), changed: Notify::new() })
    }

    /// A seat for a newcomer, who is idle at first. For one listener: two would wait for each other's.
    pub(super) async fn take(self: &Arc<Self>, busy: Busy) -> Arc<Seat> {
        let mut asked = false;
        loop {
            if let Some((number, sent_away)) = self.room.lock().take() {
                return Arc::new(Seat {
                    seats: Arc::clone(self),
                    number,
                    sent_away,
                    engaged: AtomicUsize::new(0),
                    stalled: AtomicBool::new(false),
                    rests: AtomicBool::new(true),
                    _busy: busy,
                });
            }
            // One is enough: it goes as soon as it is woken.
            asked = asked || self.room.lock().send_one_away();
            self.changed.notified().await;
        }
    }
}

impl Room {
    fn take(&mut self) -> Option<(usize, CancellationToken)> {
        let sent_away = CancellationToken::new();
        let number = match self.free.pop() {
            Some(number) => {
                *self.sitting.get_mut(number)? = Some(sent_away.clone());
                number
            }
            None if self.sitting.len() < self.most => {
                self.sitting.push(Some(sent_away.clone()));
                self.sitting.len() - 1
            }
            None => return None,
        };
        self.idle.join(number);
        Some((number, sent_away))
    }

    fn send_one_away(&mut self) -> bool {
        let Some(number) = self.idle.first() else { return false };
        self.idle.leave(number);
        // Said while the room is locked: whoever begins an answer after this sees it.
        self.sitting.get(number).and_then(Option::as_ref).map(CancellationToken::cancel).is_some()
    }

    fn free(&mut self, number: usize) {
        self.idle.leave(number);
        // What is kept here for nobody would hold the memory around it, too.
        self.sitting.get_mut(number).and_then(Option::take);
        self.free.push(number);
    }
}

impl Seat {
    /// Begins to answer; `None` if it was sent away just before.
    pub(super) fn engage(self: &Arc<Self>) -> Option<Arc<Engaged>> {
        let mut room = self.seats.room.lock();
        if self.sent_away.is_cancelled() {
            return None;
        }
        room.idle.leave(self.number);
        self.rests.store(false, Relaxed);
        self.engaged.fetch_add(1, Relaxed);
        Some(Arc::new(Engaged(Arc::clone(self))))
    }

    /// Joins the idle if nothing is being answered any more. For the connection's own task, whenever it has done what it
    /// could: then an answer that has not left is one that the other end does not take.
    pub(super) fn settle(&self) {
        if self.is_quiet() && !self.rests.swap(true, Relaxed) {
            self.seats.room.lock().idle.join(self.number);
            self.seats.changed.notify_one();
        }
    }

    /// Whether something is being answered.
    pub(super) fn is_engaged(&self) -> bool {
        self.engaged.load(Relaxed) > 0
    }

    /// Whether nothing is being answered, and no answer is under way.
    pub(super) fn is_quiet(&self) -> bool {
        !self.is_engaged() && !self.stalled.load(Relaxed)
    }

    /// The other end takes what it is sent, or does not.
    pub(super) fn set_stalled(&self, stalled: bool) {
        self.stalled.store(stalled, Relaxed);
    }

    /// Returns when it must go.
    pub(super) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }
}

impl Drop for Engaged {
    fn drop(&mut self) {
        self.0.engaged.fetch_sub(1, Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.room.lock().free(self.number);
        self.seats.changed.notify_one();
    }
}

#[cfg(test)]
pub(super) mod tests;
