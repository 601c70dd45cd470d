//! What a running request says to its client before it is answered, as events of a stream, until someone sends them.

use std::sync::Arc;
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

    fn put(&self, message: &[u8]) -> bool {
        let mut events = self.events.lock();
        let fits = events.len() + message.len() < UNSENT;
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
