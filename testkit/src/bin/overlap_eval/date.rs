//! When a text was created: RFC 3339, or the form of a well-known issue tracker.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Minutes since 1970 of `2026-02-28T10:00:00-07:00` or `15/Jan/20 14:53`; only the order matters.
pub(crate) fn minutes(text: &str) -> Option<i64> {
    let numbers: Vec<i64> =
        text.split(|sign: char| !sign.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    let month = text.split('/').nth(1).map(str::to_ascii_lowercase);
    if let Some(month) = month.and_then(|name| MONTHS.iter().position(|known| *known == name)) {
        let &[day, year, ref rest @ ..] = numbers.as_slice() else { return None };
        let month = i64::try_from(month).ok()? + 1;
        return Some(days(2000 + year, month, day) * 1440 + clock(rest));
    }
    let &[year, month, day, ref rest @ ..] = numbers.as_slice() else { return None };
    Some(days(year, month, day) * 1440 + clock(rest) - offset(text))
}

fn clock(numbers: &[i64]) -> i64 {
    match numbers {
        [hour, minute, ..] => hour * 60 + minute,
        _ => 0,
    }
}

/// What `+02:00` at the end means, in minutes.
fn offset(text: &str) -> i64 {
    let Some((sign, zone)) = text
        .len()
        .checked_sub(6)
        .and_then(|at| text.split_at_checked(at))
        .map(|(_, zone)| (zone.chars().next(), zone))
    else {
        return 0;
    };
    let parts: Vec<i64> = zone.split(['+', '-', ':']).filter_map(|part| part.parse().ok()).collect();
    match (sign, parts.as_slice()) {
        (Some('+'), [hours, minutes]) => hours * 60 + minutes,
        (Some('-'), [hours, minutes]) => -(hours * 60 + minutes),
        _ => 0,
    }
}

/// Days since 1970 in the calendar we use.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        assert_eq!(minutes("1970-01-02T00:10:00Z"), Some(1450));
        assert_eq!(minutes("1970-01-02T02:10:30.123456+02:00"), Some(1450));
        assert_eq!(minutes("15/Jan/20 14:53"), minutes("2020-01-15T14:53:00Z"));
        assert_eq!(minutes("soon"), None);
    }
}
