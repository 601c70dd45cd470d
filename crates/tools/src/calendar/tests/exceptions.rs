//! Instances of a series that are left out, moved or otherwise other than the rest.

use super::*;

const DAILY: &str = "DTSTART;TZID=Europe/Berlin:20260302T090000 DURATION:PT1H RRULE:FREQ=DAILY;COUNT=5";

/// A series and a change of it, of other title.
fn changed(series: &str, change: &str) -> String {
    format!("{}{}", event(series), event(change).replace("SUMMARY:e", "SUMMARY:changed"))
}

/// The days of March on which something is, and the hours.
#[track_caller]
fn days(lines: &str) -> String {
    let all = berlin(lines, "2026-03-01", 31);
    let short = |line: &String| {
        let title = if line.ends_with("changed") { "*" } else { "" };
        let (day, rest) = line.strip_prefix("2026-03-").unwrap_or(line).split_at(2);
        format!(
            "{}{title}",
            if rest.starts_with("T09") { day.to_owned() } else { format!("{day}{}", &rest[..3]) }
        )
    };
    all.iter().map(short).collect::<Vec<_>>().join(" ")
}

#[test]
fn dates_are_left_out_however_they_are_written() {
    for (lines, expected) in [
        ("EXDATE;TZID=Europe/Berlin:20260303T090000", "02 04 05 06"),
        ("EXDATE:20260303T080000Z", "02 04 05 06"),
        ("EXDATE:20260303T090000", "02 04 05 06"),
        ("EXDATE;VALUE=DATE:20260303", "02 04 05 06"),
        ("EXDATE;TZID=Europe/Berlin:20260303T090000,20260305T090000", "02 04 06"),
        ("EXDATE:20260303T080000Z EXDATE:20260302T080000Z", "04 05 06"),
        // Not a time of the series.
        ("EXDATE:20260303T090000Z", "02 03 04 05 06"),
    ] {
        assert_eq!(days(&event(&format!("{DAILY} {lines}"))), expected, "{lines}");
    }
    let whole = "DTSTART;VALUE=DATE:20260302 RRULE:FREQ=DAILY;COUNT=3";
    for exdate in ["EXDATE;VALUE=DATE:20260303", "EXDATE:20260303T000000Z", "EXDATE:20260303"] {
        assert_eq!(days(&event(&format!("{whole} {exdate}"))), "02/20 04/20", "{exdate}");
    }
}

#[test]
fn a_changed_instance_stands_where_it_was_moved_to() {
    for (change, expected) in [
        (
            "RECURRENCE-ID;TZID=Europe/Berlin:20260303T090000 DTSTART;TZID=Europe/Berlin:20260303T150000",
            "02 03T15* 04 05 06",
        ),
        ("RECURRENCE-ID:20260303T080000Z DTSTART:20260310T140000Z", "02 04 05 06 10T15*"),
        ("RECURRENCE-ID:20260303T090000 DTSTART;TZID=Europe/Berlin:20260303T090000", "02 03* 04 05 06"),
        ("RECURRENCE-ID;VALUE=DATE:20260303 DTSTART:20260303T140000Z", "02 03T15* 04 05 06"),
        ("RECURRENCE-ID:20260303T080000Z DTSTART;VALUE=DATE:20260303", "02 03/20* 04 05 06"),
        ("RECURRENCE-ID:20260303T080000Z DTSTART:20260303T080000Z STATUS:CANCELLED", "02 04 05 06"),
        // Out of sight, and of a time that is none of the series.
        ("RECURRENCE-ID:20260303T080000Z DTSTART:20260503T080000Z", "02 04 05 06"),
        ("RECURRENCE-ID:20260320T080000Z DTSTART:20260321T080000Z", "02 03 04 05 06 21*"),
    ] {
        assert_eq!(days(&changed(DAILY, change)), expected, "{change}");
    }
    // From out of sight into it.
    let later = changed(
        &DAILY.replace("20260302", "20260402"),
        "RECURRENCE-ID:20260403T070000Z DTSTART:20260331T070000Z",
    );
    assert_eq!(days(&later), "31*");
    // A change whose series is not in the file is an event.
    assert_eq!(days(&event("RECURRENCE-ID:20260303T080000Z DTSTART:20260304T080000Z")), "04");
    assert_eq!(
        days(&event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260303T080000Z DTSTART:20260304T080000Z")),
        "04"
    );
}

#[test]
fn of_several_versions_the_latest_counts() {
    let change = |sequence: u8, hour: u8| {
        event(&format!("RECURRENCE-ID:20260303T080000Z SEQUENCE:{sequence} DTSTART:20260303T{hour}0000Z"))
    };
    let series = event(DAILY);
    assert_eq!(days(&format!("{series}{}{}", change(2, 14), change(1, 12))), "02 03T15 04 05 06");
    assert_eq!(days(&format!("{series}{}{}", change(1, 12), change(1, 14))), "02 03T15 04 05 06");
    let older = event(&DAILY.replace("COUNT=5", "COUNT=2"));
    let newer = event(&format!("{DAILY} SEQUENCE:3"));
    assert_eq!(days(&format!("{newer}{older}")), "02 03 04 05 06");
    // Some writers give one UID to events that are not one series.
    assert_eq!(
        days(&format!("{}{}", event("DTSTART:20260302T080000Z"), event("DTSTART:20260304T080000Z"))),
        "02 04"
    );
}

#[test]
fn a_change_of_all_later_instances_moves_and_renames_them() {
    let onward = "RECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20260304T090000";
    let at = |start: &str| format!("{onward} DTSTART;TZID=Europe/Berlin:{start} DURATION:PT30M");
    for (change, expected) in [
        (at("20260304T110000"), "02 03 04T11* 05T11* 06T11*"),
        (at("20260305T090000"), "02 03 05* 06* 07*"),
        (at("20260227T090000"), "02 03 01*"),
        (format!("{} STATUS:CANCELLED", at("20260304T090000")), "02 03"),
        (format!("{onward} DTSTART;VALUE=DATE:20260304"), "02 03 04/20* 05/20* 06/20*"),
        // Too far to be meant for the others.
        (at("20240304T110000"), "02 03 05 06"),
    ] {
        let mut expected: Vec<&str> = expected.split(' ').collect();
        expected.sort_unstable();
        assert_eq!(days(&changed(DAILY, &change)), expected.join(" "), "{change}");
    }
    // A single change of a later one wins, and of two for all later ones the later.
    let both = format!(
        "{}{}{}",
        changed(DAILY, &at("20260304T110000")),
        event("RECURRENCE-ID;TZID=Europe/Berlin:20260305T090000 DTSTART;TZID=Europe/Berlin:20260305T200000"),
        event(
            "RECURRENCE-ID;TZID=Europe/Berlin;RANGE=THISANDFUTURE:20260306T090000 DTSTART;TZID=Europe/Berlin:20260306T070000"
        ),
    );
    assert_eq!(days(&both), "02 03 04T11* 05T20 06T07");
    // Far into the window, of a series without end.
    let endless = changed(&DAILY.replace(";COUNT=5", ""), &at("20260304T110000"));
    assert_eq!(berlin(&endless, "2031-07-01", 1), ["2031-07-01T11:00-11:30 changed"]);
}

#[test]
fn a_cancelled_series_is_gone() {
    assert_eq!(days(&event(&format!("{DAILY} STATUS:CANCELLED"))), "");
}
