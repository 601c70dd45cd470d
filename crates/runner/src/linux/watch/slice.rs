//! How much one look does of what takes long: so little that the next look at memory is not kept waiting.

use std::time::{Duration, Instant};

/// The least and the most time that a look takes for one kind of thing.
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_millis(20);

/// The entries it takes in for each such short time, at most.
const ENTRIES: usize = 2_000;

/// That part of the time until memory may have run out is taken.
const PART: u32 = 8;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Slice {
    entries: usize,
    until: Instant,
}

impl Slice {
    /// A short one that begins now.
    pub(super) fn new() -> Self {
        Self { entries: ENTRIES, until: Instant::now() + SHORT }
    }

    /// One that begins now and is over well before the limits can be passed, which takes that long at least.
    pub(super) fn within(left: Duration) -> Self {
        let time = (left / PART).clamp(SHORT, LONG);
        let times = usize::try_from(time.as_micros() / SHORT.as_micros()).unwrap_or(1);
        Self { entries: ENTRIES.saturating_mul(times), until: Instant::now() + time }
    }

    /// So many entries, however long it takes.
    #[cfg(test)]
    pub(super) fn of(entries: usize) -> Self {
        Self { entries, until: Instant::now() + Duration::from_mins(10) }
    }

    /// Counts one entry; whether that was the last for now.
    pub(super) fn is_over(&mut self) -> bool {
        self.entries = self.entries.saturating_sub(1);
        self.entries == 0 || Instant::now() >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_after_so_many_entries_or_so_much_time() {
        let mut slice = Slice::of(3);
        assert_eq!([slice.is_over(), slice.is_over(), slice.is_over()], [false, false, true]);
        assert!(Slice { entries: 1_000, until: Instant::now() }.is_over());
        let entries = |left| Slice::within(Duration::from_millis(left)).entries;
        assert_eq!([0, 10, 80, 10_000].map(entries), [2_000, 2_000, 10_000, 20_000]);
    }
}
