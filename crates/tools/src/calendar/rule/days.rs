//! Which days a rule takes. What a rule does not say is taken from where it starts.

use jiff::civil::Date;

use super::super::civil;
use super::{Frequency, Rule};

impl Rule {
    /// The rule with everything said that follows from its start.
    pub(super) fn completed(&self, start: i64) -> Option<Self> {
        let at = civil::datetime(start)?;
        let mut full = self.clone();
        full.say_days(at.date());
        full.say_times(at.hour().into(), at.minute().into(), at.second().into());
        Some(full)
    }

    fn say_days(&mut self, start: Date) {
        if self.frequency < Frequency::Monthly {
            // Which of them in the month is a question for months and years.
            self.weekdays = self.weekdays.iter().map(|(weekday, _)| (*weekday, 0)).collect();
            self.weekdays.dedup();
        }
        if !(self.weekdays.is_empty() && self.month_days.is_empty() && self.year_days.is_empty()) {
            return;
        }
        let weekday = civil::weekday(civil::day(start));
        match self.frequency {
            Frequency::Yearly if self.week_numbers.is_empty() => {
                if self.months.is_empty() {
                    self.months.push(start.month().into());
                }
                self.month_days.push(start.day().into());
            }
            Frequency::Monthly => self.month_days.push(start.day().into()),
            Frequency::Yearly | Frequency::Weekly => self.weekdays.push((weekday, 0)),
            _ => {}
        }
    }

    fn say_times(&mut self, hour: i64, minute: i64, second: i64) {
        for (list, finest, number) in [
            (&mut self.hours, Frequency::Hourly, hour),
            (&mut self.minutes, Frequency::Minutely, minute),
            (&mut self.seconds, Frequency::Secondly, second),
        ] {
            if list.is_empty() && self.frequency > finest {
                list.push(number);
            }
        }
    }

    /// Whether a day satisfies every part that speaks of days.
    pub(super) fn takes(&self, day: i64) -> bool {
        let Some(date) = civil::date(day) else { return false };
        let month_day = i64::from(date.day());
        let year_day = i64::from(date.day_of_year());
        let (month_length, year_length) = (i64::from(date.days_in_month()), i64::from(date.days_in_year()));
        allows(&self.months, &[date.month().into()])
            && allows(&self.month_days, &[month_day, month_day - month_length - 1])
            && allows(&self.year_days, &[year_day, year_day - year_length - 1])
            && (self.week_numbers.is_empty() || self.takes_week(day))
            && (self.weekdays.is_empty() || {
                let in_year = self.frequency == Frequency::Yearly && self.months.is_empty();
                let (nth, length) = if in_year { (year_day, year_length) } else { (month_day, month_length) };
                let weekday = civil::weekday(day);
                let nths = [0, (nth - 1) / 7 + 1, -((length - nth) / 7 + 1)];
                nths.iter().any(|nth| self.weekdays.binary_search(&(weekday, *nth)).is_ok())
            })
    }

    /// Whether the week that a day lies in is one of those numbered. A week belongs to the year that has most of it.
    fn takes_week(&self, day: i64) -> bool {
        let begins = day - (civil::weekday(day) - self.week_start).rem_euclid(7);
        let Some(middle) = civil::date(begins + 3) else { return false };
        let number = (i64::from(middle.day_of_year()) - 1) / 7 + 1;
        // The year's last week is the one that the 28th of December lies in.
        let Ok(late) = Date::new(middle.year(), 12, 28) else { return false };
        let last_day = civil::day(late);
        let last = last_day - (civil::weekday(last_day) - self.week_start).rem_euclid(7);
        let from_the_end = -((last - begins) / 7 + 1);
        allows(&self.week_numbers, &[number, from_the_end])
    }
}

/// Whether a list allows one of these; an empty one allows everything.
pub(super) fn allows(list: &[i64], any: &[i64]) -> bool {
    list.is_empty() || any.iter().any(|number| list.binary_search(number).is_ok())
}
