//! RRULE: a repetition as it is written (RFC 5545, 3.3.10), every part of it.

mod days;
mod parse;
mod set;
mod unroll;

use super::moment::Moment;

/// How often, finest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frequency {
    Secondly,
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A repetition. Lists are sorted and hold nothing twice; one that is empty was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) frequency: Frequency,
    /// Every how many of them; at least 1.
    interval: i64,
    /// How many there are, with the first.
    count: Option<u64>,
    /// When the last can be.
    pub(super) until: Option<Moment>,
    seconds: Vec<i64>,
    minutes: Vec<i64>,
    hours: Vec<i64>,
    /// Days of the week (0 is Monday), each with which of them in the month or year; 0 is every one.
    weekdays: Vec<(i64, i64)>,
    month_days: Vec<i64>,
    year_days: Vec<i64>,
    week_numbers: Vec<i64>,
    months: Vec<i64>,
    positions: Vec<i64>,
    /// The day that weeks begin with.
    week_start: i64,
}

impl Rule {
    /// A rule for days knows no times.
    pub(super) fn without_times(mut self) -> Self {
        self.seconds.clear();
        self.minutes.clear();
        self.hours.clear();
        self
    }
}

#[cfg(test)]
mod tests;
