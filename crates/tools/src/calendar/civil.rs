//! Days and times on the wall as plain numbers. A day is counted from 1970-01-01; a local time is the seconds since that
//! day's midnight on the same wall. Zones come later: repetition is a matter of walls.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

/// The seconds of a day on the wall.
pub(super) const DAY: i64 = 86_400;

const FIRST: Date = Date::constant(1970, 1, 1);

/// Which day a date is.
pub(super) fn day(date: Date) -> i64 {
    date.duration_since(FIRST).as_secs().div_euclid(DAY)
}

/// The date of a day, within the years that there are.
pub(super) fn date(day: i64) -> Option<Date> {
    Some(datetime(day.checked_mul(DAY)?)?.date())
}

/// What the wall shows then, as a number.
pub(super) fn local(datetime: DateTime) -> i64 {
    datetime.duration_since(FIRST.to_datetime(jiff::civil::Time::midnight())).as_secs()
}

/// What the wall shows.
pub(super) fn datetime(local: i64) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(Timestamp::from_second(local).ok()?))
}

/// The day of the week: 0 is Monday.
pub(super) fn weekday(day: i64) -> i64 {
    (day + 3).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for (text, number, weekday_number) in [
            ("1970-01-01", 0, 3),
            ("1969-12-31", -1, 2),
            ("2024-02-29", 19_782, 3),
            ("0001-01-01", -719_162, 0),
            ("9999-12-30", 2_932_895, 3),
        ] {
            let parsed: Date = text.parse().unwrap();
            assert_eq!((day(parsed), weekday(number)), (number, weekday_number), "{text}");
            assert_eq!(date(number), Some(parsed), "{text}");
        }
        assert_eq!(date(i64::MAX), None);
        assert_eq!(datetime(-1).map(local), Some(-1));
    }
}
