//! Where calls leave progress and log messages until the connection comes by; full, it takes none.

use std::sync::Arc;
use std::task::Waker;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::outlet::Outlet;

/// Messages that may be lost, with their line ends.
pub(super) struct Mailbox {
    bytes: Mutex<Vec<u8>>,
    limit: usize,
    waker: AtomicWaker,
}

impl Mailbox {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::default(), limit, waker: AtomicWaker::new() })
    }

    pub(super) fn wake_by(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    fn put(&self, message: &[u8]) -> bool {
        let mut bytes = self.bytes.lock();
        let fits = bytes.len() + message.len() < self.limit;
        if fits {
            bytes.extend_from_slice(message);
            bytes.push(b'\n');
            drop(bytes);
            self.waker.wake();
        }
        fits
    }

    /// Hands over what is there.
    pub(super) fn empty(&self, take: impl FnOnce(&[u8])) {
        let mut bytes = self.bytes.lock();
        if !bytes.is_empty() {
            take(&bytes);
            bytes.clear();
        }
    }
}

impl Outlet for Mailbox {
    fn notify(&self, message: &[u8]) {
        self.put(message);
    }

    fn request(&self, message: &[u8]) -> bool {
        self.put(message)
    }

    fn reaches(&self) -> bool {
        true
    }
}
