//! The one place that reads the clock. Everything else is given one, so that tests can move it by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use covenant_model::time::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// The moment now, as people see it. It may jump either way.
    fn now(&self) -> Timestamp;

    /// The same in nanoseconds since 1970, for what is measured and not recorded.
    fn nanos(&self) -> u64 {
        self.now().millis().saturating_mul(1_000_000)
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the home of the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "the home of the clock")]
    fn nanos(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct HandClock(AtomicU64);

impl HandClock {
    /// A clock that shows that moment.
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicU64::new(moment.millis()))
    }

    /// Moves it on.
    pub fn advance(&self, span: Duration) {
        self.set(self.now().plus(span));
    }

    /// Puts it to that moment, later or earlier.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.millis(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
