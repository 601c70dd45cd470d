//! Who may stay: so many connections at a time. When all seats are taken, a newcomer gets that of whoever has been idle
//! longest; if nobody is, that of whoever has kept us waiting longest. One whom others wait for is never sent away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use crate::shutdown::Busy;

/// How long one who was sent away may take to go before another is: what it began may outlast it.
const GOING: Duration = Duration::from_secs(1);

/// The seats of one listener.
pub(super) struct Seats {
    room: Mutex<Room>,
    /// A seat became free, or someone can be sent away. Only the listener waits for it.
    changed: Notify,
}

/// Everyone who sits, by number, and who among them is idle or keeps us waiting, in the order in which they became so.
struct Room {
    most: usize,
    free: Vec<usize>,
    /// How each is told to go; none for one who was.
    sitting: Vec<Option<CancellationToken>>,
    idle: Line,
    waited_for: Line,
    /// How often anyone went from one line to another.
    #[cfg(test)]
    moves: usize,
}

/// In which line someone stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Stand {
    /// In none: an answer is in the making.
    Nowhere,
    /// Nothing is being answered.
    Idle,
    /// We wait for the other end: to send the rest of a request, or to take an answer.
    WaitedFor,
}

/// What a connection takes up as long as anything of it goes on: also after it stopped being HTTP.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: usize,
    /// It must go. Only ever said to someone who stands in a line.
    sent_away: CancellationToken,
    /// How many answers are in the making, or have not been handed to the connection whole.
    engaged: AtomicUsize,
    /// How many of them are to requests that have not come whole.
    awaited: AtomicUsize,
    /// The other end does not take what it is sent.
    stalled: AtomicBool,
    /// The line it stands in. Changed only while the room is locked.
    stand: AtomicU8,
    _busy: Busy,
}

/// An answer in the making, and until all of it has left. What an upgrade makes of a connection holds it too.
pub(crate) struct Engaged(Arc<Seat>);

/// A request that has not come whole.
pub(super) struct Awaited<'a>(&'a Seat);

impl Seats {
    pub(super) fn new(most: usize) -> Arc<Self> {
        let room = Room {
            most,
            free: Vec::new(),
            sitting: Vec::new(),
            idle: Line::default(),
            waited_for: Line::default(),
            #[cfg(test)]
            moves: 0,
        };
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
                    awaited: AtomicUsize::new(0),
                    stalled: AtomicBool::new(false),
                    stand: AtomicU8::new(Stand::Idle as u8),
                    _busy: busy,
                });
            }
            // One is enough: it goes as soon as it is woken.
            asked = asked || self.room.lock().send_one_away();
            asked &= timeout(GOING, self.changed.notified()).await.is_ok();
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
        let Some(number) = self.idle.first().or(self.waited_for.first()) else { return false };
        self.leave(number);
        // Said while the room is locked: whoever begins an answer after this sees it.
        self.sitting.get_mut(number).and_then(Option::take).map(|told| told.cancel()).is_some()
    }

    fn leave(&mut self, number: usize) {
        self.idle.leave(number);
        self.waited_for.leave(number);
    }

    fn was_sent_away(&self, number: usize) -> bool {
        self.sitting.get(number).is_none_or(Option::is_none)
    }

    fn free(&mut self, number: usize) {
        self.leave(number);
        // What is kept here for nobody would hold the memory around it, too.
        self.sitting.get_mut(number).and_then(Option::take);
        self.free.push(number);
    }
}

impl Seat {
    /// Begins to answer; `None` if it was sent away just before.
    pub(super) fn engage(self: &Arc<Self>) -> Option<Arc<Engaged>> {
        let mut room = self.seats.room.lock();
        if room.was_sent_away(self.number) {
            return None;
        }
        self.engaged.fetch_add(1, SeqCst);
        self.stand_in(&mut room, Stand::Nowhere);
        Some(Arc::new(Engaged(Arc::clone(self))))
    }

    /// Goes to the line it belongs in. For the connection's own task, whenever it has done what it could: then an answer
    /// that has not left is one that the other end does not take. And for whoever has read a request to its end.
    pub(super) fn settle(&self) {
        // Again, until it is so: whoever changes what is looked at here looks afterwards, too.
        while self.stand.load(SeqCst) != self.belongs() as u8 {
            let mut room = self.seats.room.lock();
            if room.was_sent_away(self.number) {
                return;
            }
            let stand = self.belongs();
            self.stand_in(&mut room, stand);
            drop(room);
            if stand != Stand::Nowhere {
                self.seats.changed.notify_one();
            }
        }
    }

    fn stand_in(&self, room: &mut Room, stand: Stand) {
        #[cfg(test)]
        {
            room.moves += 1;
        }
        room.leave(self.number);
        match stand {
            Stand::Nowhere => {}
            Stand::Idle => room.idle.join(self.number),
            Stand::WaitedFor => room.waited_for.join(self.number),
        }
        self.stand.store(stand as u8, SeqCst);
    }

    fn belongs(&self) -> Stand {
        let (awaited, engaged) = (self.awaited.load(SeqCst), self.engaged.load(SeqCst));
        match engaged {
            _ if self.stalled.load(SeqCst) => Stand::WaitedFor,
            0 => Stand::Idle,
            _ if awaited >= engaged => Stand::WaitedFor,
            _ => Stand::Nowhere,
        }
    }

    /// Whether something is being answered. A request that has not come whole is not.
    pub(super) fn is_engaged(&self) -> bool {
        self.engaged.load(SeqCst) > self.awaited.load(SeqCst)
    }

    /// The other end takes what it is sent, or does not. For the connection's own task alone, which settles later.
    pub(super) fn set_stalled(&self, stalled: bool) {
        self.stalled.store(stalled, SeqCst);
    }

    /// Returns when it must go.
    pub(super) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }
}

impl Engaged {
    /// The request is awaited, from before it is asked for: that wakes the connection's task, which then settles.
    pub(super) fn awaits(&self) -> Awaited<'_> {
        self.0.awaited.fetch_add(1, SeqCst);
        Awaited(&self.0)
    }
}

impl Awaited<'_> {
    /// It has come whole. Whether it may be answered: not if its connection was sent away meanwhile.
    pub(super) fn over(self) -> bool {
        let seat = self.0;
        drop(self);
        seat.stand.load(SeqCst) == Stand::Nowhere as u8 || !seat.seats.room.lock().was_sent_away(seat.number)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.awaited.fetch_sub(1, SeqCst);
        self.0.settle();
    }
}

impl Drop for Engaged {
    fn drop(&mut self) {
        self.0.engaged.fetch_sub(1, SeqCst);
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
