//! Moments as milliseconds since 1970 in UTC, and the two texts people read and write: RFC 3339 and `2h`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Written as RFC 3339 with milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(u64);

/// A text that is neither a date nor a moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date: write `2026-11-16` or `2026-11-16T08:30:00Z`")]
pub struct BadTimestamp(String);

/// A text that is no span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a span of time: write a number and s, m, h, d or w, such as `30m` or `2h`")]
pub struct BadSpan(String);

/// The last moment that is written with a four-digit year.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// The moment that many milliseconds after 1970; years past 9999 are cut to its end.
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.min(LAST))
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// That much later.
    pub fn plus(self, span: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// That much earlier.
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to this; nothing if a clock was put back.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The 24 bytes of its RFC 3339 form, such as `2026-11-16T08:30:00.000Z`.
    pub fn rfc3339(self) -> [u8; 24] {
        let (days, of_day) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let (year, month, day) = civil(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, width: usize, mut value: u64| {
            for place in (at..at + width).rev() {
                if let Some(byte) = text.get_mut(place) {
                    *byte = b'0' + u8::try_from(value % 10).unwrap_or(0);
                }
                value /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, of_day / 3_600_000);
        put(14, 2, of_day / 60_000 % 60);
        put(17, 2, of_day / 1000 % 60);
        put(20, 3, of_day % 1000);
        text
    }
}

/// Year, month and day of a day count since 1970 (proleptic Gregorian, eras of 400 years).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Day count since 1970 of a date, or `None` where the calendar has no such day or it lies before 1970.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    let shifted_year = year - u64::from(month <= 2);
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let count = (era * 146_097 + of_era).checked_sub(719_468)?;
    (civil(count) == (year, month, day)).then_some(count)
}

impl std::str::FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        parse(text).ok_or_else(|| BadTimestamp(text.chars().take(64).collect()))
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock.strip_suffix('Z')?)),
        None => (text, None),
    };
    let number = |part: &str, width: usize| -> Option<u64> {
        (part.len() == width && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok())?
    };
    let mut parts = date.splitn(3, '-');
    let day_count = days(number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?)?;
    let mut millis = day_count * 86_400_000;
    if let Some(clock) = clock {
        let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let mut parts = whole.splitn(3, ':');
        let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
        let second = parts.next().map_or(Some(0), |part| number(part, 2))?;
        if hour > 23 || minute > 59 || second > 59 || fraction.is_empty() || fraction.len() > 9 {
            return None;
        }
        let thousandths = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
        millis += ((hour * 60 + minute) * 60 + second) * 1000 + thousandths;
    }
    Some(Timestamp::from_millis(millis))
}

impl TryFrom<String> for Timestamp {
    type Error = BadTimestamp;
    fn try_from(text: String) -> Result<Self, BadTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.rfc3339()).unwrap_or_default())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `90s`, `30m`, `2h`, `7d`, `1w`.
pub fn span(text: &str) -> Result<Duration, BadSpan> {
    let bad = || BadSpan(text.chars().take(64).collect());
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match text.strip_prefix(digits) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 3600,
        Some("d") => 86_400,
        Some("w") => 604_800,
        _ => return Err(bad()),
    };
    let count: u64 = digits.parse().map_err(|_| bad())?;
    count.checked_mul(unit).map(Duration::from_secs).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_as_people_expect() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_763_253_156_123, "2025-11-16T00:32:36.123Z"),
            (LAST, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap().millis(), millis);
        }
    }

    #[test]
    fn dates_alone_and_short_clocks_are_read() {
        assert_eq!("2000-02-29".parse::<Timestamp>().unwrap().millis(), 951_782_400_000);
        assert_eq!("2000-02-29T00:01Z".parse::<Timestamp>().unwrap().millis(), 951_782_460_000);
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for text in ["2001-02-29", "2000-13-01", "2000-1-1", "1969-12-31", "now", "2000-01-01T25:00Z", ""] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_need_a_number_and_a_unit() {
        assert_eq!(span("2h"), Ok(Duration::from_hours(2)));
        for text in ["", "h", "2", "-2h", "2 h", "99999999999999999999w", "2y"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
