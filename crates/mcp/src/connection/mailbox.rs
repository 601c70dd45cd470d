//! Where calls leave progress, log messages and questions until the connection comes by; full, it takes none.

use std::sync::Arc;
use std::task::Waker;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::outlet::Outlet;

/// Messages with their line ends.
#[derive(Default)]
struct Letters {
    /// Somebody waits for the answer: these are not lost.
    questions: Vec<u8>,
    /// These may be.
    notices: Vec<u8>,
}

pub(super) struct Mailbox {
    letters: Mutex<Letters>,
    limit: usize,
    waker: AtomicWaker,
}

impl Mailbox {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { letters: Mutex::default(), limit, waker: AtomicWaker::new() })
    }

    pub(super) fn wake_by(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    fn put(&self, message: &[u8], pick: impl FnOnce(&mut Letters) -> &mut Vec<u8>) -> bool {
        let mut letters = self.letters.lock();
        let bytes = pick(&mut letters);
        let fits = bytes.len() + message.len() < self.limit;
        if fits {
            bytes.extend_from_slice(message);
            bytes.push(b'\n');
            drop(letters);
            self.waker.wake();
        }
        fits
    }

    /// Hands over what is there.
    pub(super) fn empty(&self, mut take: impl FnMut(&[u8])) {
        let Letters { questions, notices } = &mut *self.letters.lock();
        for bytes in [questions, notices] {
            if !bytes.is_empty() {
                take(bytes);
                bytes.clear();
            }
        }
    }

    /// Loses what may be lost: there is no room for it.
    pub(super) fn lose(&self) {
        self.letters.lock().notices.clear();
    }
}

impl Outlet for Mailbox {
    fn notify(&self, message: &[u8]) {
        self.put(message, |letters| &mut letters.notices);
    }

    fn request(&self, message: &[u8]) -> bool {
        self.put(message, |letters| &mut letters.questions)
    }

    fn reaches(&self) -> bool {
        true
    }
}
