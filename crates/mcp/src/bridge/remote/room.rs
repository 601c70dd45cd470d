//! How much all messages on their way may hold together: what does not fit is refused, and nobody waits for room.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is free.
#[derive(Debug)]
pub(super) struct Room(AtomicUsize);

/// What someone holds of it, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

/// A message on its way, and its place in the room.
#[derive(Debug)]
pub(super) struct Load {
    /// The message, without a line end.
    pub(super) bytes: Vec<u8>,
    _held: Option<Held>,
}

impl Room {
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    /// Nothing yet.
    pub(super) fn hold(self: &Arc<Self>) -> Held {
        Held { room: Arc::clone(self), bytes: 0 }
    }
}

impl Held {
    /// Takes that much more; whether there was room.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let less = |free: usize| free.checked_sub(bytes);
        let taken = self.room.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if taken {
            self.bytes += bytes;
        }
        taken
    }

    /// Gives all of it back.
    pub(super) fn release(&mut self) {
        self.room.0.fetch_add(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

impl Load {
    /// A message that came from outside.
    pub(super) fn held(bytes: Vec<u8>, held: Held) -> Self {
        Self { bytes, _held: Some(held) }
    }

    /// A short one of our own.
    pub(super) fn own(bytes: Vec<u8>) -> Self {
        Self { bytes, _held: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_dropped_is_free_again() {
        let room = Room::new(10);
        let (mut one, mut two) = (room.hold(), room.hold());
        assert!(one.grow(6) && two.grow(4) && !one.grow(1));
        two.release();
        assert!(one.grow(4) && !two.grow(1));
        drop(Load::held(Vec::new(), one));
        assert!(two.grow(10));
    }
}
