//! What a running request says to its client before it is answered, as events of a stream, until someone sends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;

use bytes::Bytes;
use covenant_mcp::outlet::Outlet;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

/// How much may wait for a client that does not keep up; more is lost, and nothing more is asked.
const UNSENT: usize = 256 * 1024;

/// Events that wait.
#[derive(Default)]
pub(crate) struct Letters {
    events: Mutex<Vec<u8>>,
    waker: AtomicWaker,
    /// Whoever would read them is gone.
    unread: AtomicBool,
}

/// Writes one event.
pub(crate) fn event(message: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

impl Letters {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// What waits; otherwise whoever asks is woken when something does.
    pub(crate) fn poll_take(&self, cx: &Context<'_>) -> Option<Bytes> {
        self.waker.register(cx.waker());
        let mut events = self.events.lock();
        (!events.is_empty()).then(|| Bytes::from(std::mem::take(&mut *events)))
    }

    /// Whether something waits; if not, whoever asks is woken when something does.
    pub(crate) fn poll_any(&self, cx: &Context<'_>) -> bool {
        self.waker.register(cx.waker());
        !self.events.lock().is_empty()
    }

    /// Whether something waits.
    pub(crate) fn any(&self) -> bool {
        !self.events.lock().is_empty()
    }

    /// Nobody reads any more: nothing is kept, and nothing asked.
    pub(crate) fn hang_up(&self) {
        self.unread.store(true, Ordering::Release);
        self.events.lock().clear();
    }

    fn put(&self, message: &[u8]) -> bool {
        let mut events = self.events.lock();
        let fits = events.len() + message.len() < UNSENT && !self.unread.load(Ordering::Acquire);
        if fits {
            event(message, &mut events);
            drop(events);
            self.waker.wake();
        }
        fits
    }
}

impl Outlet for Letters {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_lost_at_some_point_and_at_once_when_nobody_reads() {
        let letters = Letters::new();
        let long = vec![b'x'; 1000];
        let kept = (0..10_000).filter(|_| letters.request(&long)).count();
        assert!((200..300).contains(&kept), "{kept}");
        let waker = std::task::Waker::noop();
        assert!(letters.poll_take(&Context::from_waker(waker)).is_some());
        assert!(letters.request(b"{}"), "there is room again");
        letters.hang_up();
        assert!(!letters.any() && !letters.request(b"{}"), "nobody can be asked any more");
        letters.notify(b"{}");
        assert!(!letters.any());
    }

    #[test]
    fn an_event_is_one_line_of_data() {
        let mut out = Vec::new();
        event(br#"{"a":1}"#, &mut out);
        assert_eq!(out, b"event: message\ndata: {\"a\":1}\n\n");
    }
}
