//! How much a server says that nobody asked for. More than any has to say, and it is not listened to any longer.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// So many messages within so long a time are too many.
const MOST: u32 = 100_000;
const WITHIN: Duration = Duration::from_secs(10);

/// Counts messages that nobody asked for.
pub(crate) struct Flood {
    window: Mutex<Window>,
    over: CancellationToken,
}

struct Window {
    since: Instant,
    count: u32,
}

impl Default for Flood {
    fn default() -> Self {
        let window = Mutex::new(Window { since: Instant::now(), count: 0 });
        Self { window, over: CancellationToken::new() }
    }
}

impl Flood {
    /// There was one more.
    pub(crate) fn add(&self) {
        self.add_all(1);
    }

    /// There were so many more.
    pub(crate) fn add_all(&self, more: u32) {
        if more == 0 {
            return;
        }
        let mut window = self.window.lock();
        window.count = window.count.saturating_add(more);
        if window.count <= MOST {
            return;
        }
        // The clock is looked at only where that decides something.
        let now = Instant::now();
        if now.duration_since(window.since) <= WITHIN {
            self.over.cancel();
        }
        *window = Window { since: now, count: 0 };
    }

    /// Comes back when there were too many.
    pub(crate) async fn too_much(&self) {
        self.over.cancelled().await;
    }

    /// Whether there were too many.
    pub(crate) fn is_too_much(&self) -> bool {
        self.over.is_cancelled()
    }

    /// The clause that says so.
    pub(crate) fn told() -> String {
        format!(
            "wrote more than {MOST} messages that nobody asked for within {} s, and is not listened to any longer",
            WITHIN.as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_many_in_a_longer_time_are_not_too_many() {
        let flood = Flood::default();
        for _ in 0..3 {
            for _ in 0..MOST {
                flood.add();
            }
            tokio::time::advance(WITHIN + Duration::from_millis(1)).await;
            flood.add();
            assert!(!flood.is_too_much());
        }
        for _ in 0..=MOST {
            flood.add();
        }
        assert!(flood.is_too_much());
    }
}
