//! How many connections are open: counted up when one is made, and down when it has closed.

use std::sync::Arc;

use tokio::sync::watch;

/// A count, and a larger one it belongs to.
pub(super) struct Open {
    count: watch::Sender<usize>,
    within: Option<Arc<Open>>,
}

/// One that is open, until it is dropped.
pub(super) struct Counted(Arc<Open>);

impl Open {
    pub(super) fn new(within: Option<&Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { count: watch::Sender::new(0), within: within.cloned() })
    }

    pub(super) fn one(self: &Arc<Self>) -> Counted {
        self.add();
        Counted(Arc::clone(self))
    }

    fn add(&self) {
        self.count.send_modify(|count| *count += 1);
        if let Some(within) = &self.within {
            within.add();
        }
    }

    fn take(&self) {
        self.count.send_modify(|count| *count = count.saturating_sub(1));
        if let Some(within) = &self.within {
            within.take();
        }
    }

    /// Comes back when none is.
    pub(super) async fn none(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.take();
    }
}
