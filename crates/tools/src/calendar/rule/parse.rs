//! The parts of an RRULE, each within what the standard allows.

use std::collections::BTreeSet;

use super::super::moment::Moment;
use super::{Frequency, Rule};

const WEEKDAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

impl Rule {
    /// Reads one; otherwise a clause says what is wrong with it.
    pub(in crate::calendar) fn parse(value: &str) -> Result<Self, String> {
        let mut rule = Self {
            frequency: Frequency::Yearly,
            interval: 1,
            count: None,
            until: None,
            seconds: Vec::new(),
            minutes: Vec::new(),
            hours: Vec::new(),
            weekdays: Vec::new(),
            month_days: Vec::new(),
            year_days: Vec::new(),
            week_numbers: Vec::new(),
            months: Vec::new(),
            positions: Vec::new(),
            week_start: 0,
        };
        let mut seen = BTreeSet::new();
        for part in value.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or("a part has no value")?;
            let (key, value) = (key.trim().to_ascii_uppercase(), value.trim().to_ascii_uppercase());
            if key.starts_with("X-") {
                continue;
            }
            rule.say(&key, &value).ok_or_else(|| wrong(&key))?;
            if !seen.insert(key) {
                return Err("a part stands there twice".to_owned());
            }
        }
        if seen.contains("FREQ") { Ok(rule) } else { Err("it has no FREQ".to_owned()) }
    }

    fn say(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "FREQ" => self.frequency = frequency(value)?,
            "INTERVAL" => self.interval = positive(value).and_then(|number| i64::try_from(number).ok())?,
            "COUNT" => self.count = Some(positive(value)?),
            "UNTIL" => self.until = Some(Moment::parse(value, None)?),
            // A second of 60 is the one before it.
            "BYSECOND" => self.seconds = numbers(value, 0..=60, |n| Some(n.min(59)))?,
            "BYMINUTE" => self.minutes = numbers(value, 0..=59, Some)?,
            "BYHOUR" => self.hours = numbers(value, 0..=23, Some)?,
            "BYDAY" => self.weekdays = sorted(value, weekday)?,
            "BYMONTHDAY" => self.month_days = numbers(value, -31..=31, not_zero)?,
            "BYYEARDAY" => self.year_days = numbers(value, -366..=366, not_zero)?,
            "BYWEEKNO" => self.week_numbers = numbers(value, -53..=53, not_zero)?,
            "BYMONTH" => self.months = numbers(value, 1..=12, Some)?,
            "BYSETPOS" => self.positions = numbers(value, -366..=366, not_zero)?,
            "WKST" => self.week_start = index(value)?,
            "RSCALE" if value == "GREGORIAN" => {}
            "SKIP" if value == "OMIT" => {}
            _ => return None,
        }
        Some(())
    }
}

/// What is wrong with a part; its name is shown only where it is one of ours.
fn wrong(key: &str) -> String {
    let sound = key.len() <= 16 && key.bytes().all(|byte| byte.is_ascii_uppercase());
    if sound { format!("{key} is not understood") } else { "a part is not understood".to_owned() }
}

fn frequency(value: &str) -> Option<Frequency> {
    Some(match value {
        "SECONDLY" => Frequency::Secondly,
        "MINUTELY" => Frequency::Minutely,
        "HOURLY" => Frequency::Hourly,
        "DAILY" => Frequency::Daily,
        "WEEKLY" => Frequency::Weekly,
        "MONTHLY" => Frequency::Monthly,
        "YEARLY" => Frequency::Yearly,
        _ => return None,
    })
}

fn positive(value: &str) -> Option<u64> {
    let number: u32 = value.parse().ok()?;
    (number > 0).then_some(number.into())
}

fn not_zero(number: i64) -> Option<i64> {
    (number != 0).then_some(number)
}

fn sorted<T: Ord>(value: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let set: Option<BTreeSet<T>> = value.split(',').map(|one| read(one.trim())).collect();
    set.map(|set| set.into_iter().collect())
}

fn numbers(
    value: &str,
    allowed: std::ops::RangeInclusive<i64>,
    also: impl Fn(i64) -> Option<i64>,
) -> Option<Vec<i64>> {
    sorted(value, |one| one.parse().ok().filter(|number| allowed.contains(number)).and_then(&also))
}

/// `MO`, `2TU`, `-1SU`.
fn weekday(value: &str) -> Option<(i64, i64)> {
    let (which, name) = value.split_at_checked(value.len().checked_sub(2)?)?;
    let which = if which.is_empty() { 0 } else { which.parse().ok().and_then(not_zero)? };
    (-53..=53).contains(&which).then_some((index(name)?, which))
}

fn index(name: &str) -> Option<i64> {
    WEEKDAYS.iter().zip(0..).find(|(known, _)| **known == name).map(|(_, index)| index)
}
