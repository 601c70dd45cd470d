//! The candidates of one year, month, week, … of a rule: days times hours times minutes times seconds, in order, without
//! ever being written out. So it costs nothing that a rule has a candidate for every second of a year.

use super::super::civil::{self, DAY};
use super::days::allows;
use super::{Frequency, Rule};

/// The candidates of one unit, in order.
#[derive(Debug)]
pub(super) struct Set {
    days: Vec<i64>,
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
    /// Which of them BYSETPOS picks.
    picked: Option<Vec<usize>>,
}

impl Set {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.picked.as_ref().map_or(self.whole(), Vec::len)
    }

    fn whole(&self) -> usize {
        self.days.len() * self.hours.len() * self.minutes.len() * self.seconds.len()
    }

    /// One of them.
    pub(super) fn get(&self, index: usize) -> Option<i64> {
        let index = match &self.picked {
            Some(picked) => *picked.get(index)?,
            None => index,
        };
        let (index, second) = pick(index, &self.seconds)?;
        let (index, minute) = pick(index, &self.minutes)?;
        let (index, hour) = pick(index, &self.hours)?;
        Some(self.days.get(index)? * DAY + hour * 3600 + minute * 60 + second)
    }

    /// The first that is not before that.
    pub(super) fn first_from(&self, from: i64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|candidate| candidate < from) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn picking(mut self, positions: &[i64]) -> Self {
        if !positions.is_empty() {
            let whole = self.whole();
            let mut picked: Vec<usize> = positions
                .iter()
                .filter_map(|position| {
                    let distance = usize::try_from(position.unsigned_abs()).ok()?;
                    if *position > 0 { distance.checked_sub(1) } else { whole.checked_sub(distance) }
                })
                .filter(|index| *index < whole)
                .collect();
            picked.sort_unstable();
            picked.dedup();
            self.picked = Some(picked);
        }
        self
    }
}

/// The last digit of an index, where digits are those of a list, and what is left of it.
fn pick(index: usize, list: &[i64]) -> Option<(usize, i64)> {
    let place = index.checked_rem(list.len())?;
    Some((index.checked_div(list.len())?, *list.get(place)?))
}

impl Rule {
    /// The year, month, week, … that a time lies in, counted from somewhere.
    pub(super) fn unit_of(&self, local: i64) -> i64 {
        let day = local.div_euclid(DAY);
        match self.frequency {
            Frequency::Weekly => (day + 3 - self.week_start).div_euclid(7),
            Frequency::Monthly => months(day),
            Frequency::Yearly => months(day).div_euclid(12),
            _ => local.div_euclid(self.size()),
        }
    }

    /// The seconds of a unit, for those that are all alike.
    fn size(&self) -> i64 {
        match self.frequency {
            Frequency::Secondly => 1,
            Frequency::Minutely => 60,
            Frequency::Hourly => 3600,
            _ => DAY,
        }
    }

    /// How many days are looked at for one unit.
    pub(super) fn cost(&self) -> u64 {
        match self.frequency {
            Frequency::Yearly if self.months.is_empty() => 366,
            Frequency::Yearly => 31 * u64::try_from(self.months.len()).unwrap_or(12),
            Frequency::Monthly => 31,
            Frequency::Weekly => 7,
            _ => 1,
        }
    }

    /// The candidates of a unit; or the next unit that can have any, because a part that limits forbids all before it.
    pub(super) fn set(&self, unit: i64) -> Result<Set, i64> {
        let set = match self.frequency {
            Frequency::Yearly => {
                let months = (0..12).filter(|month| allows(&self.months, &[month + 1]));
                self.on(months.flat_map(|month| month_days(unit * 12 + month)))
            }
            Frequency::Monthly => self.on(month_days(unit)),
            Frequency::Weekly => {
                let begins = unit * 7 - 3 + self.week_start;
                self.on(begins..begins + 7)
            }
            Frequency::Daily => self.on(unit..=unit),
            Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => self.moment(unit)?,
        };
        Ok(set.picking(&self.positions))
    }

    fn on(&self, days: impl Iterator<Item = i64>) -> Set {
        Set {
            days: days.filter(|day| self.takes(*day)).collect(),
            hours: self.hours.clone(),
            minutes: self.minutes.clone(),
            seconds: self.seconds.clone(),
            picked: None,
        }
    }

    /// The candidates of an hour, a minute or a second.
    fn moment(&self, unit: i64) -> Result<Set, i64> {
        let size = self.size();
        let local = unit * size;
        let day = local.div_euclid(DAY);
        if !self.takes(day) {
            return Err((day + 1) * DAY / size);
        }
        let mut within =
            Set { days: vec![day], hours: vec![], minutes: vec![], seconds: vec![], picked: None };
        for (length, in_all, said, taken) in [
            (3600, 24, &self.hours, &mut within.hours),
            (60, 60, &self.minutes, &mut within.minutes),
            (1, 60, &self.seconds, &mut within.seconds),
        ] {
            if length < size {
                taken.clone_from(said);
                continue;
            }
            let here = local.div_euclid(length);
            let number = here.rem_euclid(in_all);
            if !allows(said, &[number]) {
                return Err(((here + 1) * length).div_euclid(size));
            }
            taken.push(number);
        }
        Ok(within)
    }
}

/// Which month a day lies in, counted from the year 0.
fn months(day: i64) -> i64 {
    // Beyond the years there are, any month will do that is not within them.
    let beyond = if day < 0 { -120_001 } else { 120_001 };
    civil::date(day).map_or(beyond, |date| i64::from(date.year()) * 12 + i64::from(date.month()) - 1)
}

/// The days of a month.
fn month_days(month: i64) -> std::ops::Range<i64> {
    let date = |month: i64| {
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        let number = i8::try_from(month.rem_euclid(12) + 1).ok()?;
        jiff::civil::Date::new(year, number, 1).ok()
    };
    match date(month) {
        Some(first) => civil::day(first)..civil::day(first) + i64::from(first.days_in_month()),
        None => 0..0,
    }
}
