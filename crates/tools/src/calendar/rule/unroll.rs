//! The times of a rule within a range, in order, on the wall of its start. The work grows with the range and not with the
//! years before it, unless the rule counts; and however it is written, it ends with the steps that it was given.

use std::ops::{ControlFlow, RangeInclusive};

use super::super::steps::{Exhausted, Steps};
use super::set::Set;
use super::{Frequency, Rule};

/// Takes one time after the other, until it has enough.
pub(in crate::calendar) type Each<'a> = &'a mut dyn FnMut(i64) -> ControlFlow<()>;

impl Rule {
    /// The times within a range, with the start: that is always the first, as the standard says.
    pub(in crate::calendar) fn unroll(
        &self,
        start: i64,
        range: RangeInclusive<i64>,
        steps: &mut Steps,
        each: Each<'_>,
    ) -> Result<(), Exhausted> {
        let Some(rule) = self.completed(start) else { return Ok(()) };
        if range.contains(&start) && each(start).is_break() {
            return Ok(());
        }
        let first = rule.unit_of(start);
        let mut course = Course { start, range, left: self.count.map(|count| count - 1), steps, each };
        let mut unit = self.skip(&rule, first, &mut course);
        let last = rule.unit_of(*course.range.end());
        while unit <= last && course.left != Some(0) {
            course.steps.spend(rule.cost())?;
            let next = match rule.set(unit) {
                Err(next) => next,
                Ok(set) => {
                    if course.take(&set)?.is_break() {
                        break;
                    }
                    unit + 1
                }
            };
            unit = rule.aligned(first, next);
        }
        Ok(())
    }

    /// The unit to begin with. One that counts can skip only where each unit has exactly one time.
    fn skip(&self, rule: &Self, first: i64, course: &mut Course<'_>) -> i64 {
        let wanted = *course.range.start().max(&course.start);
        let unit = rule.aligned(first, rule.unit_of(wanted));
        match &mut course.left {
            None => unit,
            Some(left) if self.is_regular() => {
                let skipped = (unit - first) / rule.interval - 1;
                *left = left.saturating_sub(u64::try_from(skipped).unwrap_or(0));
                unit
            }
            Some(_) => first,
        }
    }

    /// Whether every unit has exactly one time.
    fn is_regular(&self) -> bool {
        let lists = [&self.seconds, &self.minutes, &self.hours, &self.month_days, &self.year_days];
        let more = [&self.week_numbers, &self.months, &self.positions];
        self.frequency <= Frequency::Weekly
            && self.weekdays.is_empty()
            && lists.iter().chain(&more).all(|list| list.is_empty())
    }

    /// The first unit of the rule's interval that is not before that.
    fn aligned(&self, first: i64, unit: i64) -> i64 {
        let distance = (unit - first).max(0);
        let intervals = distance / self.interval + i64::from(distance % self.interval != 0);
        first.saturating_add(intervals.saturating_mul(self.interval))
    }
}

/// A rule on its way through a range.
struct Course<'a> {
    start: i64,
    range: RangeInclusive<i64>,
    /// How many times are still to come, for a rule that counts.
    left: Option<u64>,
    steps: &'a mut Steps,
    each: Each<'a>,
}

impl Course<'_> {
    fn take(&mut self, set: &Set) -> Result<ControlFlow<()>, Exhausted> {
        let after_start = set.first_from(self.start + 1);
        let begin = set.first_from(*self.range.start()).max(after_start);
        if let Some(left) = &mut self.left {
            let before = u64::try_from(begin - after_start).unwrap_or(u64::MAX);
            *left = left.saturating_sub(before);
        }
        for time in (begin..set.len()).map_while(|index| set.get(index)) {
            if time > *self.range.end() || self.left == Some(0) {
                return Ok(ControlFlow::Break(()));
            }
            self.steps.spend(1)?;
            self.left = self.left.map(|left| left - 1);
            if (self.each)(time).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
