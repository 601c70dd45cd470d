//! Who asks too often: a token bucket per token, or per connection for local callers without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use covenant_model::audit::{Decision, Event, Kind};

use crate::authenticate::Caller;
use crate::gate::Gate;
use crate::refusal::Refusal;

/// How often a refusal of one bucket is written to the log.
const REPORT_EVERY: Duration = Duration::from_mins(1);

/// A caller whose request was counted. Whoever holds one may ask for lists and calls.
#[derive(Debug, Clone)]
pub struct Admitted {
    caller: Arc<Caller>,
}

impl Admitted {
    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}

/// A bucket that refills steadily. Its whole state is the moment at which it will be full again.
#[derive(Debug, Default)]
pub struct Bucket {
    full_at: AtomicU64,
    reported_at: AtomicU64,
}

impl Bucket {
    /// Takes one, `now` microseconds after some fixed moment; otherwise how long until there is one.
    fn take(&self, now: u64, rate: f64, burst: u32) -> Result<(), Duration> {
        let step = micros(1_000_000.0 / rate);
        let room = step.saturating_mul(u64::from(burst.max(1)));
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now).saturating_add(step);
            let over = next.saturating_sub(now).saturating_sub(room);
            if over > 0 {
                return Err(Duration::from_micros(over));
            }
            match self.full_at.compare_exchange_weak(full_at, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(newer) => full_at = newer,
            }
        }
    }

    /// Whether a refusal should be written down now.
    pub(crate) fn worth_reporting(&self, now: u64) -> bool {
        let every = u64::try_from(REPORT_EVERY.as_micros()).unwrap_or(u64::MAX);
        let last = self.reported_at.load(Ordering::Relaxed);
        (last == 0 || now.saturating_sub(last) >= every)
            && self
                .reported_at
                .compare_exchange(last, now.max(1), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

/// Whole microseconds, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and the value is positive"
)]
fn micros(value: f64) -> u64 {
    (value as u64).max(1)
}

/// Microseconds since the gate was opened.
pub(crate) fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

impl Gate {
    /// Counts one request of that caller.
    pub fn admit(&self, caller: &Caller) -> Result<Admitted, Refusal> {
        let config = self.config();
        if config.rate > 0.0 {
            let now = elapsed(self.opened);
            if let Err(wait) = caller.bucket.take(now, config.rate, config.burst) {
                if caller.bucket.worth_reporting(now) {
                    let event =
                        Event::new(caller.principal().as_str(), "gate", Kind::RateLimited, Decision::Refused);
                    self.audit().owe(event, &self.redactor());
                }
                let refusal = Refusal::RateLimited { wait };
                self.meter.refused(&refusal);
                return Err(refusal);
            }
        }
        Ok(Admitted { caller: Arc::new(caller.clone()) })
    }

    /// Counts one call of a tool that has a limit of its own.
    pub(crate) fn admit_to_tool(&self, tool: &str, bucket: &Bucket) -> Result<(), Refusal> {
        match self.config().tool_rates.get(tool) {
            Some(&rate) if rate > 0.0 => {
                let burst = u32::try_from(micros(rate.ceil())).unwrap_or(u32::MAX);
                bucket.take(elapsed(self.opened), rate, burst).map_err(|wait| Refusal::RateLimited { wait })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_one_per_step() {
        let bucket = Bucket::default();
        for _ in 0..20 {
            assert_eq!(bucket.take(0, 10.0, 20), Ok(()));
        }
        assert_eq!(bucket.take(0, 10.0, 20), Err(Duration::from_millis(100)));
        assert_eq!(bucket.take(99_999, 10.0, 20), Err(Duration::from_micros(1)));
        assert_eq!(bucket.take(100_000, 10.0, 20), Ok(()));
        assert!(bucket.take(100_000, 10.0, 20).is_err());
    }

    #[test]
    fn a_rested_bucket_is_full_and_not_fuller() {
        let bucket = Bucket::default();
        let late = 3_600_000_000;
        assert_eq!((0..50).filter(|_| bucket.take(late, 10.0, 20).is_ok()).count(), 20);
    }

    #[test]
    fn refusals_are_reported_once_a_minute() {
        let bucket = Bucket::default();
        assert!(bucket.worth_reporting(5));
        assert!(!bucket.worth_reporting(59_000_000));
        assert!(bucket.worth_reporting(60_000_005));
    }
}
