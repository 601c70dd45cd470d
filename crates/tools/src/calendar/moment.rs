//! DATE, DATE-TIME, DURATION and PERIOD values, as they are written: which zone a name means is decided elsewhere.

use std::sync::Arc;

use jiff::civil::Date;

use super::civil::{self, DAY};
use super::line::Line;

/// The longest that anything may last: a hundred years.
const LONGEST: i64 = 36_525 * DAY;

/// When something is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// On a day.
    Day(i64),
    /// At a time on somebody's wall.
    Time { local: i64, wall: Wall },
}

/// Whose wall.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wall {
    /// Anyone's.
    Floating,
    /// That of UTC.
    Utc,
    /// That of a zone of this name.
    Zone(Arc<str>),
}

/// How long something lasts: days on the wall, then seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Extent {
    pub(super) days: i64,
    pub(super) seconds: i64,
}

impl Extent {
    /// At least how many seconds reach over it, whatever the clocks do.
    pub(super) fn reach(self) -> i64 {
        self.days.saturating_mul(DAY).saturating_add(self.seconds)
    }
}

impl Moment {
    /// One of the values of a property, of which a parameter may name the zone.
    pub(super) fn parse(value: &str, zone: Option<&Arc<str>>) -> Option<Self> {
        let value = value.trim();
        let Some((date, time)) = value.split_once(['T', 't']) else {
            return Some(Self::Day(day(value)?));
        };
        let (time, wall) = match (time.strip_suffix(['Z', 'z']), zone) {
            (Some(time), _) => (time, Wall::Utc),
            (None, Some(zone)) => (time, Wall::Zone(Arc::clone(zone))),
            (None, None) => (time, Wall::Floating),
        };
        let (hour, minute, second) = (digits(time, 0..2)?, digits(time, 2..4)?, digits(time, 4..6)?);
        if time.len() != 6 || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        // A leap second is the one before it, as the standard allows.
        let local = day(date)? * DAY + hour * 3600 + minute * 60 + second.min(59);
        Some(Self::Time { local, wall })
    }

    /// The value of a property that has one.
    pub(super) fn of(line: &Line) -> Option<Self> {
        Self::parse(&line.value, zone_of(line).as_ref())
    }

    /// What the wall shows, midnight for a day.
    pub(super) fn local(&self) -> i64 {
        match self {
            Self::Day(day) => day * DAY,
            Self::Time { local, .. } => *local,
        }
    }
}

/// The name of the zone that a property says.
pub(super) fn zone_of(line: &Line) -> Option<Arc<str>> {
    line.parameter("TZID").map(str::trim).filter(|name| !name.is_empty()).map(Arc::from)
}

/// `20240131`.
fn day(text: &str) -> Option<i64> {
    if text.len() != 8 {
        return None;
    }
    let (year, month, day) = (digits(text, 0..4)?, digits(text, 4..6)?, digits(text, 6..8)?);
    let narrow = |number: i64| i8::try_from(number).ok();
    let date = Date::new(i16::try_from(year).ok()?, narrow(month)?, narrow(day)?).ok()?;
    // The last day there is has no room for a zone.
    (date.year() > 0 && date != Date::MAX).then(|| civil::day(date))
}

fn digits(text: &str, range: std::ops::Range<usize>) -> Option<i64> {
    let part = text.get(range)?;
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
}

/// A DURATION: `P1W`, `P1DT2H`, `-PT15M`. One that is negative is none.
pub(super) fn duration(value: &str) -> Option<Extent> {
    let value = value.trim().to_ascii_uppercase();
    let value = value.strip_prefix('+').unwrap_or(&value);
    let (days, time) = match value.strip_prefix('P')?.split_once('T') {
        Some((days, time)) => (days, Some(time)),
        None => (value.strip_prefix('P')?, None),
    };
    if time.map_or(days.is_empty(), str::is_empty) {
        return None;
    }
    let extent = Extent {
        days: sum(days, &[('W', 7), ('D', 1)])?,
        seconds: sum(time.unwrap_or_default(), &[('H', 3600), ('M', 60), ('S', 1)])?,
    };
    (extent.reach() <= LONGEST).then_some(extent)
}

/// Numbers, each followed by its unit, in the order of the units.
fn sum(mut text: &str, units: &[(char, i64)]) -> Option<i64> {
    let mut total: i64 = 0;
    for (unit, size) in units {
        if let Some((number, rest)) = text.split_once(*unit) {
            let number = digits(number, 0..number.len()).filter(|_| !number.is_empty())?;
            total = total.checked_add(number.checked_mul(*size)?)?;
            text = rest;
        }
    }
    text.is_empty().then_some(total)
}

/// A PERIOD: when it begins, and when it ends or how long it lasts.
pub(super) fn period(value: &str, zone: Option<&Arc<str>>) -> Option<(Moment, End)> {
    let (start, end) = value.split_once('/')?;
    let end = match Moment::parse(end, zone) {
        Some(end) => End::At(end),
        None => End::After(duration(end)?),
    };
    Some((Moment::parse(start, zone)?, end))
}

/// How the end of something is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    At(Moment),
    After(Extent),
    Unsaid,
}

/// How long it is between two instants, never less than nothing and never endless.
pub(super) fn between(start: i64, end: i64) -> i64 {
    end.saturating_sub(start).clamp(0, LONGEST)
}

#[cfg(test)]
mod tests;
