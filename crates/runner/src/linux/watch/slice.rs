//! How much one look does of what takes long: so little that the next look at memory is not kept waiting.

use std::time::{Duration, Instant};

/// The entries of one kind that a look takes in.
const ENTRIES: usize = 2_000;

/// The time it takes for that, though it may be fewer.
const TIME: Duration = Duration::from_millis(2);

/// What is left of it.
#[derive(Debug)]
pub(super) struct Slice {
    entries: usize,
    until: Instant,
}

impl Slice {
    /// One that begins now.
    pub(super) fn new() -> Self {
        Self { entries: ENTRIES, until: Instant::now() + TIME }
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
    }
}
