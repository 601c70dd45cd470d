//! How much work a calendar may make: whoever wrote it decides the rules, but not how long we follow them.

/// The most steps that the events of one calendar may take together.
const CALENDAR: u64 = 10_000_000;

/// The most that one rule may take.
const RULE: u64 = 1_000_000;

/// The steps that are left.
#[derive(Debug)]
pub(super) struct Steps(u64);

/// None are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Steps {
    /// Those of a calendar.
    pub(super) fn of_calendar() -> Self {
        Self(CALENDAR)
    }

    /// That many.
    #[cfg(test)]
    pub(super) fn of(steps: u64) -> Self {
        Self(steps)
    }

    /// How many are left.
    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.0
    }

    /// Takes some.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Exhausted> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Exhausted)
    }

    /// Lets one rule take its share of them.
    pub(super) fn share<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Exhausted>,
    ) -> Result<T, Exhausted> {
        let mut share = Self(self.0.min(RULE));
        let given = share.0;
        let done = work(&mut share);
        self.0 -= given - share.0;
        done
    }
}
